//===- LaneLoads.cpp - Vectors whose offsets are no sum of axes ------------===//
//
// What LaneRuns.h tells of an offset says from the vector's first lane, or its first and last, where all its elements are: side by side, one for all,
// each in some lanes in turn, or in turn in several places. Where they turn out to be anywhere else, lanes are gathered. Of places that a list gives for all rows (a
// resized row's) or divisions nothing is told, but most are near to one another: then a few elements side by side are read, and lanes pick theirs.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/BodyEmitter.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Lower/LaneRuns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

Value BodyEmitter::emitLoadAt(kernel::LoadOp op, Type memory, Value fill, Value active) {
  LaneRun run = width > 1 && context->hooks.asksAllLanes() ? laneRun(context->info, op, laneAxis) : LaneRun::None;
  if (run == LaneRun::None)
    return emitGather(op, memory, fill, active);
  if (run == LaneRun::Alternating)
    return emitAlternating(op, memory, fill, active);
  std::optional<int64_t> repeats = repeatsAlong(context->info.exprOf(op), context->info.axes[laneAxis]);
  bool isWhole = repeats && *repeats > 1 && (width % *repeats == 0 || *repeats % width == 0);
  if (isWhole && (!active || (active == mask && *repeats < width)))
    return emitRepeated(op, *repeats, memory, fill ? splat(fill) : fill, active);
  return emitRun(op, run == LaneRun::Rising, memory, fill ? splat(fill) : fill, active ? splat(active) : active);
}

/// Places that follow from the lane axis alone, as those of rows that are resized or taken apart do: the same ones in all rows. What data says of each element may be
/// anywhere, and so may a list of which each place is asked for once. Lanes that a predicate turns off have no places.
bool BodyEmitter::mayLieNear(kernel::LoadOp op) const {
  const BodyInfo &info = context->info;
  const Expr &e = info.exprOf(op);
  AxisSet own = AxisSet(1) << laneAxis;
  if (width == 1 || op.getPredicate())
    return false;
  if (op.getIndices().empty())
    return !e.linearIn(info.axes[laneAxis]);
  return (info.domainOf(op) & ~own) && llvm::all_of(op.getIndices(), [&](Value index) { return !(info.axesOf(index) & ~own) || !variesInLanes(index); });
}

/// The first and the last lane have the least and the greatest place, in this order or the other, unless lanes are somewhere else. Places are words where
/// those number all elements.
Value BodyEmitter::emitNear(const Access &access, Value offsets, Value fill) {
  Context &c = *context;
  auto gathered = [&] { return c.hooks.gather(c.b, c.loc, access, offsets, fill); };
  int64_t reach = c.hooks.nearElements(cast<VectorType>(access.type));
  if (!reach)
    return gathered();
  Type i32 = c.b.getI32Type(), number = hasShortPlaces(cast<kernel::LoadOp>(access.op)) ? i32 : c.b.getI64Type();
  auto narrowed = [&](Value v, Type to) -> Value { return v.getType() == to ? v : c.b.create<arith::TruncIOp>(c.loc, to, v).getResult(); };
  auto compare = [&](arith::CmpIPredicate kind, Value x, Value y) -> Value { return c.b.create<arith::CmpIOp>(c.loc, kind, x, y); };
  Value at = narrowed(offsets, laneType(number)), begin = c.b.create<vector::ExtractOp>(c.loc, at, int64_t(0)), places, span, inside;
  if (access.mask) { // the first lanes, of which there may be none
    Value none = c.b.create<arith::ConstantOp>(c.loc, c.b.getZeroAttr(at.getType()));
    places = c.b.create<arith::SelectOp>(c.loc, access.mask, c.b.create<arith::SubIOp>(c.loc, at, splat(begin)), none);
    span = c.b.create<LLVM::vector_reduce_umax>(c.loc, number, places);
    inside = c.b.create<vector::ExtractOp>(c.loc, access.mask, int64_t(0));
  } else {
    Value first = begin, last = c.b.create<vector::ExtractOp>(c.loc, at, int64_t(width) - 1);
    begin = c.b.create<arith::MinSIOp>(c.loc, first, last);
    span = c.b.create<arith::SubIOp>(c.loc, c.b.create<arith::MaxSIOp>(c.loc, first, last), begin);
    places = c.b.create<arith::SubIOp>(c.loc, at, splat(begin));
    inside = c.b.create<LLVM::vector_reduce_and>(c.loc, c.b.getI1Type(), compare(arith::CmpIPredicate::ule, places, splat(span)));
  }
  Value limit = c.b.create<arith::ConstantOp>(c.loc, c.b.getIntegerAttr(number, reach)), isNear = compare(arith::CmpIPredicate::ult, span, limit);
  isNear = c.b.create<arith::AndIOp>(c.loc, isNear, inside);
  auto picked = [&]() -> Value {
    Type element = getElementTypeOrSelf(access.type);
    Value pointer = c.b.create<LLVM::GEPOp>(c.loc, access.pointer.getType(), element, access.pointer, ValueRange{begin}, /*inbounds=*/true);
    Value v = c.hooks.loadNear(c.b, c.loc, {access.op, pointer, access.type, {}}, narrowed(places, laneType(i32)), narrowed(span, i32));
    return access.mask && fill ? c.b.create<arith::SelectOp>(c.loc, access.mask, v, fill).getResult() : v;
  };
  return emitEither(isNear, access.type, picked, gathered);
}

