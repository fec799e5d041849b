//===- Pad.cpp - Padding ----------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// One side of one dimension: the mirror image without the edge itself, or copies of the edge.
static llvm::Expected<Value> border(OpContext &c, Value x, int64_t axis, int64_t amount, bool high, bool mirror) {
  Expr n = dimsOf(x)[axis];
  const shape::Facts &facts = c.g.facts;
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::Less, Expr(mirror ? amount : 0), n)))
    return std::move(e);
  if (mirror)
    return c.g.slice(x, axis, high ? facts.simplify(n - Expr(2)) : Expr(amount), Expr(amount), -1);
  Dims wide = dimsOf(x);
  wide[axis] = Expr(amount);
  return c.g.broadcastTo(c.g.slice(x, axis, high ? facts.simplify(n - Expr(1)) : Expr(0), Expr(1)), wide);
}

/// The elements of the other side.
static llvm::Expected<Value> wrapped(OpContext &c, Value x, int64_t axis, int64_t amount, bool high) {
  Expr n = dimsOf(x)[axis];
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(amount), n)))
    return std::move(e);
  return c.g.slice(x, axis, high ? Expr(0) : c.g.facts.simplify(n - Expr(amount)), Expr(amount));
}

/// A side that loses elements.
static llvm::Expected<Value> cropped(OpContext &c, Value x, int64_t axis, int64_t low, int64_t high) {
  Expr begin(std::max<int64_t>(0, -low)), rest = c.g.facts.simplify(dimsOf(x)[axis] - begin - Expr(std::max<int64_t>(0, -high)));
  if (low >= 0 && high >= 0)
    return x;
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), rest)))
    return std::move(e);
  return c.g.slice(x, axis, begin, rest);
}

enum class Border { Mirror, Edge, Around };

static llvm::Error padWithCopies(OpContext &c, Border kind) {
  Value x = c.tensor("self");
  SmallVector<int64_t> amounts = c.integers(c.has("padding") ? "padding" : "pad");
  int64_t rank = typeOf(x).getRank();
  if (amounts.size() % 2 || int64_t(amounts.size() / 2) > rank)
    return c.wrong("{0} padding amounts for rank {1}", amounts.size(), rank);
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    int64_t axis = rank - 1 - i;
    int64_t low = amounts[2 * i], above = amounts[2 * i + 1];
    if (std::max(low, above) > INT32_MAX || std::min(low, above) < -INT32_MAX)
      return c.cannot("borders of {0} and {1}", low, above);
    if (kind == Border::Around) { // of what is left
      LATHE_TRY(left, cropped(c, x, axis, low, above));
      x = left;
      low = std::max<int64_t>(low, 0);
      above = std::max<int64_t>(above, 0);
    }
    SmallVector<Value> parts{x};
    for (bool high : {false, true}) {
      int64_t amount = high ? above : low;
      if (amount <= 0)
        continue;
      LATHE_TRY(part, kind == Border::Around ? wrapped(c, x, axis, amount, high) : border(c, x, axis, amount, high, kind == Border::Mirror));
      parts.insert(high ? parts.end() : parts.begin(), part);
    }
    LATHE_TRY(left, cropped(c, c.g.concat(parts, axis), axis, low, above));
    x = left;
  }
  return c.give(x);
}

static llvm::Error reflect(OpContext &c) { return padWithCopies(c, Border::Mirror); }
static llvm::Error replicate(OpContext &c) { return padWithCopies(c, Border::Edge); }

/// Amounts come as low, high for the last dimension, then for the one before it.
static llvm::Error pad(OpContext &c) {
  std::string mode = c.text("mode");
  if (mode == "reflect" || mode == "replicate" || mode == "circular")
    return padWithCopies(c, mode == "reflect" ? Border::Mirror : mode == "circular" ? Border::Around : Border::Edge);
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
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), dims[axis])))
      return e;
  }
  Value value = c.scalarOf(c.optionalNumber("value").value_or(Number()), elementOf(x));
  mlir::OpBuilder &b = c.g.b;
  return c.give(b.create<PadOp>(c.g.loc, tensorType(dims, elementOf(x)), x, value, exprArray(b, low), exprArray(b, high)));
}

llvm::ArrayRef<OpEntry> fx::padOps() {
  static const char *const border = "self:T padding:I*";
  static const OpEntry table[] = {
      {"constant_pad_nd.default", "self:T pad:N* value:Z=0", pad},
      {"pad.default", "self:T pad:N* mode:X=constant value:Z?", pad},
      {"reflection_pad1d.default", border, reflect},
      {"reflection_pad2d.default", border, reflect},
      {"reflection_pad3d.default", border, reflect},
      {"replication_pad1d.default", border, replicate},
      {"replication_pad2d.default", border, replicate},
      {"replication_pad3d.default", border, replicate},
  };
  return table;
}
