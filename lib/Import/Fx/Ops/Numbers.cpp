//===- Numbers.cpp - Python's floating numbers that follow from sizes and data -===//
//
// Each is a tensor of rank 0 here. What only sizes follow from is no operator: the file has those as expressions.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value floating(OpContext &c, const char *name) { return c.g.reshape(c.materialize(c.operand(name), c.g.b.getF64Type()), {}); }

static llvm::Error asFloat(OpContext &c) { return c.give(floating(c, "a")); }

template <typename OpT> static llvm::Error ofOne(OpContext &c) { return c.give(c.g.unary<OpT>(floating(c, c.has("a") ? "a" : "x"))); }
template <typename OpT> static llvm::Error ofTwo(OpContext &c) { return c.give(c.g.binary<OpT>(floating(c, "a"), floating(c, "b"))); }

static llvm::Error quotient(OpContext &c) { return c.give(c.g.unary<FloorOp>(c.g.div(floating(c, "a"), floating(c, "b")))); }

llvm::ArrayRef<OpEntry> fx::numberOps() {
  static const char *const two = "a:TS b:TS";
  static const OpEntry table[] = {
      {"torch.sym_float", "a:TS", asFloat},
      {"_operator.add", two, ofTwo<AddOp>},
      {"_operator.sub", two, ofTwo<SubOp>},
      {"_operator.mul", two, ofTwo<MulOp>},
      {"_operator.truediv", two, ofTwo<DivOp>},
      {"_operator.floordiv", two, quotient},
      {"_operator.pow", two, ofTwo<PowOp>},
      {"_operator.neg", "a:TS", ofOne<NegOp>},
      {"torch.sym_max", two, ofTwo<MaxOp>},
      {"torch.sym_min", two, ofTwo<MinOp>},
      {"torch._sym_sqrt", "a:TS", ofOne<SqrtOp>},
      {"math.sqrt", "x:TS", ofOne<SqrtOp>},
  };
  return table;
}
