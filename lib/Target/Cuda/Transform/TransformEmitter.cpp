//===- TransformEmitter.cpp - A block that transforms rows -----------------===//
//
// Numbers are in registers while a step computes, and in shared memory between two steps (Stockham: what a step makes lies in
// the order in which the next one takes it, and the last one makes the frequencies in theirs). Threads behind the last
// unit do what it does, so that all of them meet at barriers, and store nothing.
//
//===----------------------------------------------------------------------===//

#include "TransformEmitter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

TransformEmitter::TransformEmitter(KernelFrame &frame, const TransformProblem &p)
    : EntryEmitter(frame), p(p), op(p.op), element(op.getType()), c(frame.d, element, op.getInverse()), table(frame, element) {
  for (const TransformStep &step : p.plan.steps) {
    twiddles.emplace_back();
    if (step.kind == StepKind::Butterfly && step.found > 1)
      twiddles.back().emplace(table, c, step.radix, step.found);
  }
  if (p.shape.folds())
    foldRoots.emplace(table, c, p.shape.length, op.getKind() == kernel::TransformKind::R2C ? 0.5 : 1);
  if (op.getTurns())
    turnRoots.emplace(table, c, int64_t(*op.getTurns()));
  table.finish();
}

//===----------------------------------------------------------------------===//
// Units and places
//===----------------------------------------------------------------------===//

Place TransformEmitter::remainder(const Place &x, int64_t by) {
  return {by == 1 ? d.i32(0) : d.rem(x.more % by == 0 ? x.base : narrow(x), by)};
}

Place TransformEmitter::quotient(const Place &x, int64_t by) {
  return x.more % by == 0 ? Place{d.div(x.base, by), x.more / by} : Place{d.div(narrow(x), by)};
}

std::vector<TransformEmitter::Unit> TransformEmitter::unitsOf(size_t step) {
  const TransformStep &s = p.plan.steps[step];
  int64_t count = p.plan.unitsOf(step), inner = s.across ? p.plan.rows : s.units;
  std::vector<Unit> out;
  for (int64_t turn = 0; turn < p.plan.turnsOf(step); ++turn) {
    Unit unit;
    Place at{tid, turn * p.plan.threads};
    if ((turn + 1) * p.plan.threads > count) {
      unit.inside = d.compare(arith::CmpIPredicate::ult, narrow(at), d.i32(count));
      at = {d.minU(narrow(at), d.i32(count - 1))};
    }
    Place outer = inner == count ? Place{d.i32(0)} : quotient(at, inner), rest = inner == count ? at : remainder(at, inner);
    unit.row = s.across ? rest : outer;
    unit.number = s.across ? outer : rest;
    out.push_back(unit);
  }
  return out;
}

TransformEmitter::Places TransformEmitter::taken(const TransformStep &step, const Unit &unit) {
  int64_t n = p.plan.length;
  Place at = unit.number, mirror = mirrored(at);
  Places out;
  if (step.kind == StepKind::Copy)
    return {at};
  if (step.kind == StepKind::Unfold || (step.kind == StepKind::Fold && at.more)) // the first unit of all is none behind a turn
    return {at, mirror};
  if (step.kind == StepKind::Fold)
    return {at, {d.select(d.equal(at.base, 0), at.base, mirror.base)}};
  for (int64_t i = 0; i < step.radix; ++i)
    out.push_back({at.base, at.more + i * (n / step.radix)});
  return out;
}

TransformEmitter::Places TransformEmitter::made(const TransformStep &step, const Unit &unit) {
  const Place &at = unit.number;
  if (step.kind == StepKind::Copy)
    return {at};
  if (step.kind != StepKind::Butterfly)
    return {at, mirrored(at)};
  Place first{d.mul(at.base, step.radix), at.more * step.radix};
  if (step.found == p.plan.length / step.radix) {
    first = at; // the last one: all of them are found
  } else if (step.found > 1) {
    Place start = at.more % step.found == 0 ? at : Place{narrow(at)};
    Value k = d.rem(start.base, step.found);
    first = {d.add(d.mul(d.sub(start.base, k), step.radix), k), start.more * step.radix};
  }
  Places out;
  for (int64_t i = 0; i < step.radix; ++i)
    out.push_back({first.base, first.more + i * step.found});
  return out;
}

