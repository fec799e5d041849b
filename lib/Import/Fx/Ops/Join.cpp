//===- Join.cpp - Concatenation, stacking, padding --------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static llvm::Error cat(OpContext &c) {
  SmallVector<Value> parts;
  for (Value v : c.tensors("tensors")) // torch ignores empty tensors of rank 1 here
    if (dimsOf(v).size() != 1 || !dimsOf(v)[0].isZero())
      parts.push_back(c.g.cast(v, c.resultElement()));
  if (parts.empty())
    return c.wrong("there is nothing to concatenate");
  LATHE_TRY(axis, c.axis("dim", parts[0]));
  Dims dims = dimsOf(parts[0]);
  if (dims.empty())
    return c.wrong("tensors of rank 0 cannot be concatenated");
  for (Value &v : parts) {
    if (dimsOf(v).size() != dims.size())
      return c.wrong("{0} and {1} differ in rank", parts[0].getType(), v.getType());
    Dims want = dims;
    want[axis] = dimsOf(v)[axis];
    for (size_t i = 0; i < want.size(); ++i)
      if (!c.g.facts.provablyEqual(want[i], dimsOf(v)[i]))
        return c.wrong("{0} and {1} differ outside dimension {2}", parts[0].getType(), v.getType(), axis);
    v = c.g.reshape(v, want);
  }
  return c.give(c.g.concat(parts, axis));
}

static llvm::Error stack(OpContext &c) {
  SmallVector<Value> parts = c.tensors("tensors");
  if (parts.empty())
    return c.wrong("there is nothing to stack");
  Dims dims = dimsOf(parts[0]);
  LATHE_TRY(axis, c.axisOf(c.integer("dim"), dims.size() + 1));
  for (Value &v : parts) {
    v = c.g.cast(v, c.resultElement());
    bool same = dimsOf(v).size() == dims.size();
    for (size_t i = 0; same && i < dims.size(); ++i)
      same = c.g.facts.provablyEqual(dims[i], dimsOf(v)[i]);
    if (!same)
      return c.wrong("{0} and {1} differ", parts[0].getType(), v.getType());
    v = c.g.unsqueeze(c.g.reshape(v, dims), {axis});
  }
  return c.give(c.g.concat(parts, axis));
}

/// Amounts come as low, high for the last dimension, then for the one before it.
static llvm::Error pad(OpContext &c) {
  if (c.has("mode") && c.text("mode") != "constant")
    return c.cannot("padding mode '{0}'; this version pads with a constant only", c.text("mode"));
  Value x = c.tensor("self");
  Dims amounts = c.sizes("pad"), dims = dimsOf(x), low(dims.size(), Expr(0)), high = low;
  if (amounts.size() % 2 || amounts.size() / 2 > dims.size())
    return c.wrong("{0} padding amounts for rank {1}", amounts.size(), dims.size());
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    size_t axis = dims.size() - 1 - i;
    low[axis] = amounts[2 * i];
    high[axis] = amounts[2 * i + 1];
    dims[axis] = c.g.facts.simplify(dims[axis] + low[axis] + high[axis]);
    if (!c.g.facts.provablyLessEqual(Expr(0), dims[axis]))
      return c.wrong("dimension {0} would have the size {1}", axis, dims[axis].str());
  }
  Value value = c.scalarOf(c.optionalNumber("value").value_or(Number()), elementOf(x));
  mlir::OpBuilder &b = c.g.b;
  return c.give(b.create<PadOp>(c.g.loc, tensorType(dims, elementOf(x)), x, value, exprArray(b, low), exprArray(b, high)));
}

llvm::ArrayRef<OpEntry> fx::joinOps() {
  static const OpEntry table[] = {
      {"cat.default", "tensors:T* dim:I=0", cat},
      {"concat.default", "tensors:T* dim:I=0", cat},
      {"stack.default", "tensors:T* dim:I=0", stack},
      {"constant_pad_nd.default", "self:T pad:N* value:S=0", pad},
      {"pad.default", "self:T pad:N* mode:X=constant value:S?", pad},
  };
  return table;
}