/// An access's offset where its lane axis has this value, in all lanes.
Value BodyEmitter::offsetAt(Operation *op, ValueRange indices, Value lane) {
  std::swap(axisValues[laneAxis], lane);
  Value offset = exprWith(context->info.exprOf(op), indices);
  std::swap(axisValues[laneAxis], lane);
  return offset;
}

/// The first and the last lane say whether elements lie side by side, or are one.
Value BodyEmitter::emitRun(kernel::LoadOp op, bool rises, Type memory, Value fill, Value active) {
  Context &c = *context;
  SmallVector<Value> indices = valuesOf(op.getIndices());
  Value begin = axisValues[laneAxis], steps = constantI64(c.b, c.loc, width - 1);
  if (mask) // lanes beyond the axis's end do not count
    steps = c.b.create<arith::MinSIOp>(c.loc, steps, c.b.create<arith::SubIOp>(c.loc, exprWith(c.info.extents[laneAxis] - Expr(1), {}), begin));
  Value first = offsetAt(op, indices, begin), last = offsetAt(op, indices, c.b.create<arith::AddIOp>(c.loc, begin, steps));
  Value moved = c.b.create<arith::SubIOp>(c.loc, last, first);
  Value ref = c.refs[cast<BlockArgument>(op.getRef()).getArgNumber()];
  Value pointer = c.b.create<LLVM::GEPOp>(c.loc, ref.getType(), memory, ref, ValueRange{first}, /*inbounds=*/true);
  Type lanes = laneType(memory);
  auto equal = [&](Value x, Value y) -> Value { return c.b.create<arith::CmpIOp>(c.loc, arith::CmpIPredicate::eq, x, y); };
  auto gathered = [&] { return emitGather(op, memory, fill, active); };
  return emitEither(
      equal(moved, steps), lanes, [&] { return c.hooks.load(c.b, c.loc, {op, pointer, lanes, active}, fill); },
      [&]() -> Value {
        if (!rises || op.getPredicate()) // the first lane may not be one that is read
          return gathered();
        auto one = [&] { return splat(c.hooks.load(c.b, c.loc, {op, pointer, memory, {}}, {})); };
        return emitEither(equal(moved, constantI64(c.b, c.loc, 0)), lanes, one, gathered);
      });
}

/// Where the access's element at a value of the lane axis lies.
Value BodyEmitter::pointerAt(kernel::LoadOp op, Type memory, Value lane) {
  Context &c = *context;
  Value ref = c.refs[cast<BlockArgument>(op.getRef()).getArgNumber()];
  return c.b.create<LLVM::GEPOp>(c.loc, ref.getType(), memory, ref, ValueRange{offsetAt(op, valuesOf(op.getIndices()), lane)}, /*inbounds=*/true);
}

/// What is known of a vector whose first lane is the first of a period, or gathered lanes.
Value BodyEmitter::emitPeriod(int64_t period, Type memory, llvm::function_ref<Value()> known, llvm::function_ref<Value()> gathered) {
  Context &c = *context;
  Value over = c.b.create<arith::RemUIOp>(c.loc, axisValues[laneAxis], constantI64(c.b, c.loc, period));
  Value isFirst = c.b.create<arith::CmpIOp>(c.loc, arith::CmpIPredicate::eq, over, constantI64(c.b, c.loc, 0));
  auto orGathered = [&]() -> Value {
    Value v = known();
    return v ? v : gathered();
  };
  return emitEither(isFirst, laneType(memory), orGathered, gathered);
}

/// Elements that stand in so many places in turn: where the first lane is the first of these, the vector's elements are known.
Value BodyEmitter::emitRepeated(kernel::LoadOp op, int64_t repeats, Type memory, Value fill, Value active) {
  Context &c = *context;
  auto known = [&]() -> Value {
    Value pointer = pointerAt(op, memory, axisValues[laneAxis]);
    if (repeats >= width)
      return splat(c.hooks.load(c.b, c.loc, {op, pointer, memory, {}}, {}));
    return c.hooks.loadRepeated(c.b, c.loc, {op, pointer, laneType(memory), active}, repeats, fill);
  };
  return emitPeriod(std::min<int64_t>(repeats, width), memory, known, [&] { return emitGather(op, memory, fill, active); });
}

/// Lanes that take turns among several places: where the first lane is of the first of them, each place's elements are known.
Value BodyEmitter::emitAlternating(kernel::LoadOp op, Type memory, Value fill, Value active) {
  Context &c = *context;
  Alternation of = *alternatesAlong(c.info.exprOf(op), c.info.axes[laneAxis]);
  auto gathered = [&] { return emitGather(op, memory, fill, active); };
  if (width % of.places || width == of.places || op.getPredicate())
    return gathered();
  auto known = [&]() -> Value {
    Value last = exprWith(c.info.extents[laneAxis] - Expr(1), {});
    SmallVector<Value> pointers;
    for (int64_t place = 0; place < of.places; ++place) {
      Value lane = c.b.create<arith::AddIOp>(c.loc, axisValues[laneAxis], constantI64(c.b, c.loc, place));
      if (mask) // a lane beyond the axis's end does not count
        lane = c.b.create<arith::MinSIOp>(c.loc, lane, last);
      pointers.push_back(pointerAt(op, memory, lane));
    }
    return c.hooks.loadAlternating(c.b, c.loc, {op, pointers[0], laneType(memory), active}, pointers, of.moves, fill ? splat(fill) : fill);
  };
  return emitPeriod(of.places, memory, known, gathered);
}
