//===- NpzFile.cpp - Several arrays in a zip archive -----------------------===//
#include "NpyFile.h"
#include "lathe/Support/Diagnostics.h"
#include <zip.h>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

namespace {
struct CloseArchive {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};
} // namespace

static Expected<std::string> readEntry(zip_t *archive, zip_uint64_t index, StringRef origin) {
  std::unique_ptr<zip_file_t, CloseEntry> file(zip_fopen_index(archive, index, 0));
  if (!file)
    return userError("cannot read '{0}': {1}", origin, zip_strerror(archive));
  std::string bytes;
  // Grows with what is there, not with what the archive's directory promises.
  std::vector<char> piece(1 << 20);
  for (zip_int64_t n; (n = zip_fread(file.get(), piece.data(), piece.size())) != 0;) {
    if (n < 0)
      return userError("cannot read '{0}': {1}", origin, zip_file_strerror(file.get()));
    bytes.append(piece.data(), n);
  }
  return bytes;
}

Expected<std::map<std::string, HostTensor>> lathe::tool::readNpz(StringRef path) {
  int code = 0;
  std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.str().c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string message = zip_error_strerror(&error);
    zip_error_fini(&error);
    return userError("cannot read '{0}' as an .npz archive: {1}", path, message);
  }
  std::map<std::string, HostTensor> arrays;
  for (zip_int64_t i = 0, n = zip_get_num_entries(archive.get(), 0); i < n; ++i) {
    const char *entry = zip_get_name(archive.get(), i, 0);
    StringRef name = entry ? entry : "";
    if (!name.consume_back(".npy"))
      return userError("'{0}' holds '{1}', which is not an .npy file", path, name);
    std::string origin = (path + ":" + name).str();
    Expected<std::string> bytes = readEntry(archive.get(), i, origin);
    if (!bytes)
      return bytes.takeError();
    Expected<HostTensor> tensor = parseNpy(*bytes, origin);
    if (!tensor)
      return tensor.takeError();
    tensor->name = name.str();
    arrays[name.str()] = std::move(*tensor);
  }
  return arrays;
}

Error lathe::tool::writeNpz(StringRef path, const std::map<std::string, DLTensor> &arrays) {
  std::map<std::string, std::string> files; // read when the archive is closed
  std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.str().c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr));
  if (!archive)
    return userError("cannot write '{0}'", path);
  for (const auto &[name, tensor] : arrays) {
    const std::string &bytes = files[name] = npyBytes(tensor);
    zip_source_t *source = zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0);
    zip_int64_t index = source ? zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      zip_source_free(source);
      return userError("cannot write '{0}': {1}", path, zip_strerror(archive.get()));
    }
    zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0);
    zip_file_set_mtime(archive.get(), index, 946684800, 0); // the same bytes each time
  }
  if (zip_close(archive.get()) < 0)
    return userError("cannot write '{0}': {1}", path, zip_strerror(archive.get()));
  archive.release();
  return Error::success();
}
