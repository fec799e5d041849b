//===- InputValues.cpp - Inputs that --value binds --------------------------===//
//
// The model reads a constant in place of the input, so that branches on it are chosen and sizes that follow from it are known. The
// input stays in the signature, and the entry checks its elements.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::onnx;

void GraphImporter::checkBoundInputs(ArrayRef<const ValueInfoProto *> inputs) const {
  for (const ValueOption &option : state.sizes.importOptions().values) {
    std::vector<std::string> names;
    for (const ValueInfoProto *input : inputs)
      names.push_back(input->name());
    if (!llvm::is_contained(names, option.input))
      failWrong("--value {0}: the model has no such input; its inputs are: {1}", option.input, llvm::join(names, ", "));
  }
}

/// The integer as one of the type; a Failure where the type does not hold it.
static llvm::APInt elementOf(const ValueOption &option, int64_t value, IntegerType type) {
  bool isUnsigned = type.isUnsigned() || type.getWidth() == 1;
  llvm::APInt wide(64, uint64_t(value), true), narrow = wide.sextOrTrunc(type.getWidth());
  if ((isUnsigned && value < 0) || (isUnsigned ? narrow.zextOrTrunc(64) : narrow.sextOrTrunc(64)) != wide)
    failWrong("--value {0}: {1} is no {2}", option.input, value, type.getWidth() == 1 ? "bool" : "value of the input's type");
  return narrow;
}

Value GraphImporter::boundInput(unsigned index, const ValueInfoProto &input, Value argument) {
  const std::vector<ValueOption> &values = state.sizes.importOptions().values;
  auto option = llvm::find_if(values, [&](const ValueOption &o) { return o.input == input.name(); });
  if (option == values.end())
    return Value();
  RankedTensorType type = ir::typeOf(argument);
  auto element = dyn_cast<IntegerType>(type.getElementType());
  if (!element || type.getRank() > 1 || ir::isNarrow(element))
    failWrong("--value {0}: the input is {1}; only integers and booleans of rank 0 or 1 can be bound", input.name(), describe(type));
  if (!type.hasStaticShape() || type.getNumElements() != int64_t(option->elements.size()))
    failWrong("--value {0}: {1} elements are given, the input is {2}{3}", input.name(), option->elements.size(), describe(type),
              type.hasStaticShape() ? "" : "; fix its size with --shape");
  SmallVector<llvm::APInt> elements;
  for (auto [i, value] : llvm::enumerate(option->elements)) {
    elements.push_back(elementOf(*option, value, element));
    Expr read = state.sizes.inputElement(index, input.name(), type.getRank() ? std::optional<int64_t>(i) : std::nullopt);
    if (value >= 0)
      state.sizes.restrict(read, value, value, "");
    else
      state.sizes.require(read, "eq", Expr(value), read.str() + " = " + std::to_string(value));
    state.sizes.use(read);
  }
  return b.create<ir::ConstantOp>(argument.getLoc(), DenseElementsAttr::get(type, elements));
}
