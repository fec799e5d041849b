//===- ModelFile.h - A model's bytes ---------------------------------------===//
//
// The file, mapped, with the message that was parsed from it, and the external data files that its tensors point to, mapped on first use.
// Constants of the imported module refer to these bytes, so everything is shared and lives as long as its last user.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_MODELFILE_H
#define LATHE_LIB_IMPORT_ONNX_MODELFILE_H

#include "MessageParser.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <memory>

namespace lathe::onnx {

/// Bytes with whatever keeps them alive.
struct Bytes {
  llvm::ArrayRef<char> data;
  std::shared_ptr<const void> owner;
};

class ModelFile {
public:
  ModelFile();
  static llvm::Expected<std::shared_ptr<ModelFile>> open(llvm::StringRef path);
  static llvm::Expected<std::shared_ptr<ModelFile>> parse(std::unique_ptr<llvm::MemoryBuffer> bytes, llvm::StringRef name, bool isText);

  const ModelProto &model() const { return *proto; }
  /// The file's name, for messages.
  const std::string &name() const { return fileName; }

  /// Has the tensor raw bytes, and which: they may lie at any address.
  bool hasRaw(const TensorProto &tensor) const { return tensor.has_raw_data() || parser.placeOf(tensor); }
  Bytes raw(const TensorProto &tensor) const;
  /// The bytes that an external tensor names. Throws Failure when they are outside of the model's folder or of the file.
  Bytes external(const TensorProto &tensor);
  /// Where those bytes came from so far, relative to the model's folder, in order.
  std::vector<std::string> externalLocations() const;

private:
  std::string parseBinary();

  std::shared_ptr<const llvm::MemoryBuffer> bytes;
  std::shared_ptr<ModelProto> proto = std::make_shared<ModelProto>();
  MessageParser parser;
  std::string fileName, folder; ///< an empty folder refuses external data
  std::map<std::string, std::shared_ptr<llvm::MemoryBuffer>> mapped;
};

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_MODELFILE_H
