//===- EmptyWindows.cpp - Results that are sums of nothing ------------------===//

#include "EmptyWindows.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Shape/Facts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cstring>

using namespace mlir;
using namespace lathe;
using lower::BodyInfo;
using lower::SlidingWindow;
using shape::Expr;

/// What is left of a sum where the other axes are at the end that makes it least or most.
static Expr atWorst(const BodyInfo &info, Expr rest, bool least) {
  for (unsigned a = 0; a < info.axes.size(); ++a) {
    std::optional<Expr::Linear> linear = rest.linearIn(info.axes[a]);
    std::optional<int64_t> step = linear ? linear->coefficient.constant() : std::nullopt;
    if (step && *step)
      rest = rest.substitute({{info.axes[a], (*step > 0) == least ? Expr(0) : info.extents[a] - Expr(1)}});
  }
  return rest;
}

/// The image is there where `apart * (place + tap) + rest` compares so; the last tap alone must still be inside at the first place, the first one at
/// the last place.
static bool leavesAlong(const BodyInfo &info, arith::CmpIOp compare, const SlidingWindow::Dim &dim) {
  auto index = compare.getLhs().getDefiningOp<kernel::IndexOp>();
  std::optional<Expr::Linear> linear =
      index && index.getIndices().empty() ? info.exprOf(index).linearIn(info.axes[dim.place]) : std::nullopt;
  std::optional<int64_t> apart = linear ? linear->coefficient.constant() : std::nullopt;
  if (!apart || *apart < 1)
    return false;
  std::optional<Expr::Linear> tap = linear->rest.linearIn(info.axes[*dim.taps]);
  if (!tap || tap->coefficient != linear->coefficient)
    return true; // nobody knows
  Expr reach = info.extents[*dim.taps] - Expr(1), last = info.extents[dim.place] - Expr(1);
  std::optional<Expr> inside;
  if (compare.getPredicate() == arith::CmpIPredicate::sge)
    inside = reach * Expr(*apart) + atWorst(info, tap->rest, true) - lower::indexOf(compare.getRhs()); // at least 0
  else if (compare.getPredicate() == arith::CmpIPredicate::slt)
    inside = lower::indexOf(compare.getRhs()) - Expr(1) - last * Expr(*apart) - atWorst(info, tap->rest, false);
  return !inside || !shape::Facts().provablyLessEqual(Expr(0), *inside);
}

bool target::leavesImage(const BodyInfo &info, const Filter &f, const SlidingWindow &window) {
  llvm::DenseSet<Operation *> ops = lower::opsBelow(f.image);
  return llvm::any_of(info.ops, [&](Operation *op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    return compare && ops.contains(op) && llvm::any_of(window.dims, [&](const SlidingWindow::Dim &dim) {
             return dim.taps && leavesAlong(info, compare, dim);
           });
  });
}

bool target::hasEmptyTap(const BodyInfo &info, const Filter &f, const SlidingWindow &window, Value source, int64_t columns, int64_t step) {
  auto constant = source.getDefiningOp<ir::ConstantOp>();
  std::optional<ArrayRef<char>> bytes = constant ? ir::rawBytes(constant.getValue()) : std::nullopt;
  if (!bytes) // one number for all, or computed when the model is compiled
    return !constant;
  std::vector<int64_t> taps{0}, depth{0}; // offsets
  kernel::LoadOp load = f.load;
  for (unsigned a = 0; a < info.axes.size(); ++a) {
    if (!(f.reduced >> a & 1))
      continue;
    bool slides = llvm::any_of(window.dims, [&](const SlidingWindow::Dim &dim) { return dim.taps == a; });
    std::vector<int64_t> &offsets = slides ? taps : depth, grown;
    int64_t stride = *info.exprOf(load).linearIn(info.axes[a])->coefficient.constant();
    for (int64_t at : offsets)
      for (int64_t i = 0; i < *info.extents[a].constant(); ++i)
        grown.push_back(at + i * stride);
    offsets = std::move(grown);
  }
  auto isZero = [&](int64_t at) {
    float element;
    std::memcpy(&element, bytes->data() + at * sizeof element, sizeof element);
    return element == 0;
  };
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t tap : taps)
      if (llvm::all_of(depth, [&](int64_t d) { return isZero(c * step + tap + d); }))
        return true;
  return false;
}
