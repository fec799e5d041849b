//===- RowRequests.cpp - Lines that are asked for before they are read ------===//
//
// Processors look ahead of what a program reads by themselves, but not everywhere: not of loads under masks, not past the end of a page, not
// far enough in what the third-level cache holds. There the program asks for lines; where it need not, asking costs as much as a load.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "lathe/Artifact/Format.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using shape::Expr;

/// Bytes of a line, and how far ahead within a row. Sums take a line in few cycles (Zen 5: of 1 to 4 million numbers 1024 bytes take up to 1.04 of
/// the time, 2048 up to 1.03).
constexpr unsigned line = 64;
constexpr int64_t bytesAhead = 1024, bytesAheadOfSums = 4096, bytesOfLongTrip = 2048;

bool RowEmitter::isRunAt(Operation *access, const BodyEmitter &point, bool predicated) const {
  auto isPlain = [&](auto a) { return a && a.getIndices().empty() && bool(a.getPredicate()) == predicated; };
  if (!isPlain(dyn_cast<kernel::LoadOp>(access)) && !isPlain(dyn_cast<kernel::StoreOp>(access)))
    return false;
  return schedule::stepAlong(info, access, *schedule.lane) == 1 && llvm::all_of(llvm::seq<unsigned>(0, info.axes.size()), [&](unsigned a) {
    return !has(info.domainOf(access), a) || point.axisValue(info.axes[a]);
  });
}

void RowEmitter::requestBehind(BodyEmitter &point, kernel::LoadOp load, Value bytes) {
  Value place = b.create<LLVM::GEPOp>(loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(), point.addressOf(load), bytes);
  request(place, /*writes=*/false);
}

void RowEmitter::request(Value place, bool writes) { b.create<LLVM::Prefetch>(loc, place, /*rw=*/writes, /*hint=*/3, /*cache=*/1); }

/// Asks for what the point reads along the lane, some rows later. Where a row has fewer bytes than `least` or more than `most`, for what it
/// reads now.
void RowEmitter::requestRow(BodyEmitter &point, int64_t rows, int64_t least, int64_t most) {
  for (Operation *op : info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (!load || !isRunAt(op, point))
      continue;
    std::optional<Expr::Linear> row = info.exprOf(op).linearIn(info.axes[schedule.itemAxes.back()]);
    if (!row || row->coefficient.isZero() || info.axesOf(row->coefficient))
      continue;
    int64_t bytes = std::max(1u, cast<kernel::RefType>(load.getRef().getType()).getElementType().getIntOrFloatBitWidth() / 8);
    std::optional<int64_t> known = row->coefficient.constant();
    if (known && (*known < least / bytes || *known > most / bytes))
      continue;
    Value ahead = b.create<arith::MulIOp>(loc, point.emitExpr(row->coefficient), i64(rows * bytes));
    if (!known && most != INT64_MAX) {
      Value inRange = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, b.create<arith::SubIOp>(loc, ahead, i64(rows * least)),
                                                i64(rows * (most - least)));
      ahead = b.create<arith::SelectOp>(loc, inRange, ahead, i64(0));
    }
    requestBehind(point, load, ahead);
  }
}

/// Processors that look ahead of what a program reads do not of what it reads under masks (Zen 5: rows of 96 columns from memory took seven
/// times as long). So what a vector under a mask reads is asked for some rows before. Where a vector is a line, each of a short row's is: from the
/// third-level cache sums of 64 to 128 columns take 0.8 of the time. From the second one they take up to 1.15, so that what it has room for is
/// not asked for. Nor do processors look ahead of what a row that stays in registers writes, all at once, so that its own lines are asked for while
/// it is computed (Sapphire Rapids: softmax of 256 columns from the third-level cache or from memory takes 0.89 to 0.95 of the time).
void RowEmitter::requestAhead(Points &row) {
  constexpr int64_t rowsAhead = 8;
  auto isAsked = [&](const BodyEmitter &point) { return point.laneMask() || f.isa.vectorBytes >= line; };
  if (schedule.itemAxes.empty() || llvm::none_of(row, isAsked))
    return;
  auto ask = [&] {
    for (BodyEmitter point : row) // a copy: what it finds out here holds here alone
      if (isAsked(point))
        requestRow(point, rowsAhead);
    if (f.isa.vectorBytes >= line)
      requestResultsOf(row);
  };
  if (f.run.empty())
    return ask();
  either(isMore(row.front().emitExpr(bytesRead()), f.run[LATHE_FACT_CACHE]), ask);
}

