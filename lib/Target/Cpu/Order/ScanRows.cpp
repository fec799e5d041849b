//===- ScanRows.cpp - Scans of short rows, several in a vector --------------===//
//
// A row of a few elements leaves most lanes of a vector idle, and costs a mask. Rows that lie one behind the other are walked as one run: a
// lane is combined with the one `by` lanes before it where both are of one row and one vector (place and lane >= by), and with the last
// result of the vector before where its row has begun there (its place is larger than its lane).
//
//===----------------------------------------------------------------------===//

#include "ScanRows.h"
#include "../Combine.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

bool ScanRows::fits(const BodyInfo &info, kernel::ScanOp op) {
  if (info.axes.size() != 2 || info.axes[1] != op.getAxis())
    return false;
  return llvm::all_of(info.ops, [&](Operation *o) {
    if (isa<kernel::IndexOp, kernel::ReduceOp>(o))
      return false;
    if (!isa<kernel::LoadOp, kernel::StoreOp>(o))
      return true;
    auto load = dyn_cast<kernel::LoadOp>(o);
    const Expr &offset = info.exprOf(o);
    if (load && load.getPredicate())
      return false;
    return offset == Expr::symbol(info.axes[0]) * info.extents[1] + Expr::symbol(info.axes[1]) || (load && !info.axesOf(offset));
  });
}

ScanRows::ScanRows(const BodyInfo &info, kernel::ScanOp op, VectorBuilder &v, const BodyEmitter &outer, unsigned width, bool masked)
    : info(info), op(op), v(v), outer(outer), width(width), masked(masked), back(op.getReverse()) {}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value ScanRows::places(llvm::function_ref<int64_t(unsigned)> of) {
  SmallVector<int32_t> all;
  for (unsigned i = 0; i < width; ++i)
    all.push_back(int32_t(of(i)));
  return v.b.create<arith::ConstantOp>(v.loc, DenseIntElementsAttr::get(VectorType::get({width}, v.b.getI32Type()), all));
}

Value ScanRows::splat(Value x) { return v.b.create<vector::SplatOp>(v.loc, VectorType::get({width}, x.getType()), x); }

Value ScanRows::compare(arith::CmpIPredicate predicate, Value x, Value y) { return v.b.create<arith::CmpIOp>(v.loc, predicate, x, y); }

Value ScanRows::combined(Value x, Value y) { return combine(v.b, v.loc, op.getKind(), x, y); }

Value ScanRows::narrow(Value n) { return v.b.create<arith::TruncIOp>(v.loc, v.b.getI32Type(), n); }

Value ScanRows::identity(unsigned lanes) {
  Type type = op.getType();
  return identityOf(v.b, v.loc, op.getKind(), lanes > 1 ? Type(VectorType::get({lanes}, type)) : type);
}

/// Lanes moved `by` places in the direction of the scan; the lanes at the other end of `incoming` come in.
Value ScanRows::shifted(Value x, Value incoming, unsigned by) {
  SmallVector<int64_t> lanes;
  for (unsigned i = 0; i < width; ++i)
    lanes.push_back(back ? i + by : i >= by ? i - by : 2 * width + i - by);
  return v.b.create<vector::ShuffleOp>(v.loc, x, incoming, lanes);
}

