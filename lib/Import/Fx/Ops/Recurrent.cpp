//===- Recurrent.cpp - LSTM, GRU and plain recurrent layers -----------------===//
//
// Reads what the operators are given; lathe/Dialect/Lathe/Recurrence.h has what they mean.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/Recurrence.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

constexpr int64_t maxCells = 256; // layers and directions

namespace {
/// The weights of one layer in one direction.
struct LayerWeights {
  Value wIn, bIn;
  RecurrentWeights ofState;
};
} // namespace

static RecurrentCell cellOf(OpContext &c, RecurrentCell::Kind kind, bool relu = false) {
  RecurrentCell cell;
  cell.kind = kind;
  cell.activate = [&c, kind, relu](unsigned which, Value v) {
    bool isGate = which == 0 && kind != RecurrentCell::Kind::Plain;
    return isGate ? c.g.sigmoid(v) : relu ? c.g.relu(v) : c.g.unary<TanhOp>(v);
  };
  return cell;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {
struct Layers {
  RecurrentCell cell;
  int64_t count, directions;
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

static llvm::Expected<LayerWeights> weightsOf(OpContext &c, const Layers &layers, int64_t index, const Expr &inputs) {
  bool biases = c.flag("has_biases");
  size_t each = (biases ? 4 : 2) + (layers.projects ? 1 : 0);
  llvm::ArrayRef<Value> w = llvm::ArrayRef<Value>(layers.weights).slice(index * each, each);
  Expr state = dimsOf(layers.h)[2], width = dimsOf(layers.lstm ? layers.c : layers.h)[2],
       rows = width * Expr(layers.cell.gates());
  auto is = [&](Value v, llvm::ArrayRef<Expr> dims) {
    bool same = dimsOf(v).size() == dims.size() && elementOf(v) == elementOf(layers.h);
    for (size_t i = 0; same && i < dims.size(); ++i)
      same = c.g.facts.provablyEqual(dimsOf(v)[i], dims[i]);
    return same;
  };
  if (!is(w[0], {rows, inputs}) || !is(w[1], {rows, state}) || (biases && (!is(w[2], {rows}) || !is(w[3], {rows}))) ||
      (layers.projects && !is(w.back(), {state, width})))
    return c.wrong("the weights of layer {0} do not fit the states {1}", index / layers.directions, layers.h.getType());
  return LayerWeights{w[0], biases ? w[2] : Value(), {w[1], biases ? w[3] : Value(), Value(), layers.projects ? w.back() : Value()}};
}

/// All steps of one layer in one direction over x [T, B, I]; gives [T, B, H] and the last state.
static llvm::Expected<std::pair<Value, RecurrentState>> runLayer(OpContext &c, const Layers &layers, Value x, int64_t index, bool back) {
  LATHE_TRY(weights, weightsOf(c, layers, index, dimsOf(x)[2]));
  Value in = c.g.linear(x, weights.wIn, weights.bIn);
  Recurrence r{layers.cell, {row(c, layers.h, index), row(c, layers.c, index)}};
  r.reversed = back;
  r.captured = {weights.ofState.state, weights.ofState.bias, weights.ofState.projection};
  r.weights = [](llvm::ArrayRef<Value> inside) { return RecurrentWeights{inside[0], inside[1], Value(), inside[2]}; };
  r.name = c.node.name + ".step" + std::to_string(index);
  r.buildLoop = [&c](const CountedLoop &loop) { return buildLoop(c.g, loop); };
  r.unrolledSteps = c.unrolledSteps;
  return runRecurrence(c.g, in, r);
}

static llvm::Error runLayers(OpContext &c, Layers &layers, Value x, bool batchFirst) {
  SmallVector<Value> lastH, lastC;
  for (int64_t layer = 0; layer < layers.count; ++layer) {
    SmallVector<Value> outputs;
    for (int64_t direction = 0; direction < layers.directions; ++direction) {
      LATHE_TRY(done, runLayer(c, layers, x, layer * layers.directions + direction, direction == 1));
      outputs.push_back(done.first);
      lastH.push_back(c.g.unsqueeze(done.second.hidden, {0}));
      if (layers.lstm)
        lastC.push_back(c.g.unsqueeze(done.second.memory, {0}));
    }
    x = c.g.concat(outputs, 2);
  }
  (void)c.give(batchFirst ? c.g.transpose(x, {1, 0, 2}) : x);
  (void)c.give(c.g.concat(lastH, 0));
  return layers.lstm ? c.give(c.g.concat(lastC, 0)) : llvm::Error::success();
}

template <RecurrentCell::Kind kind, bool relu = false> static llvm::Error recurrent(OpContext &c) {
  Value x = c.tensor("input");
  Layers layers{cellOf(c, kind, relu), c.integer("num_layers"), c.flag("bidirectional") ? 2 : 1, Expr(0), kind == RecurrentCell::Kind::Lstm, false,
                c.tensors("params"), {}, {}};
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

/// One step, with operands of rank 1 or 2.
template <RecurrentCell::Kind kind, bool relu = false> static llvm::Error single(OpContext &c) {
  constexpr bool isLstm = kind == RecurrentCell::Kind::Lstm;
  RecurrentCell cell = cellOf(c, kind, relu);
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
  Expr width = dimsOf(states[0])[1], all = c.g.facts.simplify(width * Expr(cell.gates()));
  auto is = [&](Value v, llvm::ArrayRef<Expr> dims) {
    bool same = dimsOf(v).size() == dims.size() && elementOf(v) == elementOf(x);
    for (size_t i = 0; same && i < dims.size(); ++i)
      same = c.g.facts.provablyEqual(dimsOf(v)[i], dims[i]);
    return same;
  };
  LayerWeights w{c.tensor("w_ih"), c.tensor("b_ih"), {c.tensor("w_hh"), c.tensor("b_hh"), Value(), Value()}};
  if (!is(w.wIn, {all, dimsOf(x)[1]}) || !is(w.ofState.state, {all, width}) || (w.bIn && !is(w.bIn, {all})) ||
      (w.ofState.bias && !is(w.ofState.bias, {all})) || (isLstm && !c.g.facts.provablyEqual(dimsOf(states[1])[1], width)))
    return c.wrong("the weights do not fit an input of {0} and states of {1}", x.getType(), states[0].getType());
  RecurrentState next = cell.step(c.g, c.g.linear(x, w.wIn, w.bIn), {states[0], isLstm ? states[1] : Value()}, w.ofState);
  auto back = [&](Value v) { return batched ? v : c.g.squeeze(v, {0}); };
  (void)c.give(back(next.hidden));
  return isLstm ? c.give(back(next.memory)) : llvm::Error::success();
}

llvm::ArrayRef<OpEntry> fx::recurrentOps() {
  static const char *const cell = "input:T hx:T w_ih:T w_hh:T b_ih:T? b_hh:T?";
  static const char *const one =
      "input:T hx:T params:T* has_biases:B num_layers:I dropout:F train:B bidirectional:B batch_first:B";
  using Kind = RecurrentCell::Kind;
  static const OpEntry table[] = {
      {"lstm.input",
       "input:T hx:T* params:T* has_biases:B num_layers:I dropout:F train:B bidirectional:B batch_first:B", recurrent<Kind::Lstm>,
       OwnElements},
      {"gru.input", one, recurrent<Kind::Gru>},
      {"rnn_tanh.input", one, recurrent<Kind::Plain>},
      {"rnn_relu.input", one, recurrent<Kind::Plain, /*relu=*/true>},
      {"lstm_cell.default", "input:T hx:T* w_ih:T w_hh:T b_ih:T? b_hh:T?", single<Kind::Lstm>},
      {"gru_cell.default", cell, single<Kind::Gru>},
      {"rnn_tanh_cell.default", cell, single<Kind::Plain>},
      {"rnn_relu_cell.default", cell, single<Kind::Plain, /*relu=*/true>},
  };
  return table;
}
