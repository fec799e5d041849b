//===- ModelFile.cpp - A model's bytes -------------------------------------===//

#include "ModelFile.h"
#include "Failure.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

using namespace lathe;
using namespace lathe::onnx;
namespace pbio = google::protobuf::io;
using llvm::StringRef;

/// Deeper messages than this (subgraphs within subgraphs) are refused, so that no recursion over them can exhaust the stack.
static constexpr int kMaxNesting = 100;

namespace {
/// Keeps the first complaint of the text parser, which prints to stderr by default.
class FirstError : public pbio::ErrorCollector {
public:
  void AddError(int line, int column, const std::string &message) override {
    if (text.empty())
      text = llvm::formatv("line {0}, column {1}: {2}", line + 1, column + 1, message).str();
  }
  std::string text;
};
} // namespace

static std::string parseText(StringRef bytes, ModelProto &model) {
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.SetRecursionLimit(kMaxNesting);
  parser.RecordErrorsTo(&errors);
  pbio::ArrayInputStream stream(bytes.data(), int(bytes.size()));
  if (parser.Parse(&stream, &model))
    return "";
  return errors.text.empty() ? "not a model" : errors.text;
}

ModelFile::ModelFile() : parser(kMaxNesting) {}

std::string ModelFile::parseBinary() {
  if (parser.parse(bytes->getBuffer(), *proto))
    return "";
  return llvm::formatv("not an ONNX model (the protobuf message is damaged, cut off, or nested too deeply; "
                       "the file has {0} bytes)",
                       bytes->getBufferSize())
      .str();
}

llvm::Expected<std::shared_ptr<ModelFile>> ModelFile::parse(std::unique_ptr<llvm::MemoryBuffer> bytes, StringRef name, bool isText) {
  if (bytes->getBufferSize() > size_t(INT32_MAX))
    return userError("{0}: {1} bytes; a model message is at most 2 GiB, larger weights belong in external data files", name,
                     bytes->getBufferSize());
  auto file = std::make_shared<ModelFile>();
  file->fileName = name.str();
  file->bytes = std::move(bytes);
  std::string problem = isText ? parseText(file->bytes->getBuffer(), *file->proto) : file->parseBinary();
  if (!problem.empty())
    return userError("{0}: {1}", name, problem);
  if (!file->proto->has_graph())
    return userError("{0}: not an ONNX model: it has no graph", name);
  return file;
}

llvm::Expected<std::shared_ptr<ModelFile>> ModelFile::open(StringRef path) {
  StringRef name = llvm::sys::path::filename(path);
  if (llvm::sys::fs::is_directory(path))
    return userError("{0}: is a folder, expected a model file", path);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return userError("{0}: {1}", path, buffer.getError().message());
  StringRef extension = llvm::sys::path::extension(path);
  auto file = parse(std::move(*buffer), name, extension == ".textproto" || extension == ".pbtxt");
  if (!file)
    return file.takeError();
  llvm::SmallString<256> folder;
  StringRef parent = llvm::sys::path::parent_path(path);
  if (std::error_code e = llvm::sys::fs::real_path(parent.empty() ? "." : parent, folder))
    return userError("{0}: {1}", path, e.message());
  (*file)->folder = std::string(folder);
  return file;
}

Bytes ModelFile::raw(const TensorProto &tensor) const {
  if (const llvm::ArrayRef<char> *place = parser.placeOf(tensor))
    return {*place, bytes};
  return {llvm::ArrayRef<char>(tensor.raw_data().data(), tensor.raw_data().size()), proto};
}

namespace {
struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
} // namespace

static ExternalPlace placeOf(const TensorProto &tensor) {
  ExternalPlace place;
  for (const StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    uint64_t number = 0;
    if ((key == "offset" || key == "length") && value.getAsInteger(10, number))
      failWrong("tensor '{0}': external data: {1} '{2}' is not a number", tensor.name(), key, value);
    if (key == "location")
      place.location = value.str();
    else if (key == "offset")
      place.offset = number;
    else if (key == "length")
      place.length = number;
  }
  return place;
}

Bytes ModelFile::external(const TensorProto &tensor) {
  namespace path = llvm::sys::path;
  namespace fs = llvm::sys::fs;
  ExternalPlace place = placeOf(tensor);
  auto wrong = [&](llvm::Twine what) {
    failWrong("tensor '{0}': external data '{1}': {2}", tensor.name(), place.location, what.str());
  };
  if (folder.empty())
    wrong("only a model file on disk may have external data");
  bool climbs = llvm::any_of(llvm::make_range(path::begin(place.location), path::end(place.location)),
                             [](StringRef part) { return part == ".."; });
  if (place.location.empty() || path::is_absolute(place.location) || climbs ||
      StringRef(place.location).contains('\0'))
    wrong("must be a relative path inside of the model's folder");
  std::shared_ptr<llvm::MemoryBuffer> &file = mapped[place.location];
  if (!file) {
    llvm::SmallString<256> full(folder), real;
    path::append(full, place.location);
    if (std::error_code e = fs::real_path(full, real))
      wrong(e.message());
    StringRef inside = real;
    if (!inside.consume_front(folder) || !(inside.starts_with("/") || StringRef(folder).ends_with("/")))
      wrong("leads out of the model's folder");
    if (!fs::is_regular_file(real))
      wrong("is not a regular file");
    auto buffer = llvm::MemoryBuffer::getFile(real, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      wrong(buffer.getError().message());
    file = std::move(*buffer);
  }
  uint64_t size = file->getBufferSize();
  uint64_t length = place.length.value_or(place.offset <= size ? size - place.offset : 0);
  if (place.offset > size || length > size - place.offset)
    wrong(llvm::formatv("bytes {0} to {0}+{1} are outside of the file, which has {2}", place.offset, length, size).str());
  return {llvm::ArrayRef<char>(file->getBufferStart() + place.offset, length), file};
}

std::vector<std::string> ModelFile::externalLocations() const {
  std::vector<std::string> out;
  for (const auto &[location, file] : mapped)
    if (file)
      out.push_back(location);
  return out;
}
