//===- TransformAccess.cpp - What a transform reads and writes -------------===//
//
// A pair is one access where it lies so: real and imaginary part, lanes of the axis of parts, or two neighbours of a row of an even
// number of real numbers.
//
//===----------------------------------------------------------------------===//

#include "TransformEmitter.h"
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using kernel::TransformKind;
using lower::BodyEmitter;

BodyEmitter TransformEmitter::atRow(const Unit &unit) {
  BodyEmitter row = base;
  if (p.plan.rows > 1)
    bindBatch(row, p.rowAxes, d.minU(d.add(firstRow, wide(unit.row)), d.sub(rows, d.i64(1))));
  return row;
}

/// Whether there is the unit's row (null: there is).
Value TransformEmitter::isRow(const Unit &unit) {
  if (p.plan.rows == 1 || (p.shape.rows && *p.shape.rows % p.plan.rows == 0))
    return unit.inside;
  Value is = d.less(d.add(firstRow, wide(unit.row)), rows);
  return unit.inside ? d.both(unit.inside, is) : is;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Complex TransformEmitter::loadPair(BodyEmitter &point) {
  Value pair = point.emitLanes(op.getValue());
  return {d.extract(pair, 0), d.extract(pair, 1)};
}

/// Of the first half of the frequencies of real numbers, where all of them are taken.
Complex TransformEmitter::loadMirrored(BodyEmitter point, const Place &place) {
  int64_t n = p.shape.length;
  Value at = narrow(place), isMirrored = d.compare(arith::CmpIPredicate::ugt, at, d.i32(n / 2));
  point.bindAxis(op.getAxis(), d.wide(d.select(isMirrored, d.sub(d.i32(n), at), at)));
  point.bindLane(op.getParts(), d.i64(0), 2);
  Complex x = loadPair(point);
  x.im = d.select(isMirrored, c.negate(x.im), x.im);
  return {x.re, d.select(d.equal(at, 0), c.zero(), x.im)};
}

Complex TransformEmitter::load(const BodyEmitter &row, const Place &place) {
  BodyEmitter point = row;
  bool isReal = op.getKind() == TransformKind::R2C;
  if (op.getKind() == TransformKind::C2R && !p.shape.folds())
    return loadMirrored(point, place);
  if (isReal && p.shape.folds()) {
    point.bindLane(op.getAxis(), d.mul(wide(place), 2), 2);
    return loadPair(point);
  }
  point.bindAxis(op.getAxis(), wide(place));
  if (isReal)
    return {point.emit(op.getValue()), c.zero()};
  point.bindLane(op.getParts(), d.i64(0), 2);
  Complex x = loadPair(point);
  if (op.getKind() == TransformKind::C2C)
    return x;
  Value at = narrow(place); // the first, and that of half of the length, are real
  return {x.re, d.select(d.bitOr(d.equal(at, 0), d.equal(at, p.plan.length)), c.zero(), x.im)};
}

TransformEmitter::Numbers TransformEmitter::loadUnit(const TransformStep &step, const Unit &unit) {
  bool isReal = op.getKind() == TransformKind::R2C;
  StringRef lane = isReal ? op.getAxis() : op.getParts();
  hooks.setLane(lane, !isReal || p.shape.folds() ? 2 : 1);
  BodyEmitter row = atRow(unit);
  Numbers out;
  for (const Place &place : taken(step, unit))
    out.push_back(load(row, place));
  return out;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Multiplied with the root that the frequency and the row say. Frequencies of a thread differ by multiples of a number: what the first one says is
/// looked up, and the powers of a root that is the same in all of a row's threads, of which some are products of two. Each of them is
/// written down for each frequency, and computed once.
Complex TransformEmitter::turned(const BodyEmitter &row, const Place &place, const Complex &y) {
  if (!turnRoots)
    return y;
  Value by = d.narrow(row.axisValue(*op.getTurnAxis()));
  Complex w = turnRoots->at(d, {d.mul(place.base, by)});
  int64_t low = place.more % (turnStep * turnPowers);
  for (int64_t more : {low, place.more - low})
    if (more)
      w = c.mul(w, turnRoots->at(d, {d.mul(by, more)}));
  return c.mul(y, w);
}

/// How the frequencies of a thread differ, and how many powers of what that turns are looked up as they are.
void TransformEmitter::planTurns() {
  int64_t most = 0;
  turnStep = 0;
  for (const Unit &unit : unitsOf(p.plan.steps.size() - 1))
    for (const Place &place : made(p.plan.steps.back(), unit)) {
      turnStep = std::gcd(turnStep, place.more);
      most = std::max(most, place.more);
    }
  turnStep = std::max<int64_t>(1, turnStep);
  for (turnPowers = 1; turnPowers * turnPowers <= most / turnStep;)
    ++turnPowers;
}

void TransformEmitter::store(const BodyEmitter &row, const Place &place, Complex y) {
  BodyEmitter point = row;
  bool isReal = op.getKind() == TransformKind::C2R;
  Value value = y.re;
  if (isReal && p.shape.folds()) {
    point.bindLane(op.getFrequencyAxis(), d.mul(wide(place), 2), 2);
  } else {
    point.bindAxis(op.getFrequencyAxis(), wide(place));
    if (!isReal)
      point.bindLane(op.getParts(), d.i64(0), 2);
  }
  if (!isReal || p.shape.folds())
    value = d.insert(d.splat(y.re, 2), y.im, 1);
  point.bindValue(op.getResult(), value);
  for (Operation *o : info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(o))
      point.emitStore(s);
}

/// Where the condition holds (null: always) and the frequency is wanted.
void TransformEmitter::storeWhere(Value ok, const BodyEmitter &row, const Place &place, const Complex &y) {
  bool isReal = op.getKind() == TransformKind::C2R;
  bool isFolded = p.plan.steps.back().kind == StepKind::Fold;
  int64_t most = !isFolded ? p.plan.length : p.shape.wanted > p.plan.length + 1 ? p.shape.length : p.plan.length + 1;
  if (!isReal && p.shape.wanted < most) {
    Value isWanted = d.compare(arith::CmpIPredicate::ult, narrow(place), d.i32(p.shape.wanted));
    ok = ok ? d.both(ok, isWanted) : isWanted;
  }
  auto put = [&] { store(row, place, turned(row, place, y)); };
  if (ok)
    d.when(ok, put);
  else
    put();
}

/// A frequency of real numbers and its mirror image in the half, and those of both in the whole. Half of an even half is its own.
void TransformEmitter::storeFolded(const BodyEmitter &row, const Unit &unit, const Numbers &y) {
  int64_t n = p.plan.length;
  Value inside = isRow(unit), k = narrow(unit.number);
  Place mirror = mirrored(unit.number);
  auto both = [&](Value x, Value is) { return x ? d.both(x, is) : is; };
  bool grows = p.plan.rows == 1 || p.plan.steps.back().across; // from turn to turn, by at most the threads
  bool mayBeOne = n % 2 == 0 && (!grows || unit.inside || unit.number.more + p.plan.threads > n / 2);
  Value isTwo = mayBeOne ? both(inside, d.compare(arith::CmpIPredicate::ne, k, d.i32(n / 2))) : inside;
  storeWhere(inside, row, unit.number, y[0]);
  storeWhere(isTwo, row, mirror, y[1]);
  if (p.shape.wanted <= n + 1)
    return;
  Value isNotFirst = d.compare(arith::CmpIPredicate::ne, k, d.i32(0));
  storeWhere(both(inside, isNotFirst), row, {mirror.base, mirror.more + n}, c.conjugate(y[0]));
  storeWhere(both(isTwo, isNotFirst), row, {unit.number.base, unit.number.more + n}, c.conjugate(y[1]));
}

void TransformEmitter::storeUnit(const TransformStep &step, const Unit &unit, const Numbers &y) {
  bool isReal = op.getKind() == TransformKind::C2R;
  hooks.setLane(isReal ? op.getFrequencyAxis() : op.getParts(), !isReal || p.shape.folds() ? 2 : 1);
  BodyEmitter row = atRow(unit);
  if (step.kind == StepKind::Fold)
    return storeFolded(row, unit, y);
  Value inside = isRow(unit);
  for (auto [place, number] : llvm::zip(made(step, unit), y))
    storeWhere(inside, row, place, number);
}
