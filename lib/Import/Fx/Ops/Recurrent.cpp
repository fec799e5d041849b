//===- Recurrent.cpp - LSTM, GRU and plain recurrent layers -----------------===//
//
// A short sequence of constant length is written out, any other is a loop of the host program. What does not depend on
// the state (the product of the inputs with their weights) is computed for all steps at once, so that a step is one
// product and a few elementwise ops.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/CountedLoop.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

constexpr int64_t maxCells = 256; // layers and directions

namespace {
/// The weights of one layer in one direction.
struct Cell {
  Value wIn, wState, bIn, bState;
  Value project; ///< of the hidden values, where the state is smaller
};
struct State {
  Value h, c; ///< c of an LSTM only
};
/// One step: what the inputs contribute [B, gates * H], and the state before.
using Step = State (*)(OpContext &c, const Cell &cell, Value in, const State &before);
} // namespace

static Value gate(OpContext &c, Value all, int64_t index, const Expr &width) {
  return c.g.slice(all, 1, c.g.facts.simplify(width * Expr(index)), width);
}

static State lstmStep(OpContext &c, const Cell &cell, Value in, const State &before) {
  Expr width = dimsOf(before.c)[1];
  Value gates = c.g.add(in, c.g.linear(before.h, cell.wState, cell.bState));
  Value input = c.g.sigmoid(gate(c, gates, 0, width)), forget = c.g.sigmoid(gate(c, gates, 1, width));
  Value candidate = c.g.unary<TanhOp>(gate(c, gates, 2, width)), output = c.g.sigmoid(gate(c, gates, 3, width));
  Value memory = c.g.add(c.g.mul(forget, before.c), c.g.mul(input, candidate));
  Value hidden = c.g.mul(output, c.g.unary<TanhOp>(memory));
  return {cell.project ? c.g.linear(hidden, cell.project, Value()) : hidden, memory};
}

static State gruStep(OpContext &c, const Cell &cell, Value in, const State &before) {
  Expr width = dimsOf(before.h)[1];
  Value state = c.g.linear(before.h, cell.wState, cell.bState);
  auto both = [&](int64_t i) { return c.g.add(gate(c, in, i, width), gate(c, state, i, width)); };
  Value reset = c.g.sigmoid(both(0)), update = c.g.sigmoid(both(1));
  Value fresh = c.g.unary<TanhOp>(c.g.add(gate(c, in, 2, width), c.g.mul(reset, gate(c, state, 2, width))));
  return {c.g.add(fresh, c.g.mul(update, c.g.sub(before.h, fresh))), Value()};
}

static State tanhStep(OpContext &c, const Cell &cell, Value in, const State &before) {
  return {c.g.unary<TanhOp>(c.g.add(in, c.g.linear(before.h, cell.wState, cell.bState))), Value()};
}

static State reluStep(OpContext &c, const Cell &cell, Value in, const State &before) {
  return {c.g.relu(c.g.add(in, c.g.linear(before.h, cell.wState, cell.bState))), Value()};
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {
struct Layers {
  Step step;
  int64_t gates, count, directions;
  Expr length;
  bool lstm, projects;
  SmallVector<Value> weights;
  Value h, c; ///< initial states [layers * directions, B, H]
};
} // namespace

/// Row i of a tensor of states.
static Value row(OpContext &c, Value states, int64_t i) {
  return states ? c.g.squeeze(c.g.slice(states, 0, Expr(i), Expr(1)), {0}) : states;
}

static llvm::Expected<Cell> cellOf(OpContext &c, const Layers &layers, int64_t index, const Expr &inputs) {
  bool biases = c.flag("has_biases");
  size_t each = (biases ? 4 : 2) + (layers.projects ? 1 : 0);
  llvm::ArrayRef<Value> w = llvm::ArrayRef<Value>(layers.weights).slice(index * each, each);
  Expr state = dimsOf(layers.h)[2], width = dimsOf(layers.lstm ? layers.c : layers.h)[2],
       rows = width * Expr(layers.gates);
  auto is = [&](Value v, llvm::ArrayRef<Expr> dims) {
    bool same = dimsOf(v).size() == dims.size() && elementOf(v) == elementOf(layers.h);
    for (size_t i = 0; same && i < dims.size(); ++i)
      same = c.g.facts.provablyEqual(dimsOf(v)[i], dims[i]);
    return same;
  };
  if (!is(w[0], {rows, inputs}) || !is(w[1], {rows, state}) || (biases && (!is(w[2], {rows}) || !is(w[3], {rows}))) ||
      (layers.projects && !is(w.back(), {state, width})))
    return c.wrong("the weights of layer {0} do not fit the states {1}", index / layers.directions, layers.h.getType());
  return Cell{w[0], w[1], biases ? w[2] : Value(), biases ? w[3] : Value(), layers.projects ? w.back() : Value()};
}

/// The hidden values of all steps and the last state.
using Outcome = std::pair<Value, State>;

static Outcome unroll(OpContext &c, const Layers &layers, const Cell &cell, Value in, State state, bool back) {
  int64_t length = *layers.length.constant();
  SmallVector<Value> outputs(length);
  for (int64_t i = 0; i < length; ++i) {
    int64_t t = back ? length - 1 - i : i;
    state = layers.step(c, cell, row(c, in, t), state);
    outputs[t] = c.g.unsqueeze(state.h, {0});
  }
  return {c.g.concat(outputs, 0), state};
}

/// Each direction is a loop of its own: its weights stay in the cache from one iteration to the next.
static Outcome loop(OpContext &c, const Layers &layers, const Cell &cell, Value in, State first, bool back,
                    int64_t index) {
  CountedLoop spec;
  spec.name = c.node.name + ".step" + std::to_string(index);
  spec.steps = layers.length;
  spec.carried.push_back(first.h);
  if (layers.lstm)
    spec.carried.push_back(first.c);
  spec.captured = {in, cell.wState, cell.bState, cell.project};
  Dims one = dimsOf(in);
  one.erase(one.begin());
  spec.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value> captured, const Expr &step) {
    Expr t = back ? layers.length - Expr(1) - step : step;
    Value now = c.g.reshape(c.g.slice(captured[0], 0, t, Expr(1)), one);
    State next = layers.step(c, {Value(), captured[1], Value(), captured[2], captured[3]}, now,
                             {carried[0], layers.lstm ? carried[1] : Value()});
    SmallVector<Value> results{next.h};
    if (layers.lstm)
      results.push_back(next.c);
    results.push_back(next.h);
    return results;
  };
  SmallVector<Value> results = buildLoop(c.g, spec);
  Value y = results.back();
  if (back)
    y = c.g.slice(y, 0, c.g.facts.simplify(layers.length - Expr(1)), layers.length, -1);
  return {y, {results[0], layers.lstm ? results[1] : Value()}};
}

