//===- States.cpp - Tensors that live from run to run -----------------------===//

#include "lathe/Dialect/Lathe/States.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace lathe;

StringAttr ir::stateOfArgument(func::FuncOp function, unsigned argument) {
  return function.getArgAttrOfType<StringAttr>(argument, stateAttr);
}

StringAttr ir::stateOfResult(func::FuncOp function, unsigned result) {
  return function.getResultAttrOfType<StringAttr>(result, stateAttr);
}

bool ir::isStateBefore(Value v) {
  auto argument = dyn_cast<BlockArgument>(v);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && argument.getOwner()->isEntryBlock() && stateOfArgument(function, argument.getArgNumber());
}

bool ir::isZeros(ElementsAttr value) {
  auto all = [](ArrayRef<char> bytes) { return llvm::all_of(bytes, [](char c) { return c == 0; }); };
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return all(dense.getRawData());
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob && all(blob->getData());
}
