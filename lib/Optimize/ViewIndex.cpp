//===- ViewIndex.cpp - Where an element comes from through views -----------===//

#include "ViewIndex.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using namespace lathe::ir;
using shape::Expr;

std::string Index::str() const {
  std::string s = "[";
  for (unsigned a : axes)
    s += std::to_string(a) + " ";
  return s + "*" + std::to_string(step) + "+" + offset.str() + "]";
}

std::string opt::str(const Indices &indices) {
  std::string s;
  for (const Index &i : indices)
    s += i.str();
  return s;
}

bool opt::isView(Operation *op) { return isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op); }

unsigned AxisSpace::add(const Expr &extent) {
  axes.push_back({extent, std::nullopt});
  return axes.size() - 1;
}

SmallVector<unsigned> AxisSpace::refined(ArrayRef<unsigned> list) const {
  SmallVector<unsigned> out;
  for (unsigned a : list) {
    if (const auto &parts = axes[a].parts) {
      SmallVector<unsigned> inner = refined({parts->first, parts->second});
      out.append(inner.begin(), inner.end());
    } else if (!facts.provablyEqual(axes[a].extent, Expr(1))) {
      out.push_back(a);
    }
  }
  return out;
}

Index AxisSpace::spanning(ArrayRef<unsigned> list) const {
  Index i;
  for (unsigned a : refined(list))
    i.axes.push_back(a);
  return i;
}

Expr AxisSpace::product(ArrayRef<unsigned> list) const {
  Expr p(1);
  for (unsigned a : list)
    p = p * axes[a].extent;
  return p;
}

bool AxisSpace::split(unsigned axis, const Expr &outer) {
  Expr extent = axes[axis].extent, inner = facts.simplify(Expr::floordiv(extent, outer));
  if (!maySplit || inner.hasOpaque() || !facts.provablyEqual(outer * inner, extent))
    return false;
  unsigned first = add(outer), second = add(inner);
  axes[axis].parts = std::make_pair(first, second);
  return true;
}

/// Takes axes from the front of the list until they span the size.
bool AxisSpace::takeRun(SmallVector<unsigned> &list, const Expr &size, Index &out) {
  Expr taken(1);
  while (!facts.provablyEqual(taken, size)) {
    if (list.empty())
      return false;
    Expr next = taken * axes[list.front()].extent;
    Expr rest = facts.simplify(Expr::floordiv(size, taken));
    bool tooMuch = !facts.provablyEqual(next, size) && facts.provablyLess(size, next);
    if (tooMuch || (maySplit && list.size() == 1 && !facts.provablyEqual(next, size))) {
      if (!facts.provablyEqual(rest * taken, size) || !split(list.front(), rest))
        return false;
      list = refined(list);
      continue;
    }
    out.axes.push_back(list.front());
    taken = next;
    list.erase(list.begin());
  }
  return true;
}

std::optional<Indices> AxisSpace::reshape(ArrayRef<Expr> from, ArrayRef<Expr> to, const Indices &at) {
  auto groups = shape::matchReshape(from, to, facts);
  if (!groups)
    return std::nullopt;
  auto isOne = [&](const Expr &e) { return facts.provablyEqual(e, Expr(1)); };
  Indices out(to.size());
  for (const shape::DimGroup &g : *groups) {
    SmallVector<unsigned> list, left, right;
    bool pure = true;
    for (unsigned d : g.left)
      if (!isOne(from[d])) {
        left.push_back(d);
        SmallVector<unsigned> axesHere = refined(at[d].axes);
        pure &= at[d].isPure() && facts.provablyEqual(product(axesHere), from[d]);
        list.append(axesHere.begin(), axesHere.end());
      }
    for (unsigned d : g.right)
      if (!isOne(to[d]))
        right.push_back(d);
    if (left.size() == 1 && right.size() == 1) {
      out[right[0]] = at[left[0]];
      continue;
    }
    if (!pure)
      return std::nullopt;
    for (unsigned d : right)
      if (!takeRun(list, to[d], out[d]))
        return std::nullopt;
    if (!list.empty())
      return std::nullopt;
  }
  return out;
}

std::optional<Indices> AxisSpace::operandOf(Operation *view, const Indices &at) {
  if (auto op = dyn_cast<ReshapeOp>(view))
    return reshape(dimsOf(op.getResult()), dimsOf(op.getX()), at);
  if (auto op = dyn_cast<TransposeOp>(view)) {
    Indices out(at.size());
    for (auto [i, p] : llvm::enumerate(op.getPerm()))
      out[p] = at[i];
    return out;
  }
  if (auto op = dyn_cast<BroadcastOp>(view)) {
    Dims from = dimsOf(op.getX());
    Indices out(from.size());
    for (size_t i = 0; i < from.size(); ++i)
      if (!from[i].isOne())
        out[i] = at[i + at.size() - from.size()];
    return out;
  }
  if (auto op = dyn_cast<SliceOp>(view)) {
    Indices out = at;
    for (auto [i, start] : llvm::enumerate(exprsOf(op.getStarts()))) {
      int64_t step;
      if (llvm::MulOverflow(out[i].step, op.getSteps()[i], step))
        return std::nullopt;
      out[i].offset = out[i].offset * Expr(op.getSteps()[i]) + start;
      out[i].step = out[i].axes.empty() ? 1 : step;
      if (out[i].offset.isUnknown())
        return std::nullopt;
    }
    return out;
  }
  return std::nullopt;
}
