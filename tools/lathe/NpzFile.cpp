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