/// All steps of one layer in one direction over x [T, B, I]; gives [T, B, H] and the last state.
static llvm::Expected<Outcome> runLayer(OpContext &c, const Layers &layers, Value x, int64_t index, bool back) {
  LATHE_TRY(cell, cellOf(c, layers, index, dimsOf(x)[2]));
  Value in = c.g.linear(x, cell.wIn, cell.bIn);
  State state{row(c, layers.h, index), row(c, layers.c, index)};
  std::optional<int64_t> length = layers.length.constant();
  return length && *length <= c.unrolledSteps ? unroll(c, layers, cell, in, state, back)
                                              : loop(c, layers, cell, in, state, back, index);
}

static llvm::Error runLayers(OpContext &c, Layers &layers, Value x, bool batchFirst) {
  SmallVector<Value> lastH, lastC;
  for (int64_t layer = 0; layer < layers.count; ++layer) {
    SmallVector<Value> outputs;
    for (int64_t direction = 0; direction < layers.directions; ++direction) {
      LATHE_TRY(done, runLayer(c, layers, x, layer * layers.directions + direction, direction == 1));
      outputs.push_back(done.first);
      lastH.push_back(c.g.unsqueeze(done.second.h, {0}));
      if (layers.lstm)
        lastC.push_back(c.g.unsqueeze(done.second.c, {0}));
    }
    x = c.g.concat(outputs, 2);
  }
  (void)c.give(batchFirst ? c.g.transpose(x, {1, 0, 2}) : x);
  (void)c.give(c.g.concat(lastH, 0));
  return layers.lstm ? c.give(c.g.concat(lastC, 0)) : llvm::Error::success();
}

template <int gates> static llvm::Error recurrent(OpContext &c, Step step) {
  Value x = c.tensor("input");
  Layers layers{step,
                gates,
                c.integer("num_layers"),
                c.flag("bidirectional") ? 2 : 1,
                Expr(0),
                gates == 4,
                false,
                c.tensors("params"),
                {},
                {}};
  SmallVector<Value> states = layers.lstm ? c.tensors("hx") : SmallVector<Value>{c.tensor("hx")};
  if (c.flag("train") && c.real("dropout") != 0)
    return c.cannot("dropout is on (train=True): call model.eval() before torch.export");
  if (typeOf(x).getRank() != 3 || states.size() != (layers.lstm ? 2 : 1))
    return c.cannot("an input of {0} with {1} states; this version takes batches", x.getType(), states.size());
  if (c.flag("batch_first"))
    x = c.g.transpose(x, {1, 0, 2});
  layers.length = dimsOf(x)[0];
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(1), layers.length)))
    return e;
  layers.h = states[0];
  layers.c = layers.lstm ? states[1] : Value();
  int64_t cells = 0, biases = c.flag("has_biases") ? 4 : 2;
  if (layers.count < 1 || llvm::MulOverflow(layers.count, layers.directions, cells) || cells > maxCells)
    return c.cannot("{0} layers in {1} directions; this version takes up to {2} in all", layers.count,
                    layers.directions, maxCells);
  layers.projects = layers.lstm && int64_t(layers.weights.size()) == cells * (biases + 1);
  if (!layers.projects && int64_t(layers.weights.size()) != cells * biases)
    return c.wrong("{0} weights for {1} cells", layers.weights.size(), cells);
  for (Value s : {layers.h, layers.c})
    if (s && (typeOf(s).getRank() != 3 || dimsOf(s)[0].constant() != std::optional<int64_t>(cells) ||
              !c.g.facts.provablyEqual(dimsOf(s)[1], dimsOf(x)[1]) || elementOf(s) != elementOf(x) ||
              (!layers.projects && !c.g.facts.provablyEqual(dimsOf(s)[2], dimsOf(layers.h)[2]))))
      return c.wrong("a state of {0} for {1} cells over {2}", s.getType(), cells, x.getType());
  return runLayers(c, layers, x, c.flag("batch_first"));
}