/// Places are told from the row's first: those of the vectors themselves would be kept for the stores behind the branch, in registers that are not there.
void RowEmitter::requestResultsOf(Points &row) {
  BodyEmitter first = row.front();
  for (Operation *op : info.ops) {
    auto store = dyn_cast<kernel::StoreOp>(op);
    if (!store || !isRunAt(op, first))
      continue;
    Value place = first.addressOf(store);
    int64_t bytes = std::max(1u, store.getValue().getType().getIntOrFloatBitWidth() / 8), length = int64_t(row.size()) * schedule.width * bytes;
    for (int64_t at = 0; at < length; at += line)
      request(b.create<LLVM::GEPOp>(loc, place.getType(), b.getI8Type(), place, i64(at)), /*writes=*/true);
  }
}

/// What a program only reads, and once, comes faster from the third-level cache where it is asked for (Zen 5: sums of 256 to 32,768 columns take 0.82
/// to 0.96 of the time). From memory processors ask for it better themselves (1.05 to 1.5), and so they do beside what is written. The trips of
/// [from, to) that ask are those from the place returned on, all or none: a branch in each trip would cost what is gained.
Value RowEmitter::requestedFrom(BodyEmitter &point, Value from, Value to) {
  if (!asksWhereShared())
    return to;
  Value bytes = point.emitExpr(bytesRead()), twice = b.create<arith::AddIOp>(loc, bytes, bytes);
  Value isFar = isMore(bytes, f.run[LATHE_FACT_CACHE]), isShared = isMore(f.run[LATHE_FACT_SHARED], twice);
  return b.create<arith::SelectOp>(loc, b.create<arith::AndIOp>(loc, isFar, isShared), from, to);
}

void RowEmitter::requestShared(Points &points) {
  for (BodyEmitter &point : points)
    for (Operation *op : info.ops)
      if (auto load = dyn_cast<kernel::LoadOp>(op); load && isRunAt(op, point))
        requestBehind(point, load, i64(bytesAheadOfSums));
}

/// The trips of [from, to), as far as they do not ask. What no cache of this core holds is read half a page a trip, as long as there is one: so
/// processors follow better, in less code than a row that is written out (Zen 5: 4 million numbers take 0.93 to 0.97 of the time of trips of four
/// vectors, but up to 1.06 where the second-level cache has them).
void RowEmitter::longTrips(Points &outer, AxisSet bound, const Group &group, Value from, Value to, unsigned vectors) {
  int64_t width = schedule.width, most = bytesOfLongTrip / line;
  constexpr unsigned heaviest = 4;
  unsigned weight = 0;
  for (Operation *op : info.ops)
    weight += has(info.domainOf(op), *schedule.lane) || isa<kernel::ReduceOp>(op) ? weightOf(op) : 0;
  bool isLong = info.extents[*schedule.lane].constant().value_or(INT64_MAX) >= most * width;
  if (isLong && weight <= heaviest && asksWhereShared()) {
    Value isFar = isMore(outer[0].emitExpr(bytesRead()), f.run[LATHE_FACT_CACHE]);
    Value end = b.create<arith::SelectOp>(loc, isFar, roundedEnd(from, to, most * width), from);
    laneTrips(outer, bound, group, from, end, most, width, {});
    from = end;
  }
  laneTrips(outer, bound, group, from, to, vectors, width, {});
}

