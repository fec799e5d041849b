//===- RowColumns.cpp - Sums down columns, several rows at a time ------------===//
//
// A stripe of a few vectors of columns, summed up from the first row to the last, stays in registers. Where a row is a page or more, each row
// is another page: processors do not look ahead from one to the next, and their tables hold some thousand pages. So of a matrix that is larger than
// these span, a few rows at a time are read from left to right, as many streams, and the columns' sums wait in scratch memory from one such
// group of rows to the next. They are added up in the same order, so that either way gives the same results.
//
//===----------------------------------------------------------------------===//

#include "../Combine.h"
#include "RowEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using shape::Expr;

static constexpr auto nsw = arith::IntegerOverflowFlags::nsw;

/// What is read is more than a table of pages spans, and this range of items is wide enough that rows are read in runs.
Value RowEmitter::goesByRows(BodyEmitter &outer) {
  std::optional<int64_t> known = bytesRead().constant();
  if (known && *known <= schedule::leastBytesOfRows)
    return {};
  Value isWide = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, b.create<arith::SubIOp>(loc, f.end, f.begin), i64(schedule::fewestBlocksOfRows));
  return known ? isWide : b.create<arith::AndIOp>(loc, isMore(outer.emitExpr(bytesRead()), i64(schedule::leastBytesOfRows)), isWide).getResult();
}

void RowEmitter::itemsOrRows(BodyEmitter &outer, ArrayRef<Goal> stores) {
  std::optional<unsigned> axis = schedule::summedDown(info, schedule);
  Value byRows = axis ? goesByRows(outer) : Value();
  if (!byRows)
    return itemLoop(outer, stores);
  either(
      byRows,
      [&] {
        BodyEmitter inside = outer;
        rowsOfItems(inside, *axis, stores);
      },
      [&] {
        BodyEmitter inside = outer;
        itemLoop(inside, stores);
      });
}

/// Items are blocks of columns: those of the range that lie side by side are one stretch, in parts of as many columns as wait together.
void RowEmitter::rowsOfItems(BodyEmitter &outer, unsigned axis, ArrayRef<Goal> stores) {
  VectorBuilder v(b, loc, f.isa, b.getF32Type());
  Value blocks = v.max(outer.emitExpr(laneBlocks(info, schedule)), v.i(1)), extent = outer.emitExpr(info.extents[*schedule.lane]);
  v.loop(v.div(f.begin, blocks), v.ceilDiv(f.end, blocks), 1, [&](Value row) {
    Points item{outer};
    bindItem(v, item[0], info, schedule.itemAxes, row);
    Value first = v.mul(row, blocks), from = v.mul(v.max(v.sub(f.begin, first), v.i(0)), schedule.laneBlock);
    Value to = v.min(v.mul(v.min(v.sub(f.end, first), blocks), schedule.laneBlock), extent);
    int64_t columns = schedule::columnsTogether(info, schedule);
    v.loop(from, to, columns, [&](Value part) {
      Points inside(item);
      partOfColumns(inside, schedule.itemSet(), axis, stores, part, v.min(v.add(part, columns), to));
    });
  });
}

/// Memory for the sums of a part's columns, and of a vector that reaches past them.
std::vector<RowEmitter::Region> RowEmitter::regionsFor(ArrayRef<Goal> sums, unsigned axis) {
  constexpr int64_t line = 64;
  std::vector<Region> regions;
  auto memory = [&](int64_t bytes) -> Value {
    Value from = BodyEmitter(info, b, loc, f.sizes, f.refs, f.hooks).emitExpr(scratch);
    Value place = b.create<LLVM::GEPOp>(loc, f.scratch.getType(), b.getI8Type(), f.scratch, from);
    scratch = scratch + Expr(bytes);
    return place;
  };
  for (const Goal &g : sums) {
    auto op = cast<kernel::ReduceOp>(g.op);
    int64_t bytes = schedule::columnsTogether(info, schedule) * schedule::bytesOfSum(op) + line;
    Region region{op, memory(bytes), {}};
    if (isLongSum(op, info.extents[axis].constant().value_or(2 * sumBlock)))
      region.block = memory(bytes);
    regions.push_back(region);
  }
  return regions;
}

/// Points of `vectors` vectors, then of one, and of what is left over under a mask or one by one.
void RowEmitter::acrossColumns(Points &item, Value from, Value to, unsigned vectors, Lanes body) {
  auto trips = [&](Value begin, Value end, unsigned count, unsigned width, bool masked) {
    VectorBuilder v(b, loc, f.isa, b.getF32Type());
    v.loop(begin, end, int64_t(count) * width, [&](Value base) {
      Points points;
      for (unsigned i = 0; i < count; ++i) {
        points.push_back(item[0]);
        Value mask = masked ? laneMask(b.create<arith::SubIOp>(loc, to, base)) : Value();
        points.back().bindLane(info.axes[*schedule.lane], i ? b.create<arith::AddIOp>(loc, base, i64(i * width), nsw).getResult() : base, width, mask);
      }
      body(points, b.create<arith::SubIOp>(loc, base, from));
    });
  };
  Value whole = roundedEnd(from, to, int64_t(vectors) * schedule.width), last = roundedEnd(whole, to, schedule.width);
  trips(from, whole, vectors, schedule.width, false);
  if (vectors > 1)
    trips(whole, last, 1, schedule.width, false);
  trips(last, to, 1, schedule.maskedRest ? schedule.width : 1, schedule.maskedRest);
}

