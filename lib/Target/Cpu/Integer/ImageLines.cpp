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
  Value first = walk(line, lane, v.i(0), places, 1);
  return {first, walk(line, lane, places, first, -1)};
}

void ImageBorders::hold(BodyEmitter &point) const {
  for (Value border : borders)
    point.bindValue(border, v.b.create<arith::ConstantOp>(v.loc, v.b.getBoolAttr(true)));
}
