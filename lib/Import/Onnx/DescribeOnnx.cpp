//===- DescribeOnnx.cpp - The inputs and outputs that a file declares -------===//

#include "DimNames.h"
#include "Failure.h"
#include "ModelFile.h"
#include "Tensors.h"
#include "lathe/Import/Signature.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace lathe;
using namespace lathe::onnx;

static std::string elementText(int32_t dataType, mlir::MLIRContext &context) {
  std::string text;
  try {
    llvm::raw_string_ostream(text) << elementType(dataType, &context);
  } catch (const Failure &) { // strings, complex numbers
    text = elementTypeName(dataType).lower();
  }
  return text;
}

/// "f32 [batch, 3]". The name of a dimension without one is that of its symbol, for an input, and `?` for an output.
static std::string typeText(const ValueInfoProto &value, bool isInput, mlir::MLIRContext &context,
                            std::vector<std::string> &sizes) {
  const TypeProto &type = value.type();
  if (type.value_case() == TypeProto::VALUE_NOT_SET)
    return "of no type";
  if (type.value_case() != TypeProto::kTensorType)
    return "no tensor";
  std::string text = elementText(type.tensor_type().elem_type(), context);
  if (!type.tensor_type().has_shape())
    return text + " of unknown shape";
  std::vector<std::string> dims;
  for (const auto &[i, dim] : llvm::enumerate(type.tensor_type().shape().dim())) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      dims.push_back(std::to_string(dim.dim_value()));
      continue;
    }
    std::string own = isInput ? nameForDim(value.name(), i) : "?";
    dims.push_back(saysNothing(dim.dim_param()) ? own : dim.dim_param());
    if (isInput && !llvm::is_contained(sizes, dims.back()))
      sizes.push_back(dims.back());
  }
  return text + " [" + llvm::join(dims, ", ") + "]";
}

llvm::Expected<ModelSignature> lathe::describeOnnx(llvm::StringRef path, mlir::MLIRContext &context) {
  auto file = ModelFile::open(path);
  if (!file)
    return file.takeError();
  const GraphProto &graph = (*file)->model().graph();
  std::set<std::string> initializers;
  for (const TensorProto &t : graph.initializer())
    initializers.insert(t.name());
  ModelSignature signature;
  for (const ValueInfoProto &input : graph.input())
    if (!initializers.count(input.name()))
      signature.inputs.push_back({input.name(), typeText(input, true, context, signature.sizes)});
  for (const ValueInfoProto &output : graph.output())
    signature.outputs.push_back({output.name(), typeText(output, false, context, signature.sizes)});
  return signature;
}