bool RowEmitter::asksWhereShared() const { return f.isa.vectorBytes >= line && !f.run.empty() && readsOnce(); }

/// Whether rows are summed up in one pass, and nothing is written along them.
bool RowEmitter::readsOnce() const {
  return f.kernel.getKernelClass() == kernel::KernelClass::Reduction && llvm::all_of(info.ops, [&](Operation *op) {
    bool second = isa<kernel::ReduceOp>(op) && llvm::any_of(lower::opsBelow(cast<kernel::ReduceOp>(op).getValue()), [](Operation *o) { return isa<kernel::ReduceOp>(o); });
    return !second && !(isa<kernel::StoreOp>(op) && has(info.domainOf(op), *schedule.lane));
  });
}

/// About what the kernel reads, an element at each point.
Expr RowEmitter::bytesRead() const {
  unsigned bits = 8;
  for (Operation *op : info.ops)
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      bits = std::max(bits, cast<kernel::RefType>(load.getRef().getType()).getElementType().getIntOrFloatBitWidth());
  Expr bytes(int64_t(bits / 8));
  for (const Expr &extent : info.extents)
    bytes = bytes * extent;
  return bytes;
}

Value RowEmitter::isMore(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, x, y); }

/// Within a row, too, processors do not look ahead of loads under masks: what a vector reads under a predicate is asked for some vectors before. A predicate that
/// is the same for a row is a branch, not a mask, and of many one holds: a concatenation of twelve asked for twelve lines a vector, which took ten times as long as
/// copying.
void RowEmitter::requestPredicated(BodyEmitter &point) {
  if (!f.isa.maskedBytes || point.laneWidth() <= 1 || f.kernel.getKernelClass() != kernel::KernelClass::Loop)
    return;
  SmallVector<kernel::LoadOp> asked;
  for (Operation *op : info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    bool isMasked = load && isRunAt(op, point, /*predicated=*/true) && has(info.axesOf(load.getPredicate()), *schedule.lane);
    if (!isMasked || llvm::any_of(asked, [&](kernel::LoadOp a) { return isBesides(a, load); }))
      continue;
    requestBehind(point, load, i64(bytesAhead));
    asked.push_back(load);
  }
}

/// Whether two loads read one operand within a line of one another, as neighbouring places of a window.
bool RowEmitter::isBesides(kernel::LoadOp a, kernel::LoadOp b) const {
  constexpr int64_t lineBits = line * 8;
  std::optional<int64_t> apart = (info.exprOf(a) - info.exprOf(b)).constant();
  int64_t bits = cast<kernel::RefType>(a.getRef().getType()).getElementType().getIntOrFloatBitWidth();
  return a.getRef() == b.getRef() && apart && std::abs(*apart) < lineBits / bits;
}

/// The last pass over a row that is kept in scratch memory writes faster than memory takes it: lines of results are asked for while the pass that computes
/// what is kept has something else to do. Where a vector is less than a line, which is asked for again then, only for rows that the first
/// cache does not hold: `when`, where a run finds out. A branch would cut each trip in two; a short row asks for a place that is there.
void RowEmitter::requestResults(BodyEmitter &point, Value when) {
  for (Operation *op : info.ops) {
    auto store = dyn_cast<kernel::StoreOp>(op);
    bool holds = llvm::any_of(cached, [&](const Cached &c) { return c.inResult == store && !c.sometimes; });
    if (!store || holds || !isRunAt(op, point))
      continue;
    Value place;
    if (when) {
      Value row = b.create<arith::SelectOp>(loc, when, rowOf(point, store), f.scratch);
      place = b.create<LLVM::GEPOp>(loc, row.getType(), store.getValue().getType(), row, point.axisValue(info.axes[*schedule.lane]));
    } else {
      place = point.addressOf(store);
    }
    request(place, /*writes=*/true);
  }
}
