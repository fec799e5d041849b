//===- Join.cpp - Concatenation and stacking --------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static llvm::Error cat(OpContext &c) {
  SmallVector<Value> parts;
  for (Value v : c.tensors("tensors")) // torch ignores empty tensors of rank 1 here
    if (dimsOf(v).size() != 1 || !dimsOf(v)[0].isZero())
      parts.push_back(c.g.cast(v, c.resultElement()));
  if (parts.empty() && !c.tensors("tensors").empty())
    return c.give(c.g.cast(c.tensors("tensors")[0], c.resultElement()));
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
      if (!c.fits(want[i], dimsOf(v)[i]))
        return c.wrong("{0} and {1} differ outside dimension {2}", parts[0].getType(), v.getType(), axis);
    v = c.g.reshape(v, want);
  }
  return c.give(joinParts(c, parts, axis));
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
      same = c.fits(dims[i], dimsOf(v)[i]);
    if (!same)
      return c.wrong("{0} and {1} differ", parts[0].getType(), v.getType());
    v = c.g.unsqueeze(c.g.reshape(v, dims), {axis});
  }
  return c.give(c.g.concat(parts, axis));
}

/// Sequences of unlike lengths, filled up to the longest and stacked.
static llvm::Error padSequence(OpContext &c) {
  SmallVector<Value> parts = c.tensors("sequences");
  if (parts.empty() || llvm::any_of(parts, [](Value v) { return typeOf(v).getRank() == 0; }))
    return c.wrong("there are no sequences, or one without a length");
  if (c.text("padding_side") != "right")
    return c.cannot("padding on the side '{0}'", c.text("padding_side"));
  Dims dims = dimsOf(parts[0]);
  for (Value v : parts)
    if (Expr length = dimsOf(v)[0]; !c.g.facts.provablyLessEqual(length, dims[0]))
      dims[0] = c.g.facts.provablyLessEqual(dims[0], length) ? length : c.g.facts.simplify(Expr::max(dims[0], length));
  Value fill = c.scalarOf(c.number("padding_value"), c.resultElement());
  for (Value &v : parts) {
    Dims none(dims.size(), Expr(0)), missing = none;
    missing[0] = c.g.facts.simplify(dims[0] - dimsOf(v)[0]);
    bool same = dimsOf(v).size() == dims.size();
    for (size_t i = 1; same && i < dims.size(); ++i)
      same = c.fits(dims[i], dimsOf(v)[i]);
    if (!same)
      return c.wrong("{0} and {1} differ behind the first dimension", parts[0].getType(), v.getType());
    v = c.g.cast(v, c.resultElement());
    v = missing[0].isZero() ? v
                            : c.g.b.createOrFold<PadOp>(c.g.loc, tensorType(dims, c.resultElement()), v, fill, exprArray(c.g.b, none),
                                                        exprArray(c.g.b, missing));
    v = c.g.unsqueeze(c.g.reshape(v, dims), {c.flag("batch_first") ? 0 : 1});
  }
  return c.give(c.g.concat(parts, c.flag("batch_first") ? 0 : 1));
}

llvm::ArrayRef<OpEntry> fx::joinOps() {
  static const OpEntry table[] = {
      {"cat.default", "tensors:T* dim:I=0", cat},
      {"concat.default", "tensors:T* dim:I=0", cat},
      {"stack.default", "tensors:T* dim:I=0", stack},
      {"pad_sequence.default", "sequences:T* batch_first:B=false padding_value:F=0 padding_side:X=right", padSequence},
  };
  return table;
}
