//===- Archive.cpp - The forms in which a program may come ------------------===//

#include "Archive.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>

using namespace lathe;
using namespace lathe::fx;
namespace fs = llvm::sys::fs;

namespace {

llvm::Expected<Member> mapFile(llvm::StringRef path) {
  auto file = fs::openNativeFileForRead(path);
  if (!file)
    return userError("{0}: {1}", path, llvm::toString(file.takeError()));
  fs::file_status status;
  std::error_code ec = fs::status(*file, status);
  if (!ec && status.type() != fs::file_type::regular_file)
    ec = std::make_error_code(std::errc::invalid_argument);
  Member member;
  if (!ec && status.getSize() > 0) {
    auto region = std::make_shared<fs::mapped_file_region>(*file, fs::mapped_file_region::readonly, status.getSize(), 0, ec);
    if (!ec)
      member = {llvm::ArrayRef<char>(region->const_data(), region->size()), region};
  }
  fs::closeFile(*file);
  if (ec)
    return userError("{0}: {1}", path, ec.message());
  return member;
}

/// An unpacked archive, or one given as the JSON of its only program.
class FolderArchive : public Archive {
public:
  explicit FolderArchive(std::string root) : root(std::move(root)) {}
  std::string pathOf(llvm::StringRef name) const {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }
  bool has(llvm::StringRef name) const override { return fs::is_regular_file(pathOf(name)); }
  llvm::Expected<Member> read(llvm::StringRef name) const override { return mapFile(pathOf(name)); }
  std::vector<std::string> names() const override {
    std::vector<std::string> result;
    std::error_code ec;
    for (fs::directory_iterator it(pathOf("models"), ec), end; it != end && !ec; it.increment(ec))
      result.push_back("models/" + llvm::sys::path::filename(it->path()).str());
    std::sort(result.begin(), result.end());
    return result;
  }

private:
  std::string root;
};

class JsonArchive : public Archive {
public:
  explicit JsonArchive(Member json) : json(std::move(json)) {}
  bool has(llvm::StringRef name) const override { return name == "models/model.json"; }
  llvm::Expected<Member> read(llvm::StringRef) const override { return json; }
  std::vector<std::string> names() const override { return {"models/model.json"}; }

private:
  Member json;
};

} // namespace

llvm::Expected<std::unique_ptr<Archive>> Archive::open(llvm::StringRef path) {
  if (fs::is_directory(path))
    return std::unique_ptr<Archive>(new FolderArchive(path.str()));
  auto file = mapFile(path);
  if (!file)
    return file.takeError();
  if (path.ends_with(".json"))
    return std::unique_ptr<Archive>(new JsonArchive(std::move(*file)));
  return openZip(path, std::move(*file));
}