static llvm::Error lstm(OpContext &c) { return recurrent<4>(c, lstmStep); }
static llvm::Error gru(OpContext &c) { return recurrent<3>(c, gruStep); }
static llvm::Error rnnTanh(OpContext &c) { return recurrent<1>(c, tanhStep); }
static llvm::Error rnnRelu(OpContext &c) { return recurrent<1>(c, reluStep); }

/// One step, with operands of rank 1 or 2.
template <int gates> static llvm::Error single(OpContext &c, Step step) {
  constexpr bool isLstm = gates == 4;
  Value x = c.tensor("input");
  SmallVector<Value> states = isLstm ? c.tensors("hx") : SmallVector<Value>{c.tensor("hx")};
  bool batched = typeOf(x).getRank() == 2;
  if ((!batched && typeOf(x).getRank() != 1) || states.size() != (isLstm ? 2 : 1))
    return c.wrong("an input of {0} with {1} states", x.getType(), states.size());
  auto rows = [&](Value v) { return batched ? v : c.g.unsqueeze(v, {0}); };
  x = rows(x);
  for (Value &s : states) {
    s = rows(s);
    if (typeOf(s).getRank() != 2 || elementOf(s) != elementOf(x))
      return c.wrong("a state of {0} for {1}", s.getType(), x.getType());
    if (llvm::Error e = c.needEqual(dimsOf(s)[0], dimsOf(x)[0]))
      return e;
  }
  Expr width = dimsOf(states[0])[1], all = c.g.facts.simplify(width * Expr(gates));
  auto is = [&](Value v, llvm::ArrayRef<Expr> dims) {
    bool same = dimsOf(v).size() == dims.size() && elementOf(v) == elementOf(x);
    for (size_t i = 0; same && i < dims.size(); ++i)
      same = c.g.facts.provablyEqual(dimsOf(v)[i], dims[i]);
    return same;
  };
  Cell cell{c.tensor("w_ih"), c.tensor("w_hh"), c.tensor("b_ih"), c.tensor("b_hh"), Value()};
  if (!is(cell.wIn, {all, dimsOf(x)[1]}) || !is(cell.wState, {all, width}) || (cell.bIn && !is(cell.bIn, {all})) ||
      (cell.bState && !is(cell.bState, {all})) || (isLstm && !c.g.facts.provablyEqual(dimsOf(states[1])[1], width)))
    return c.wrong("the weights do not fit an input of {0} and states of {1}", x.getType(), states[0].getType());
  State next = step(c, cell, c.g.linear(x, cell.wIn, cell.bIn), {states[0], isLstm ? states[1] : Value()});
  auto back = [&](Value v) { return batched ? v : c.g.squeeze(v, {0}); };
  (void)c.give(back(next.h));
  return isLstm ? c.give(back(next.c)) : llvm::Error::success();
}

static llvm::Error lstmCell(OpContext &c) { return single<4>(c, lstmStep); }
static llvm::Error gruCell(OpContext &c) { return single<3>(c, gruStep); }
static llvm::Error tanhCell(OpContext &c) { return single<1>(c, tanhStep); }
static llvm::Error reluCell(OpContext &c) { return single<1>(c, reluStep); }

llvm::ArrayRef<OpEntry> fx::recurrentOps() {
  static const char *const cell = "input:T hx:T w_ih:T w_hh:T b_ih:T? b_hh:T?";
  static const char *const one =
      "input:T hx:T params:T* has_biases:B num_layers:I dropout:F train:B bidirectional:B batch_first:B";
  static const OpEntry table[] = {
      {"lstm.input",
       "input:T hx:T* params:T* has_biases:B num_layers:I dropout:F train:B bidirectional:B batch_first:B", lstm,
       OwnElements},
      {"gru.input", one, gru},
      {"rnn_tanh.input", one, rnnTanh},
      {"rnn_relu.input", one, rnnRelu},
      {"lstm_cell.default", "input:T hx:T* w_ih:T w_hh:T b_ih:T? b_hh:T?", lstmCell},
      {"gru_cell.default", cell, gruCell},
      {"rnn_tanh_cell.default", cell, tanhCell},
      {"rnn_relu_cell.default", cell, reluCell},
  };
  return table;
}