Value TransformEmitter::sharedIndex(const Unit &unit, const Place &place) {
  const SharedLayout &l = p.plan.layout;
  Value index = place.base;
  int64_t more = place.more;
  if (l.gapAfter && more % l.gapAfter == 0) { // as many gaps for each base
    index = d.add(index, d.shr(index, llvm::Log2_64(l.gapAfter)));
    more += more / l.gapAfter;
  } else if (l.gapAfter) {
    index = d.add(index, more);
    index = d.add(index, d.shr(index, llvm::Log2_64(l.gapAfter)));
    more = 0;
  }
  if (p.plan.rows == 1)
    return d.add(index, more);
  return d.add(d.add(d.mul(unit.row.base, l.rowStride), index), more + unit.row.more * l.rowStride);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void TransformEmitter::wait(bool inWarp) {
  if (inWarp)
    d.ptx("bar.warp.sync 0xffffffff;");
  else
    d.barrier();
}

void TransformEmitter::readParts(size_t step, bool imaginary, Value array, std::vector<Numbers> &out) {
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  for (auto [turn, unit] : llvm::enumerate(unitsOf(step))) {
    Places places = taken(p.plan.steps[step], unit);
    out[turn].resize(places.size());
    for (auto [number, place] : llvm::zip(out[turn], places)) {
      Value x = d.load(element, d.at(array, sharedIndex(unit, place), element), bytes);
      (imaginary ? number.im : number.re) = x;
    }
  }
}

void TransformEmitter::writeParts(size_t step, bool imaginary, Value array, const std::vector<Numbers> &numbers) {
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  for (auto [turn, unit] : llvm::enumerate(unitsOf(step)))
    for (auto [number, place] : llvm::zip(numbers[turn], made(p.plan.steps[step], unit)))
      d.store(imaginary ? number.im : number.re, d.at(array, sharedIndex(unit, place), element), bytes);
}

/// What a step takes, of what the one before it made.
std::vector<TransformEmitter::Numbers> TransformEmitter::exchange(size_t step, const std::vector<Numbers> &numbers) {
  std::vector<Numbers> out(p.plan.turnsOf(step));
  for (unsigned round = 0; round < 2; round += p.plan.planes) {
    if (round || step > 1) // what was there has been read
      wait(round ? p.plan.staysInWarp(step) : p.plan.overwritesOwn(step - 1));
    for (unsigned plane = round; plane < round + p.plan.planes; ++plane)
      writeParts(step - 1, plane, arrays[plane - round], numbers);
    wait(p.plan.staysInWarp(step));
    for (unsigned plane = round; plane < round + p.plan.planes; ++plane)
      readParts(step, plane, arrays[plane - round], out);
  }
  return out;
}

/// Frequencies k and n - k of real numbers, two by two in numbers whose n frequencies are Z. With E and O the parts of Z that are
/// symmetric and not, (Z(k) +- conj Z(n - k)) / 2, and P = -i w^k O, they are E + P and conj(E - P).
TransformEmitter::Numbers TransformEmitter::fold(const Unit &unit, const Numbers &x) {
  Complex mirror = c.conjugate(x[1]), sum = c.add(x[0], mirror), difference = c.sub(x[0], mirror);
  Complex product = c.mul(difference, foldRoots->at(d, unit.number)); // the table's roots are halves
  product = {product.im, c.negate(product.re)};
  return {c.addScaled(product, sum, 0.5), c.conjugate(c.addScaled({c.negate(product.re), c.negate(product.im)}, sum, 0.5))};
}

/// The other way round: of frequencies X the numbers S + i Q and conj(S - i Q), with S and D the sum and the difference of X(k) and conj X(n - k),
/// and Q = w^k D.
TransformEmitter::Numbers TransformEmitter::unfold(const Unit &unit, const Numbers &x) {
  Complex mirror = c.conjugate(x[1]), sum = c.add(x[0], mirror), difference = c.sub(x[0], mirror);
  Complex product = c.timesI(c.mul(difference, foldRoots->at(d, unit.number)));
  return {c.add(sum, product), c.conjugate(c.sub(sum, product))};
}

TransformEmitter::Numbers TransformEmitter::compute(size_t step, const Unit &unit, Numbers x) {
  const TransformStep &s = p.plan.steps[step];
  if (s.kind == StepKind::Fold)
    return fold(unit, x);
  if (s.kind == StepKind::Copy)
    return x;
  if (s.kind == StepKind::Unfold)
    return unfold(unit, x);
  if (twiddles[step]) {
    bool isLast = s.found == p.plan.length / s.radix;
    for (auto [i, w] : llvm::enumerate(twiddles[step]->at(isLast ? unit.number : remainder(unit.number, s.found))))
      x[i + 1] = c.mul(x[i + 1], w);
  }
  c.transform(x);
  return x;
}

void TransformEmitter::emit() {
  tid = d.threadId();
  rows = frame.size(p.rows);
  firstRow = d.mul(d.wide(d.blockId()), p.plan.rows);
  if (p.plan.rows == 1)
    bindBatch(base, p.rowAxes, firstRow);
  for (unsigned plane = 0; plane < p.plan.planes && p.plan.steps.size() > 1; ++plane)
    arrays[plane] = frame.sharedArray(plane ? "imaginary" : "numbers", element, p.plan.places());
  const std::vector<TransformStep> &steps = p.plan.steps;
  std::vector<Numbers> numbers;
  for (const Unit &unit : unitsOf(0))
    numbers.push_back(loadUnit(steps[0], unit));
  for (size_t step = 0; step < steps.size(); ++step) {
    if (step)
      numbers = exchange(step, numbers);
    for (auto [turn, unit] : llvm::enumerate(unitsOf(step)))
      numbers[turn] = compute(step, unit, numbers[turn]);
  }
  if (turnRoots)
    planTurns();
  for (auto [turn, unit] : llvm::enumerate(unitsOf(steps.size() - 1)))
    storeUnit(steps.back(), unit, numbers[turn]);
}
