//===- WindowEdges.cpp - Where lines of a window leave the image -----------===//

#include "lathe/Lower/WindowEdges.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

/// Comparisons of which each must hold.
static void findTerms(Value predicate, SmallVectorImpl<arith::CmpIOp> &terms) {
  if (auto both = predicate.getDefiningOp<arith::AndIOp>()) {
    findTerms(both.getLhs(), terms);
    findTerms(both.getRhs(), terms);
  } else if (auto compare = predicate.getDefiningOp<arith::CmpIOp>())
    terms.push_back(compare);
}

/// A comparison as an edge along the tap and one axis of the rows, which it is the first to name or has in common with those before.
static std::optional<WindowEdges::Edge> edgeOf(const BodyInfo &info, arith::CmpIOp compare, AxisSet rows, unsigned tap, std::optional<unsigned> &place) {
  bool low = compare.getPredicate() == arith::CmpIPredicate::sge, high = compare.getPredicate() == arith::CmpIPredicate::slt;
  auto index = compare.getLhs().getDefiningOp<kernel::IndexOp>();
  AxisSet axes = info.axesOf(compare.getLhs()) & ~(AxisSet(1) << tap);
  Expr limit = indexOf(compare.getRhs());
  if (!index || !index.getIndices().empty() || !(low || high) || llvm::popcount(axes) != 1 || (axes & ~rows) || limit.isUnknown() ||
      info.axesOf(compare.getRhs()))
    return std::nullopt;
  unsigned axis = llvm::countr_zero(axes);
  std::optional<Expr::Linear> byPlace = info.exprOf(index).linearIn(info.axes[axis]);
  std::optional<Expr::Linear> byTap = byPlace ? byPlace->rest.linearIn(info.axes[tap]) : std::nullopt;
  int64_t apart = byPlace ? byPlace->coefficient.constant().value_or(0) : 0, step = byTap ? byTap->coefficient.constant().value_or(0) : 0;
  if (apart < 1 || step < 1 || (place && *place != axis))
    return std::nullopt;
  place = axis;
  return WindowEdges::Edge{low, apart, step, byTap->rest, limit};
}

std::optional<WindowEdges> WindowEdges::of(const BodyInfo &info, Value image, AxisSet rows, ArrayRef<unsigned> taps) {
  auto load = image.getDefiningOp<kernel::LoadOp>();
  if (!load || !load.getPredicate() || !load.getFill() || !matchPattern(load.getFill(), m_AnyZeroFloat()))
    return std::nullopt;
  for (unsigned a = info.axes.size(); a-- > 0;)
    if ((rows >> a & 1) && !info.extents[a].isOne()) {
      rows &= ~(AxisSet(1) << a);
      break;
    }
  SmallVector<arith::CmpIOp> terms;
  findTerms(load.getPredicate(), terms);
  for (unsigned tap : taps) {
    WindowEdges found;
    std::optional<unsigned> place;
    for (arith::CmpIOp term : terms)
      if (info.axesOf(term.getLhs()) >> tap & 1)
        if (std::optional<Edge> edge = edgeOf(info, term, rows, tap, place))
          found.edges.push_back(*edge);
    if (!place)
      continue;
    found.place = *place;
    found.tap = tap;
    return found;
  }
  return std::nullopt;
}

std::optional<double> WindowEdges::outside(const BodyInfo &info) const {
  std::optional<int64_t> places = info.extents[place].constant(), taps = info.extents[tap].constant();
  if (!places || !taps || *places * *taps < 1)
    return std::nullopt;
  int64_t count = 0;
  for (int64_t p = 0; p < *places; ++p)
    for (int64_t t = 0; t < *taps; ++t) {
      bool inside = true;
      for (const Edge &e : edges) {
        std::optional<int64_t> beyond = (Expr(p * e.apart + t * e.step) + e.rest - e.limit).constant();
        if (!beyond)
          return std::nullopt;
        inside &= (*beyond >= 0) == e.low;
      }
      count += !inside;
    }
  return double(count) / double(*places * *taps);
}
