//===- MessageParser.h - Model messages whose weights stay in the file -----===//
#ifndef LATHE_LIB_IMPORT_ONNX_MESSAGEPARSER_H
#define LATHE_LIB_IMPORT_ONNX_MESSAGEPARSER_H

#include "OnnxModel.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

namespace lathe::onnx {

/// Parses a model in the wire format. protobuf would copy each tensor's raw_data into a string of its own, which for a model of some
/// hundred megabytes takes longer than everything else that is read of it; of messages with at least `leastBytes` they stay out, and
/// `placeOf` says where they lie in the parsed bytes. What is accepted is what protobuf accepts.
class MessageParser {
public:
  /// `maxNesting`: of messages within messages.
  explicit MessageParser(int maxNesting, size_t leastBytes = 4096) : maxNesting(maxNesting), leastBytes(leastBytes) {}

  /// False: not a message of this type.
  bool parse(llvm::StringRef bytes, ModelProto &model) { return merge(model, bytes, maxNesting); }
  /// Of the raw_data that the parsed message of a tensor lacks; null when it has what the file has.
  const llvm::ArrayRef<char> *placeOf(const TensorProto &tensor) const {
    auto found = places.find(&tensor);
    return found == places.end() ? nullptr : &found->second;
  }

private:
  bool merge(google::protobuf::Message &message, llvm::StringRef bytes, int nesting);
  bool take(google::protobuf::Message &message, const google::protobuf::FieldDescriptor &field, llvm::StringRef bytes, int nesting);

  int maxNesting;
  size_t leastBytes;
  llvm::DenseMap<const TensorProto *, llvm::ArrayRef<char>> places;
};

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_MESSAGEPARSER_H
