//===- ImageLines.cpp - Lines of an image that windows slide over ----------===//

#include "ImageLines.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

Expr cpu::spanOf(const BodyInfo &info, const Slide &s, const Expr &places) {
  Expr taps = s.tap ? info.extents[*s.tap] : Expr(1);
  return Expr::max((places - Expr(1)) * Expr(s.stride) + (taps - Expr(1)) * Expr(s.dilation) + Expr(1), Expr(0));
}

/// The axis that steps by one element: a tap's, or else a row's.
static bool goesByTap(const Slide &s) { return s.tap && s.dilation == 1; }

void cpu::bindPlace(VectorBuilder &v, const BodyInfo &info, BodyEmitter &at, const Slide &s, Value place) {
  at.bindAxis(info.axes[*s.row], goesByTap(s) ? v.i(0) : place);
  if (s.tap)
    at.bindAxis(info.axes[*s.tap], goesByTap(s) ? place : v.i(0));
}

const std::string &cpu::laneOf(const BodyInfo &info, const Slide &x) { return info.axes[goesByTap(x) ? *x.tap : *x.row]; }

/// True for comparisons of indices and what holds where all of some do: on a line they hold along an interval.
static bool holdsAlongInterval(Value v, unsigned depth = 0) {
  if (auto both = v.getDefiningOp<arith::AndIOp>())
    return depth < 16 && holdsAlongInterval(both.getLhs(), depth + 1) && holdsAlongInterval(both.getRhs(), depth + 1);
  using P = arith::CmpIPredicate;
  auto compare = v.getDefiningOp<arith::CmpIOp>();
  auto isIndex = [](Value x) {
    auto index = x.getDefiningOp<kernel::IndexOp>();
    return x.getDefiningOp<arith::ConstantOp>() || (index && index.getIndices().empty());
  };
  return compare && llvm::is_contained({P::slt, P::sle, P::sgt, P::sge}, compare.getPredicate()) && isIndex(compare.getLhs()) &&
         isIndex(compare.getRhs());
}

ImageBorders::ImageBorders(VectorBuilder &v, const BodyInfo &info, Value image, lower::AxisSet bound) : v(v) {
  llvm::DenseSet<Operation *> below = lower::opsBelow(image);
  for (Operation *op : info.ops) {
    auto load = below.contains(op) ? dyn_cast<kernel::LoadOp>(op) : kernel::LoadOp();
    Value border = load ? load.getPredicate() : Value();
    if (!border || llvm::is_contained(borders, border))
      continue;
    borders.push_back(border);
    intervals &= holdsAlongInterval(border) && !(info.axesOf(border) & ~bound);
  }
}

Value ImageBorders::isInside(BodyEmitter &point) const {
  Value inside = v.b.create<arith::ConstantOp>(v.loc, v.b.getBoolAttr(true));
  for (Value border : borders)
    inside = v.b.create<arith::AndIOp>(v.loc, inside, point.emit(border));
  return inside;
}

/// Calls put(e) for what must not be negative where a border holds.
static void eachCondition(Value border, function_ref<void(const Expr &)> put) {
  if (auto both = border.getDefiningOp<arith::AndIOp>()) {
    eachCondition(both.getLhs(), put);
    return eachCondition(both.getRhs(), put);
  }
  using P = arith::CmpIPredicate;
  auto compare = border.getDefiningOp<arith::CmpIOp>();
  Expr apart = lower::indexOf(compare.getLhs()) - lower::indexOf(compare.getRhs());
  P predicate = compare.getPredicate();
  bool isLess = predicate == P::slt || predicate == P::sle, isStrict = predicate == P::slt || predicate == P::sgt;
  put((isLess ? Expr(0) - apart : apart) - Expr(isStrict));
}

/// Where every condition is linear along the line, its ends follow from divisions; nothing otherwise.
std::optional<std::pair<Value, Value>> ImageBorders::solve(const BodyEmitter &line, const std::string &lane, Value places) const {
  SmallVector<std::pair<int64_t, Expr>> conditions; // step * place + rest >= 0
  for (Value border : borders)
    eachCondition(border, [&](const Expr &e) {
      std::optional<Expr::Linear> linear = e.linearIn(lane);
      std::optional<int64_t> step = linear ? linear->coefficient.constant() : std::nullopt;
      conditions.push_back({step.value_or(0), step ? linear->rest : Expr::unknown()});
    });
  if (llvm::any_of(conditions, [](auto &c) { return c.second.isUnknown(); }))
    return std::nullopt;
  BodyEmitter at = line;
  Value first = v.i(0), end = places;
  for (auto &[step, rest] : conditions) {
    Value left = at.emitExpr(rest);
    if (step > 0)
      first = v.max(first, v.ceilDiv(v.max(v.sub(v.i(0), left), v.i(0)), step));
    else
      end = v.min(end, v.select(v.less(left, v.i(0)), v.i(0), step ? v.add(v.div(v.max(left, v.i(0)), -step), 1) : places));
  }
  first = v.min(first, places);
  return std::pair(first, v.max(first, end));
}

/// From a place on, step by step, while it lies outside; not past the last one.
Value ImageBorders::walk(const BodyEmitter &line, const std::string &lane, Value from, Value last, int64_t step) const {
  auto more = [&](OpBuilder &, Location, ValueRange place) {
    Value at = place[0], going = v.b.create<arith::CmpIOp>(v.loc, arith::CmpIPredicate::ne, at, last);
    Value looked = v.b.create<arith::SelectOp>(v.loc, going, step > 0 ? at : v.sub(at, 1), v.i(0));
    Value always = v.b.create<arith::ConstantOp>(v.loc, v.b.getBoolAttr(true));
    Value outside = v.b.create<arith::XOrIOp>(v.loc, isInside(line, lane, looked), always);
    v.b.create<scf::ConditionOp>(v.loc, v.b.create<arith::AndIOp>(v.loc, going, outside), place);
  };
  auto next = [&](OpBuilder &, Location, ValueRange place) { v.b.create<scf::YieldOp>(v.loc, v.add(place[0], v.i(step))); };
  return v.b.create<scf::WhileOp>(v.loc, TypeRange{v.b.getI64Type()}, ValueRange{from}, more, next).getResult(0);
}

std::pair<Value, Value> ImageBorders::insideOf(const BodyEmitter &line, const std::string &lane, Value places) const {
  if (borders.empty())
    return {v.i(0), places};
  if (auto solved = solve(line, lane, places))
    return *solved;
  Value first = walk(line, lane, v.i(0), places, 1);
  return {first, walk(line, lane, places, first, -1)};
}

void ImageBorders::hold(BodyEmitter &point, bool inside) const {
  for (Value border : borders)
    point.bindValue(border, v.b.create<arith::ConstantOp>(v.loc, v.b.getBoolAttr(inside)));
}
