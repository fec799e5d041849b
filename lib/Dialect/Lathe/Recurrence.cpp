//===- Recurrence.cpp - LSTM, GRU and plain recurrent layers ----------------===//

#include "lathe/Dialect/Lathe/Recurrence.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using llvm::SmallVector;
using shape::Expr;

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// `count` blocks of `width` elements, of an axis.
static Value blocks(GraphBuilder &g, Value v, int64_t axis, int64_t first, const Expr &width, int64_t count = 1) {
  return v ? g.slice(v, axis, g.facts.simplify(width * Expr(first)), g.facts.simplify(width * Expr(count))) : v;
}

static Value complement(GraphBuilder &g, Value v) { return g.sub(g.splatLike(1, v), v); }

Value RecurrentCell::times(GraphBuilder &g, Value hidden, Value weights, Value bias) const {
  return product ? product(hidden, weights, bias) : g.linear(hidden, weights, bias);
}

RecurrentState RecurrentCell::gruStep(GraphBuilder &g, Value in, const RecurrentState &before, const RecurrentWeights &weights) const {
  Expr width = dimsOf(before.hidden)[1];
  RecurrentWeights first = weights; // of the gates whose product is of the state as it is
  if (!resetsAfter)
    first = {blocks(g, weights.state, 0, 0, width, 2), blocks(g, weights.bias, 0, 0, width, 2), Value(), Value()};
  Value state = times(g, before.hidden, first.state, first.bias);
  auto gate = [&](int64_t i) { return activate(0, g.add(blocks(g, in, 1, i, width), blocks(g, state, 1, i, width))); };
  Value reset = gate(gru.reset), update = gate(gru.update);
  Value own = blocks(g, in, 1, 2, width);
  Value inner = resetsAfter ? g.mul(reset, blocks(g, state, 1, 2, width))
                            : times(g, g.mul(reset, before.hidden), blocks(g, weights.state, 0, 2, width), blocks(g, weights.bias, 0, 2, width));
  Value candidate = activate(1, g.add(own, inner));
  return {g.add(candidate, g.mul(update, g.sub(before.hidden, candidate))), Value()};
}

RecurrentState RecurrentCell::lstmStep(GraphBuilder &g, Value in, const RecurrentState &before, const RecurrentWeights &weights) const {
  Expr width = dimsOf(before.memory)[1];
  Value all = g.add(in, times(g, before.hidden, weights.state, weights.bias));
  auto gate = [&](int64_t place, int64_t peephole, Value memory) {
    Value v = blocks(g, all, 1, place, width);
    if (weights.peepholes)
      v = g.add(v, g.mul(g.broadcastTo(blocks(g, weights.peepholes, 0, peephole, width), dimsOf(memory)), memory));
    return activate(0, v);
  };
  Value input = gate(lstm.input, 0, before.memory), candidate = activate(1, blocks(g, all, 1, lstm.candidate, width));
  Value forget = couplesForget ? complement(g, input) : gate(lstm.forget, 2, before.memory);
  Value memory = g.add(g.mul(forget, before.memory), g.mul(input, candidate));
  Value hidden = g.mul(gate(lstm.output, 1, memory), activate(2, memory));
  return {weights.projection ? g.linear(hidden, weights.projection, Value()) : hidden, memory};
}

RecurrentState RecurrentCell::step(GraphBuilder &g, Value in, const RecurrentState &before, const RecurrentWeights &weights) const {
  switch (kind) {
  case Kind::Plain:
    return {activate(0, g.add(in, times(g, before.hidden, weights.state, weights.bias))), Value()};
  case Kind::Gru:
    return gruStep(g, in, before, weights);
  case Kind::Lstm:
    return lstmStep(g, in, before, weights);
  }
  llvm_unreachable("every kind is above");
}

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

namespace {
/// What steps read, in the function that is being built.
struct Inside {
  Value in, lengths;
  RecurrentWeights weights;
};
} // namespace

/// The state behind step t, and what the step gives.
static std::pair<RecurrentState, Value> stepAt(GraphBuilder &g, const Recurrence &r, const Inside &inside, const RecurrentState &before,
                                               const Expr &t) {
  Value now = g.squeeze(g.slice(inside.in, 0, t, Expr(1)), {0});
  RecurrentState next = r.cell.step(g, now, before, inside.weights);
  if (!inside.lengths)
    return {next, next.hidden};
  Value limit = g.broadcastTo(g.cast(g.size(t), elementOf(inside.lengths)), dimsOf(inside.lengths));
  Value isWithin = g.unsqueeze(g.compare(CompareKind::LT, limit, inside.lengths), {1});
  auto choose = [&](Value v, Value beyond) { return g.select(g.broadcastTo(isWithin, dimsOf(v)), v, beyond); };
  Value given = choose(next.hidden, g.splatLike(0, next.hidden));
  return {{choose(next.hidden, before.hidden), next.memory ? choose(next.memory, before.memory) : Value()}, given};
}

static std::pair<Value, RecurrentState> writeOut(GraphBuilder &g, Value in, const Recurrence &r, int64_t count) {
  Inside inside{in, r.lengths, r.weights(r.captured)};
  RecurrentState state = r.first;
  SmallVector<Value> outputs(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t t = r.reversed ? count - 1 - i : i;
    std::tie(state, outputs[t]) = stepAt(g, r, inside, state, Expr(t));
    outputs[t] = g.unsqueeze(outputs[t], {0});
  }
  Dims none = dimsOf(state.hidden);
  none.insert(none.begin(), Expr(0));
  return {count ? g.concat(outputs, 0) : g.splat(0, none, elementOf(state.hidden)), state};
}

/// Each direction is a loop of its own: its weights stay in the cache from one iteration to the next.
static std::pair<Value, RecurrentState> loopOver(GraphBuilder &g, Value in, const Recurrence &r, const Expr &steps) {
  CountedLoop loop;
  loop.name = r.name;
  loop.steps = steps;
  bool hasMemory = bool(r.first.memory);
  loop.carried.push_back(r.first.hidden);
  if (hasMemory)
    loop.carried.push_back(r.first.memory);
  loop.captured = {in, r.lengths};
  llvm::append_range(loop.captured, r.captured);
  loop.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value> captured, const Expr &step) {
    Inside inside{captured[0], captured[1], r.weights(captured.drop_front(2))};
    Expr t = r.reversed ? steps - Expr(1) - step : step;
    auto [next, given] = stepAt(g, r, inside, {carried[0], hasMemory ? carried[1] : Value()}, t);
    SmallVector<Value> results{next.hidden};
    if (hasMemory)
      results.push_back(next.memory);
    results.push_back(given);
    return results;
  };
  SmallVector<Value> results = r.buildLoop(loop);
  Value all = results.back();
  if (r.reversed)
    all = g.slice(all, 0, g.facts.simplify(steps - Expr(1)), steps, -1);
  return {all, {results[0], hasMemory ? results[1] : Value()}};
}

std::pair<Value, RecurrentState> ir::runRecurrence(GraphBuilder &g, Value in, const Recurrence &recurrence) {
  Expr steps = dimsOf(in)[0];
  std::optional<int64_t> count = steps.constant();
  return count && *count <= recurrence.unrolledSteps ? writeOut(g, in, recurrence, *count) : loopOver(g, in, recurrence, steps);
}
