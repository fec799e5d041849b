//===- Pad.cpp - Padding ----------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// One side of one dimension: the mirror image without the edge itself, or copies of the edge.
static llvm::Expected<Value> border(OpContext &c, Value x, int64_t axis, int64_t amount, bool high, bool mirror) {
  Expr n = dimsOf(x)[axis];
  const shape::Facts &facts = c.g.facts;
  if (!facts.provablyLess(Expr(mirror ? amount : 0), n))
    return c.wrong("dimension {0} of {1} is too small for a border of {2}", axis, x.getType(), amount);
  if (mirror)
    return c.g.slice(x, axis, high ? facts.simplify(n - Expr(2)) : Expr(amount), Expr(amount), -1);
  Dims wide = dimsOf(x);
  wide[axis] = Expr(amount);
  return c.g.broadcastTo(c.g.slice(x, axis, high ? facts.simplify(n - Expr(1)) : Expr(0), Expr(1)), wide);
}

static llvm::Error padWithCopies(OpContext &c, bool mirror) {
  Value x = c.tensor("self");
  SmallVector<int64_t> amounts = c.integers(c.has("padding") ? "padding" : "pad");
  int64_t rank = typeOf(x).getRank();
  if (amounts.size() % 2 || int64_t(amounts.size() / 2) > rank)
    return c.wrong("{0} padding amounts for rank {1}", amounts.size(), rank);
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    int64_t axis = rank - 1 - i;
    SmallVector<Value> parts{x};
    for (bool high : {false, true}) {
      int64_t amount = amounts[2 * i + high];
      if (amount < 0 || amount > INT32_MAX)
        return c.cannot("a border of {0}", amount);
      if (amount == 0)
        continue;
      LATHE_TRY(part, border(c, x, axis, amount, high, mirror));
      parts.insert(high ? parts.end() : parts.begin(), part);
    }
    x = c.g.concat(parts, axis);
  }
  return c.give(x);
}

static llvm::Error reflect(OpContext &c) { return padWithCopies(c, true); }
static llvm::Error replicate(OpContext &c) { return padWithCopies(c, false); }

/// Amounts come as low, high for the last dimension, then for the one before it.
static llvm::Error pad(OpContext &c) {
  std::string mode = c.text("mode");
  if (mode == "reflect" || mode == "replicate")
    return padWithCopies(c, mode == "reflect");
  if (!mode.empty() && mode != "constant")
    return c.cannot("padding mode '{0}'", mode);
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

llvm::ArrayRef<OpEntry> fx::padOps() {
  static const char *const border = "self:T padding:I*";
  static const OpEntry table[] = {
      {"constant_pad_nd.default", "self:T pad:N* value:S=0", pad},
      {"pad.default", "self:T pad:N* mode:X=constant value:S?", pad},
      {"reflection_pad1d.default", border, reflect},
      {"reflection_pad2d.default", border, reflect},
      {"reflection_pad3d.default", border, reflect},
      {"replication_pad1d.default", border, replicate},
      {"replication_pad2d.default", border, replicate},
      {"replication_pad3d.default", border, replicate},
  };
  return table;
}
