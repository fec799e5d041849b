//===- Promote.cpp - The type in which torch computes with mixed operands ---===//
//
// torch ranks operands in three classes: tensors with dimensions, tensors of rank 0, and Python numbers. A lower class
// changes the result's type only when it is of a higher category (boolean < integer < floating).
//
//===----------------------------------------------------------------------===//

#include "OpContext.h"

using namespace lathe;
using namespace lathe::fx;

static int category(Type t) { return llvm::isa<mlir::FloatType>(t) ? 2 : t.isInteger(1) ? 0 : 1; }

static Type promotePair(Type a, Type b) {
  if (!a || !b || a == b)
    return a ? a : b;
  if (category(a) != category(b))
    return category(a) > category(b) ? a : b;
  unsigned wa = a.getIntOrFloatBitWidth(), wb = b.getIntOrFloatBitWidth();
  mlir::MLIRContext *context = a.getContext();
  if (category(a) == 2) // float16 and bfloat16 meet in float32
    return wa == wb ? mlir::Type(mlir::FloatType::getF32(context)) : wa > wb ? a : b;
  if (a.isUnsignedInteger() == b.isUnsignedInteger())
    return wa > wb ? a : b;
  // Signed and unsigned: the signed type that holds both.
  Type isSigned = a.isUnsignedInteger() ? b : a;
  unsigned unsignedWidth = a.isUnsignedInteger() ? wa : wb;
  unsigned width = std::max(isSigned.getIntOrFloatBitWidth(), std::min(64u, 2 * unsignedWidth));
  return mlir::IntegerType::get(context, width);
}

static Type combine(Type higher, Type lower) {
  if (!higher || !lower)
    return higher ? higher : lower;
  return category(lower) > category(higher) ? promotePair(higher, lower) : higher;
}

Type OpContext::promote(llvm::ArrayRef<Operand> operands) const {
  Type dims, zero, number;
  for (const Operand &o : operands) {
    if (o.tensor) {
      Type &into = ir::typeOf(o.tensor).getRank() > 0 ? dims : zero;
      into = promotePair(into, ir::elementOf(o.tensor));
      continue;
    }
    Type t = o.number.kind == Number::Kind::Float ? Type(g.b.getF32Type())
             : o.number.kind == Number::Kind::Int ? Type(g.b.getI64Type())
                                                  : Type(g.b.getI1Type());
    number = promotePair(number, t);
  }
  return combine(combine(dims, zero), number);
}
