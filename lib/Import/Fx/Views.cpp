//===- Views.cpp - Writing through a view -----------------------------------===//

#include "Views.h"
#include "lathe/Dialect/Lathe/Scatter.h"
#include "mlir/IR/IRMapping.h"

using namespace lathe;
using namespace lathe::ir;
using mlir::SmallVector;
using mlir::Value;
using shape::Expr;

static Value undoTranspose(GraphBuilder &g, TransposeOp op, Value written) {
  SmallVector<int64_t> inverse(op.getPerm().size());
  for (auto [i, d] : llvm::enumerate(op.getPerm()))
    inverse[d] = i;
  return g.transpose(written, inverse);
}

Value fx::replacePart(GraphBuilder &g, Value x, int64_t axis, const Expr &start, int64_t step, Value part) {
  Expr size = dimsOf(part)[axis];
  if (step != 1) {
    Dims along(dimsOf(part).size(), Expr(1));
    along[axis] = size;
    Value at = g.binary<MulOp>(g.iota({size}, 0, g.b.getI64Type()), double(step));
    at = g.add(at, g.broadcastTo(g.size(start), {size}));
    return scatterAlong(g, ScatterKind::Set, x, g.broadcastTo(g.reshape(at, along), dimsOf(part)), part, axis);
  }
  Expr n = dimsOf(x)[axis], end = g.facts.simplify(start + size), rest = g.facts.simplify(n - end);
  SmallVector<Value> parts;
  if (!start.isZero())
    parts.push_back(g.slice(x, axis, Expr(0), start));
  if (!size.isZero())
    parts.push_back(part);
  if (!rest.isZero())
    parts.push_back(g.slice(x, axis, end, rest));
  return parts.empty() ? x : parts.size() == 1 ? parts[0] : g.concat(parts, axis);
}

/// A slice of several dimensions is one of the first, then one of the next.
static Value undoSlice(GraphBuilder &g, SliceOp op, Value x, Value written) {
  Dims sizes = dimsOf(op.getResult()), starts = exprsOf(op.getStarts());
  SmallVector<int64_t> axes;
  SmallVector<Value> wholes{x}; // what the i-th axis is sliced of
  for (int64_t d = 0; d < int64_t(sizes.size()); ++d) {
    if (starts[d].isZero() && op.getSteps()[d] == 1 && g.facts.provablyEqual(sizes[d], dimsOf(x)[d]))
      continue;
    axes.push_back(d);
    wholes.push_back(g.slice(wholes.back(), d, starts[d], sizes[d], op.getSteps()[d]));
  }
  for (size_t i = axes.size(); i-- > 0;)
    written = fx::replacePart(g, wholes[i], axes[i], starts[axes[i]], op.getSteps()[axes[i]], written);
  return g.reshape(written, dimsOf(x));
}

/// The ops from `stand` to `view`, each of which has the one before as its first operand.
static SmallVector<mlir::Operation *> chainTo(Value view, Value stand) {
  SmallVector<mlir::Operation *> chain;
  for (; view != stand; view = chain.back()->getOperand(0)) {
    chain.push_back(view.getDefiningOp());
    bool isGather = llvm::isa_and_nonnull<GatherOp>(chain.back());
    if (!llvm::isa_and_nonnull<ReshapeOp, TransposeOp, SliceOp, GatherOp>(chain.back()) ||
        (isGather && llvm::cast<GatherOp>(chain.back()).getAxis() != 0))
      return {};
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

Value fx::writeThrough(GraphBuilder &g, Value view, Value stand, Value of, Value written) {
  if (view == stand)
    return written;
  SmallVector<mlir::Operation *> chain = chainTo(view, stand);
  if (chain.empty())
    return {};
  SmallVector<Value> operands; // of each op, with `of` in place of `stand`
  Value at = of;
  for (mlir::Operation *op : chain) {
    operands.push_back(at);
    mlir::IRMapping with;
    with.map(op->getOperand(0), at);
    at = g.b.clone(*op, with)->getResult(0);
  }
  for (size_t i = chain.size(); i-- > 0;) {
    Value x = operands[i];
    if (auto transpose = llvm::dyn_cast<TransposeOp>(chain[i]))
      written = undoTranspose(g, transpose, written);
    else if (auto slice = llvm::dyn_cast<SliceOp>(chain[i]))
      written = undoSlice(g, slice, x, written);
    else if (auto gather = llvm::dyn_cast<GatherOp>(chain[i]))
      written = scatterSlices(g, ScatterKind::Set, x, {gather.getIndices()}, {0}, written);
    else
      written = g.reshape(written, dimsOf(x));
  }
  return written;
}

std::optional<bool> fx::isContiguous(const TensorMeta &meta, const shape::Facts &facts) {
  if (meta.strides.size() != meta.sizes.size())
    return std::nullopt;
  Expr stride(1);
  bool surely = true;
  for (size_t i = meta.sizes.size(); i-- > 0;) {
    const auto &size = meta.sizes[i].expr, &given = meta.strides[i].expr;
    if (!size || !given || size->isUnknown() || given->isUnknown())
      return std::nullopt;
    if (facts.provablyEqual(*size, Expr(1)))
      continue;
    if (!facts.provablyEqual(*given, stride)) {
      bool differs = facts.provablyLess(*given, stride) || facts.provablyLess(stride, *given);
      if (differs && facts.provablyLess(Expr(1), *size))
        return false;
      surely = false;
    }
    stride = stride * *size;
  }
  return surely ? std::optional<bool>(true) : std::nullopt;
}

/// A copy is contiguous. What is so although it is a view is a view of what is contiguous, too.
fx::Sharing fx::sharingOf(const TensorMeta &operand, const TensorMeta &result, const shape::Facts &facts) {
  std::optional<bool> before = isContiguous(operand, facts), after = isContiguous(result, facts);
  if (before == std::optional<bool>(true) || after == std::optional<bool>(false))
    return Sharing::Yes;
  if (before == std::optional<bool>(false) && after == std::optional<bool>(true))
    return Sharing::No;
  return Sharing::Maybe;
}

fx::Sharing fx::sameStrides(const TensorMeta &operand, const TensorMeta &result, const shape::Facts &facts) {
  if (operand.strides.size() != operand.sizes.size() || result.strides.size() != operand.strides.size())
    return Sharing::Maybe;
  for (auto [a, b, size] : llvm::zip(operand.strides, result.strides, operand.sizes)) {
    if (!a.expr || !b.expr || a.expr->isUnknown() || b.expr->isUnknown())
      return Sharing::Maybe;
    if (facts.provablyEqual(*a.expr, *b.expr))
      continue;
    bool differs = facts.provablyLess(*a.expr, *b.expr) || facts.provablyLess(*b.expr, *a.expr);
    return differs ? Sharing::No : Sharing::Maybe;
  }
  return Sharing::Yes;
}