/// The columns of scratch memory alone: whole vectors, past the end of what is needed.
void RowEmitter::eachVector(Value from, Value to, llvm::function_ref<void(Value)> body) {
  VectorBuilder(b, loc, f.isa, b.getF32Type()).loop(i64(0), b.create<arith::SubIOp>(loc, to, from), schedule.width, body);
}

/// The running values of the points, as they lie side by side from `column` on.
void RowEmitter::loadSums(Points &points, const Region &region, Value memory, Value column) {
  VectorBuilder v(b, loc, f.isa, b.getF32Type());
  if (!accumulators.count(region.op))
    start(points, region.op);
  for (auto [i, part] : llvm::enumerate(accumulators[region.op].parts)) {
    Value at = v.add(column, int64_t(i * points[0].laneWidth()));
    part = b.create<LLVM::LoadOp>(loc, part.getType(), v.at(memory, at, getElementTypeOrSelf(part.getType())), 4);
  }
}

void RowEmitter::storeSums(const Region &region, Value memory, Value column) {
  VectorBuilder v(b, loc, f.isa, b.getF32Type());
  int64_t passed = 0;
  for (Value part : accumulators[region.op].parts) {
    auto vector = dyn_cast<VectorType>(part.getType());
    b.create<LLVM::StoreOp>(loc, part, v.at(memory, v.add(column, passed), getElementTypeOrSelf(part.getType())), 4);
    passed += vector ? vector.getNumElements() : 1;
  }
}

/// Rows [first, last) of the columns [from, to).
void RowEmitter::someRows(Points &item, AxisSet bound, const Group &rows, ArrayRef<Region> regions, Value from, Value to, Value first, Value last) {
  AxisSet inside = bound | AxisSet(1) << *schedule.lane;
  acrossColumns(item, from, to, schedule.unroll, [&](Points &points, Value column) {
    hoist(points, inside, rows.goals);
    for (const Region &r : regions)
      loadSums(points, r, r.block ? r.block : r.total, column);
    forLoop(first, last, 1, rows.goals, [&](Value row) {
      Points inner(points);
      for (BodyEmitter &point : inner)
        point.bindAxis(info.axes[*rows.axis], row);
      scope(inner, inside | AxisSet(1) << *rows.axis, rows.goals);
    });
    for (const Region &r : regions) {
      storeSums(r, r.block ? r.block : r.total, column);
      accumulators.erase(r.op);
    }
  });
}

void RowEmitter::partOfColumns(Points &item, AxisSet bound, unsigned axis, ArrayRef<Goal> stores, Value from, Value to) {
  VectorBuilder v(b, loc, f.isa, b.getF32Type());
  Group rows{{}, axis};
  for (Operation *op : info.ops)
    if (isa<kernel::ReduceOp>(op))
      rows.goals.push_back({op, 0});
  std::vector<Region> regions = regionsFor(rows.goals, axis);
  auto whole = [&](Region r) { return identityOf(b, loc, r.op.getKind(), vectorOf(schedule.width, accumulatorType(r.op.getType()))); };
  auto store = [&](Value x, Value memory, Value column) { b.create<LLVM::StoreOp>(loc, x, v.at(memory, column, getElementTypeOrSelf(x.getType())), 4); };
  eachVector(from, to, [&](Value column) {
    for (const Region &r : regions) {
      store(whole(r), r.total, column);
      if (r.block)
        store(whole(r), r.block, column);
    }
  });
  Value extent = item[0].emitExpr(info.extents[axis]);
  v.loop(v.i(0), extent, sumBlock, [&](Value begin) {
    Value end = v.min(v.add(begin, sumBlock), extent);
    v.loop(begin, end, schedule::rowsTogether,
           [&](Value first) { someRows(item, bound, rows, regions, from, to, first, v.min(v.add(first, schedule::rowsTogether), end)); });
    eachVector(from, to, [&](Value column) {
      for (const Region &r : regions)
        if (r.block) {
          Value none = whole(r);
          auto load = [&](Value memory) -> Value { return b.create<LLVM::LoadOp>(loc, none.getType(), v.at(memory, column, getElementTypeOrSelf(none.getType())), 4); };
          store(combine(b, loc, r.op, load(r.total), load(r.block)), r.total, column);
          store(none, r.block, column);
        }
    });
  });
  acrossColumns(item, from, to, 1, [&](Points &points, Value column) {
    for (const Region &r : regions) {
      loadSums(points, r, r.total, column);
      finish(points, r.op);
    }
    std::vector<Goal> results(stores);
    for (Goal &g : results)
      g.remaining = 0;
    scope(points, bound | AxisSet(1) << *schedule.lane, results);
    for (const Region &r : regions)
      available.erase(r.op);
  });
}