void ScanRows::finish(BodyEmitter &point, Value result) {
  point.bindValue(op.getResult(), result);
  for (Operation *o : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(o))
      point.emitStore(store);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

ScanRows::Values ScanRows::firstState(Value n) {
  Value lanes = places([&](unsigned i) { return back ? width - 1 - i : i; });
  return {v.b.create<arith::RemUIOp>(v.loc, lanes, splat(narrow(n))), identity(width)};
}

ScanRows::Values ScanRows::vectorStep(Value base, Value mask, Value n, Values state) {
  using Predicate = arith::CmpIPredicate;
  Value place = state[0], carry = state[1];
  BodyEmitter point = outer;
  point.bindAxis(info.axes[0], v.i(0)); // the offsets are those of the first row, walked on beyond its end
  point.bindLane(info.axes[1], base, width, mask);
  Value x = point.emitLanes(op.getValue());
  if (mask)
    x = v.b.create<arith::SelectOp>(v.loc, mask, x, identity(width));
  Value lanes = places([&](unsigned i) { return back ? width - 1 - i : i; }), reach = v.b.create<arith::MinUIOp>(v.loc, place, lanes);
  for (unsigned by = 1; by < width; by *= 2) { // lanes that come in from the other end are not taken
    Value together = compare(Predicate::uge, reach, places([&](unsigned) { return by; }));
    x = v.b.create<arith::SelectOp>(v.loc, together, combined(shifted(x, x, by), x), x);
  }
  Value goesOn = compare(Predicate::ugt, place, lanes);
  x = v.b.create<arith::SelectOp>(v.loc, goesOn, combined(carry, x), x);
  Value next = v.b.create<vector::ShuffleOp>(v.loc, x, x, SmallVector<int64_t>(width, back ? 0 : width - 1)), result = x;
  if (op.getExclusive()) {
    Value isFirst = compare(Predicate::eq, place, places([](unsigned) { return 0; }));
    result = v.b.create<arith::SelectOp>(v.loc, isFirst, identity(width), shifted(x, carry, 1));
  }
  finish(point, result);
  // The places of the next vector: those further by the width, less whole rows.
  Value length = splat(narrow(n)), step = splat(narrow(v.rem(v.i(width), n)));
  Value moved = v.b.create<arith::AddIOp>(v.loc, place, step);
  Value wrapped = v.b.create<arith::SubIOp>(v.loc, moved, length);
  return {v.b.create<arith::MinUIOp>(v.loc, moved, wrapped), next};
}

/// state: the place and the last result as scalars.
ScanRows::Values ScanRows::scalarStep(Value at, Value n, Values state) {
  BodyEmitter point = outer;
  point.bindAxis(info.axes[0], v.i(0));
  point.bindAxis(info.axes[1], at);
  Value carry = v.select(v.equal(state[0], v.i(0)), identity(1), state[1]);
  Value x = combined(carry, point.emit(op.getValue())), next = v.add(state[0], 1);
  finish(point, op.getExclusive() ? carry : x);
  return {v.select(v.equal(next, n), v.i(0), next), x};
}

/// Fewer than a vector, the last ones in the direction of the scan.
void ScanRows::rest(Value from, Value to, Value n, Values state) {
  if (masked && !back) {
    v.loop(from, to, width, state, [&](Value base, Values s) { return vectorStep(base, v.firstLanes(v.sub(to, base)), n, s); });
    return;
  }
  unsigned first = back ? width - 1 : 0;
  Value place = v.b.create<vector::ExtractOp>(v.loc, state[0], ArrayRef<int64_t>{first});
  Value carry = v.b.create<vector::ExtractOp>(v.loc, state[1], ArrayRef<int64_t>{0});
  v.loop(from, to, 1, {v.b.create<arith::ExtUIOp>(v.loc, v.b.getI64Type(), place), carry}, [&](Value i, Values s) {
    return scalarStep(back ? v.sub(v.sub(v.add(from, to), i), 1) : i, n, s);
  });
}

void ScanRows::run(Value begin, Value end, Value n) {
  Value from = v.mul(begin, n), to = v.mul(end, n), count = v.sub(to, from), whole = v.roundDown(count, width);
  n = v.max(n, v.i(1)); // which divides
  Values state = v.loop(v.i(0), whole, width, firstState(n), [&](Value i, Values s) {
    Value base = back ? v.sub(v.sub(to, i), width) : v.add(from, i);
    return vectorStep(base, {}, n, s);
  });
  back ? rest(from, v.sub(to, whole), n, state) : rest(v.add(from, whole), to, n, state);
}
