//===- CarryAsBits.cpp - Half types as integers ----------------------------===//
//
// Arithmetic on half types is done in f32, and what converts them works on their bits (CpuHooks). What is left only moves them:
// selections, loops' values, vectors' elements. For a type that the machine does not know LLVM makes even of these calls to a
// runtime library that an artifact does not have, so here they become integers of the same size.
//
//===----------------------------------------------------------------------===//

#include "BuildModule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;

static Type asBits(Type type, const cpu::Isa &isa) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isBF16() && !(element.isF16() && !isa.half))
    return type;
  Type i16 = IntegerType::get(type.getContext(), 16);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(i16)) : element == type ? i16 : type;
}

static TypedAttr bitsOf(TypedAttr value, Type type) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return DenseElementsAttr::getFromRawBuffer(cast<ShapedType>(type), dense.getRawData());
  return IntegerAttr::get(type, cast<FloatAttr>(value).getValue().bitcastToAPInt());
}

/// Instructions on half types take them as such.
static bool isOfInstruction(Operation *op) {
  auto isCall = [](Operation *o) { return isa<LLVM::CallIntrinsicOp>(o); };
  return isCall(op) || (!op->use_empty() && llvm::all_of(op->getUsers(), isCall));
}

void cpu::carryAsBits(ModuleOp module, const Isa &isa) {
  module.walk([&](Operation *op) {
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (Type type = constant ? asBits(constant.getType(), isa) : Type(); type && type != constant.getType())
      constant.setValueAttr(bitsOf(constant.getValue(), type));
    if (!isOfInstruction(op))
      for (Value v : op->getResults())
        v.setType(asBits(v.getType(), isa));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument a : block.getArguments())
          a.setType(asBits(a.getType(), isa));
  });
}
