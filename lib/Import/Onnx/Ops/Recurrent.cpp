//===- Recurrent.cpp - RNN, GRU and LSTM -----------------------------------===//
//
// A recurrence over a short sequence of fixed length is written out step by step (ImportOptions::unrolledSteps); any other is a
// loop of the host program. What does not depend on the state (the operand times its weights) is one
// product for all steps.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"
#include "Loops.h"
#include "Quantization.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

/// An activation with its numbers.
struct Chosen {
  const Activation *function;
  double alpha, beta;
};

/// The state of a direction: the hidden values and, for the LSTM, the cell.
struct State {
  Value hidden, cell;
};

class Recurrence {
public:
  /// `gates` blocks of the weights; `hasCell` for the LSTM.
  Recurrence(Node &n, int64_t gates, bool hasCell, std::vector<std::string> activations)
      : n(n), gates(gates), hasCell(hasCell), defaults(std::move(activations)) {}
  virtual ~Recurrence() = default;
  void build();

protected:
  /// The next state from the operand's part [batch, gates * hidden] (with the operand's biases).
  virtual State step(Value x, const State &before) = 0;
  /// Whether the recurrent biases may be added to the operand's part, before the loop.
  virtual bool addsBiasesFirst() const { return true; }
  Value activate(unsigned which, Value v);
  Value block(Value v, int64_t gate, int64_t count = 1); ///< of the last dimension
  virtual Value byState(Value hidden, Value weights) { return n.g.contract(hidden, weights, {}, {}, {1}, {1}); }
  /// The operand [steps, batch, size] times a direction's weights.
  virtual Value byOperand(Value x, int64_t direction) {
    return n.g.contract(x, ofDirection(1, direction, {n.simplify(hidden * Expr(gates)), n.dim(x, 2)}), {}, {}, {2}, {1});
  }
  virtual Value recurrentOf(int64_t direction) { return ofDirection(2, direction, {n.simplify(hidden * Expr(gates)), hidden}); }
  /// Checks the weights' types; the dimension of the recurrent ones that is the state's size.
  virtual int64_t checkWeights() {
    n.requireSameElement({n.in(0), n.in(1), n.in(2)});
    return 2;
  }
  Value operand(unsigned i) { return n.importer.bring(n.in(i)); }
  Value ofDirection(unsigned input, int64_t direction, llvm::ArrayRef<Expr> dims, bool ofOperandsType = true);
  Value rows(int64_t gate, int64_t count);               ///< of the recurrent weights
  Value plus(Value v, Value bias) { return bias ? n.g.add(v, n.g.broadcastTo(bias, n.dims(v))) : v; }

  Node &n;
  int64_t gates;
  bool hasCell;
  Value recurrent, recurrentBias, peepholes; ///< of the current direction
  Expr hidden, batch;
  int64_t directions = 1, current = 0;

private:
  void readOperands();
  void readActivations();
  bool isReverse(int64_t direction) const { return reversed || direction == 1; }
  Value project(int64_t direction);
  void enter(int64_t direction);
  State initialState(int64_t direction);
  std::pair<State, Value> stepAt(Value projected, const State &before, const Expr &t);
  void unroll(int64_t direction);
  void loop(int64_t direction);
  Value initial(unsigned input, int64_t direction);
  Value join(llvm::ArrayRef<Value> parts, int64_t axis);

  std::vector<std::string> defaults;
  SmallVector<Chosen> activations; ///< of all directions
  std::optional<double> clip;      ///< bounds what the activations get
  Value x, lengths;
  bool batchFirst = false, reversed = false;
  Expr steps;
  SmallVector<Value> outputs; ///< per direction, [steps, batch, hidden]
  SmallVector<State> finals;
};

Value Recurrence::activate(unsigned which, Value v) {
  const Chosen &f = activations[current * defaults.size() + which];
  if (clip)
    v = n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(v, -*clip), *clip);
  return f.function->build(n.g, v, f.alpha, f.beta);
}

Value Recurrence::block(Value v, int64_t gate, int64_t count) {
  return n.g.slice(v, n.rank(v) - 1, n.simplify(hidden * Expr(gate)), n.simplify(hidden * Expr(count)));
}

Value Recurrence::rows(int64_t gate, int64_t count) {
  return n.g.slice(recurrent, 0, n.simplify(hidden * Expr(gate)), n.simplify(hidden * Expr(count)));
}

void Recurrence::readOperands() {
  x = n.in(0);
  n.requireFloat(x);
  n.requireRank(x, 3);
  int64_t sizeAt = checkWeights();
  batchFirst = n.flag("layout", false);
  x = batchFirst ? n.g.transpose(x, {1, 0, 2}) : x;
  if (n.hasAttribute("clip"))
    clip = n.real("clip", 0);
  if (clip && !(*clip >= 0))
    failWrong("attribute 'clip' is {0}, expected a threshold of at least 0", *clip);
  Dims dx = n.dims(x);
  steps = n.simplify(dx[0]);
  batch = n.simplify(dx[1]);
  n.requireRank(n.in(2), 3);
  hidden = n.simplify(n.dim(n.in(2), sizeAt));
  if (n.has(4)) {
    n.requireInteger(n.in(4));
    n.requireRank(n.in(4), 1);
    n.requireEqual(n.dim(n.in(4), 0), batch, "one length per batch");
    lengths = n.reshape(n.in(4), {batch});
  }
}

/// The operand's part for a direction, checked against the dimensions that it must have.
Value Recurrence::ofDirection(unsigned input, int64_t direction, llvm::ArrayRef<Expr> dims, bool ofOperandsType) {
  if (!n.has(input))
    return {};
  Value v = operand(input);
  if (ofOperandsType)
    n.requireSameElement({n.in(0), v});
  n.requireRank(v, int64_t(dims.size()) + 1);
  Dims all = n.dims(v);
  n.requireEqual(all[0], Expr(directions), llvm::formatv("the directions of operand {0}", input).str());
  for (auto [i, d] : llvm::enumerate(dims))
    n.requireEqual(all[i + 1], d, llvm::formatv("dimension {0} of operand {1}", i + 1, input).str());
  return n.reshape(n.g.slice(v, 0, Expr(direction), Expr(1)), dims);
}

Value Recurrence::initial(unsigned input, int64_t direction) {
  if (!n.has(input))
    return n.g.splat(0, {batch, hidden}, n.element(x));
  if (!batchFirst)
    return ofDirection(input, direction, {batch, hidden});
  Value v = n.in(input);
  n.requireRank(v, 3);
  n.requireSameElement({n.in(0), v});
  Dims d = n.dims(v);
  n.requireEqual(d[0], batch, "the batch of the initial state");
  n.requireEqual(d[1], Expr(directions), "the directions of the initial state");
  n.requireEqual(d[2], hidden, "the size of the initial state");
  return n.reshape(n.g.slice(v, 1, Expr(direction), Expr(1)), {batch, hidden});
}

/// Makes a direction's weights the current ones, in the function that is being built.
void Recurrence::enter(int64_t direction) {
  current = direction;
  Expr width = n.simplify(hidden * Expr(gates));
  recurrent = recurrentOf(direction);
  Value biases = addsBiasesFirst() ? Value() : ofDirection(3, direction, {n.simplify(width * Expr(2))});
  recurrentBias = biases ? block(biases, gates, gates) : Value();
  peepholes = hasCell ? ofDirection(7, direction, {n.simplify(hidden * Expr(3))}) : Value();
}

/// The operand's part in all steps, [steps, batch, gates * hidden].
Value Recurrence::project(int64_t direction) {
  Expr width = n.simplify(hidden * Expr(gates));
  Value biases = ofDirection(3, direction, {n.simplify(width * Expr(2))}), bias;
  if (biases)
    bias = addsBiasesFirst() ? n.g.add(block(biases, 0, gates), block(biases, gates, gates)) : block(biases, 0, gates);
  return plus(byOperand(x, direction), bias);
}

State Recurrence::initialState(int64_t direction) {
  return {initial(5, direction), hasCell ? initial(6, direction) : Value()};
}

/// The state behind step t, and what the step gives.
std::pair<State, Value> Recurrence::stepAt(Value projected, const State &before, const Expr &t) {
  Expr width = n.simplify(hidden * Expr(gates));
  State next = step(n.reshape(n.g.slice(projected, 0, t, Expr(1)), {batch, width}), before);
  if (!lengths)
    return {next, next.hidden};
  // Beyond a sequence's length its state stays and its output is zero.
  Value all = n.importer.bring(lengths), limit = n.g.broadcastTo(n.g.cast(n.g.size(t), n.element(all)), {batch});
  Value inside = n.g.unsqueeze(n.g.compare(ir::CompareKind::LT, limit, all), {1});
  inside = n.g.broadcastTo(inside, {batch, hidden});
  Value given = n.g.select(inside, next.hidden, n.g.splatLike(0, next.hidden));
  next.hidden = n.g.select(inside, next.hidden, before.hidden);
  next.cell = hasCell ? n.g.select(inside, next.cell, before.cell) : Value();
  return {next, given};
}

void Recurrence::unroll(int64_t direction) {
  Value projected = project(direction);
  State state = initialState(direction);
  enter(direction);
  int64_t count = *steps.constant();
  SmallVector<Value> seen(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t t = isReverse(direction) ? count - 1 - i : i;
    std::tie(state, seen[t]) = stepAt(projected, state, Expr(t));
  }
  outputs.push_back(count ? join(seen, 0) : n.g.splat(0, {Expr(0), batch, hidden}, n.element(x)));
  finals.push_back(state);
}

/// Each direction is a loop of its own: its weights stay in the cache from one iteration to the next.
void Recurrence::loop(int64_t direction) {
  LoopSpec spec;
  spec.suffix = "." + std::to_string(direction);
  spec.limit = steps;
  Value projected = project(direction);
  State first = initialState(direction);
  spec.carried.push_back(first.hidden);
  if (hasCell)
    spec.carried.push_back(first.cell);
  spec.body = [&](llvm::ArrayRef<Value> carried, const Expr &iteration) {
    enter(direction);
    Expr t = isReverse(direction) ? steps - Expr(1) - iteration : iteration;
    auto [next, y] = stepAt(n.importer.bring(projected), {carried[0], hasCell ? carried[1] : Value()}, t);
    std::vector<Value> results{next.hidden};
    if (hasCell)
      results.push_back(next.cell);
    results.push_back(y);
    return results;
  };
  SmallVector<Value> results = buildLoop(n, spec);
  finals.push_back({results[0], hasCell ? results[1] : Value()});
  Value y = results.back();
  outputs.push_back(isReverse(direction) ? n.g.slice(y, 0, n.simplify(steps - Expr(1)), steps, -1) : y);
}

/// The parts [batch, hidden] along a new axis.
Value Recurrence::join(llvm::ArrayRef<Value> parts, int64_t axis) {
  SmallVector<Value> wide;
  for (Value v : parts)
    wide.push_back(n.g.unsqueeze(v, {axis}));
  return n.g.concat(wide, axis);
}

/// Each function that has numbers takes the next of the lists, and what is usual for it behind their end.
void Recurrence::readActivations() {
  std::vector<std::string> names;
  for (int64_t d = 0; d < directions; ++d)
    names.insert(names.end(), defaults.begin(), defaults.end());
  if (const AttributeProto *given = n.attribute("activations"); given && given->strings_size()) {
    if (given->strings_size() != int(names.size()))
      failWrong("attribute 'activations' has {0} entries, expected {1}", given->strings_size(), names.size());
    names.assign(given->strings().begin(), given->strings().end());
  }
  auto listOf = [&](const char *attribute) {
    const AttributeProto *a = n.attribute(attribute);
    return a ? std::vector<double>(a->floats().begin(), a->floats().end()) : std::vector<double>();
  };
  std::vector<double> alphas = listOf("activation_alpha"), betas = listOf("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  for (const std::string &name : names) {
    const Activation *f = findActivation(name);
    if (!f)
      failWrong("attribute 'activations' names '{0}', expected one of {1}", name,
                llvm::join(llvm::map_range(activationTable(), [](const Activation &a) { return a.name; }), ", "));
    double alpha = f->hasAlpha && nextAlpha < alphas.size() ? alphas[nextAlpha++] : f->alpha;
    double beta = f->hasBeta && nextBeta < betas.size() ? betas[nextBeta++] : f->beta;
    activations.push_back({f, alpha, beta});
  }
}

void Recurrence::build() {
  readOperands();
  std::string direction = n.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    failWrong("attribute 'direction' is '{0}', expected forward, reverse or bidirectional", direction);
  directions = direction == "bidirectional" ? 2 : 1;
  reversed = direction == "reverse";
  readActivations();
  std::optional<int64_t> count = steps.constant();
  if (count && *count <= n.importer.session().sizes.importOptions().unrolledSteps)
    for (int64_t d = 0; d < directions; ++d)
      unroll(d);
  else
    for (int64_t d = 0; d < directions; ++d)
      loop(d);
  SmallVector<Value> hiddens, cells;
  for (const State &state : finals) {
    hiddens.push_back(state.hidden);
    cells.push_back(state.cell);
  }
  if (n.wants(0)) { // [steps, directions, batch, hidden] or [batch, steps, directions, hidden]
    Value y = join(outputs, 1);
    n.out(0, batchFirst ? n.g.transpose(y, {2, 0, 1, 3}) : y);
  }
  n.out(1, join(hiddens, batchFirst ? 1 : 0));
  if (hasCell)
    n.out(2, join(cells, batchFirst ? 1 : 0));
}

class Rnn : public Recurrence {
public:
  explicit Rnn(Node &n) : Recurrence(n, 1, false, {"Tanh"}) {}
  State step(Value x, const State &s) override {
    return {activate(0, n.g.add(x, plus(byState(s.hidden, recurrent), recurrentBias))), {}};
  }
};

/// Gates: update, reset, hidden.
class Gru : public Recurrence {
public:
  bool addsBiasesFirst() const override { return false; }
  explicit Gru(Node &n) : Recurrence(n, 3, false, {"Sigmoid", "Tanh"}), resetsAfter(n.flag("linear_before_reset", false)) {}
  State step(Value x, const State &s) override {
    Value both = n.g.add(block(x, 0, 2), plus(byState(s.hidden, rows(0, 2)), recurrentBias ? block(recurrentBias, 0, 2) : Value()));
    Value gate = activate(0, both), update = block(gate, 0), reset = block(gate, 1);
    Value bias = recurrentBias ? block(recurrentBias, 2) : Value();
    Value inner = resetsAfter ? n.g.mul(reset, plus(byState(s.hidden, rows(2, 1)), bias))
                              : plus(byState(n.g.mul(reset, s.hidden), rows(2, 1)), bias);
    Value candidate = activate(1, n.g.add(block(x, 2), inner));
    Value kept = n.g.mul(n.g.sub(n.g.splatLike(1, update), update), candidate);
    return {n.g.add(kept, n.g.mul(update, s.hidden)), {}};
  }

private:
  bool resetsAfter;
};

/// Gates: input, output, forget, cell.
class Lstm : public Recurrence {
public:
  explicit Lstm(Node &n)
      : Recurrence(n, 4, true, {"Sigmoid", "Tanh", "Tanh"}), couplesForget(n.flag("input_forget", false)) {}
  State step(Value x, const State &s) override {
    Value all = n.g.add(x, plus(byState(s.hidden, recurrent), recurrentBias));
    auto gate = [&](int64_t place, int64_t peephole, Value cell) {
      Value v = block(all, place);
      if (peepholes)
        v = n.g.add(v, n.g.mul(n.g.broadcastTo(block(peepholes, peephole), n.dims(cell)), cell));
      return activate(0, v);
    };
    Value in = gate(0, 0, s.cell), candidate = activate(1, block(all, 3));
    Value forget = couplesForget ? n.g.sub(n.g.splatLike(1, in), in) : gate(2, 2, s.cell);
    Value cell = n.g.add(n.g.mul(forget, s.cell), n.g.mul(in, candidate));
    return {n.g.mul(gate(1, 1, cell), activate(2, cell)), cell};
  }

private:
  bool couplesForget; ///< what the input gate lets in, the forget gate drops
};

/// ONNX Runtime's: weights of 8 bits, transposed, whose other factor is quantised when it is known: all of the operand at once, the
/// state in each step.
class QuantisedLstm : public Lstm {
public:
  explicit QuantisedLstm(Node &n) : Lstm(n) {}
  int64_t checkWeights() override {
    n.requireInteger(n.in(1));
    n.requireInteger(n.in(2));
    return 1;
  }
  Value byOperand(Value x, int64_t direction) override {
    return product(x, ofDirection(1, direction, {n.dim(x, 2), width()}, false), 8, direction);
  }
  Value recurrentOf(int64_t direction) override { return ofDirection(2, direction, {hidden, width()}, false); }
  Value byState(Value hidden, Value weights) override { return product(hidden, weights, 10, current); }

private:
  Expr width() const { return n.simplify(hidden * Expr(gates)); }
  /// A scale or zero point, one per direction or one per column of each.
  Value perColumn(unsigned input, int64_t direction) {
    Value v = operand(input);
    bool perDirection = n.rank(v) == 1;
    Value mine = n.reshape(n.g.slice(v, 0, Expr(direction), Expr(1)), {perDirection ? Expr(1) : width()});
    return n.broadcastTo(mine, {width()});
  }
  Value product(Value x, Value weights, unsigned scaleAt, int64_t direction) {
    Type i32 = n.g.b.getI32Type();
    DynamicBytes q = dynamicBytes(n, x);
    Value zeros = n.has(scaleAt + 1) ? perColumn(scaleAt + 1, direction) : Value();
    Value sum = n.g.contract(centered(n, q.bytes, q.zero, i32, false), centered(n, weights, zeros, i32, false), {}, {}, {n.rank(x) - 1}, {0});
    Value factor = n.g.mul(perColumn(scaleAt, direction), n.g.broadcastTo(q.scale, {width()}));
    return n.g.mul(n.g.cast(sum, n.element(x)), n.broadcastTo(factor, n.dims(sum)));
  }
};

} // namespace

void rnn(Node &n) { Rnn(n).build(); }
void gru(Node &n) { Gru(n).build(); }
void lstm(Node &n) { Lstm(n).build(); }
void dynamicQuantizeLstm(Node &n) { QuantisedLstm(n).build(); }

} // namespace lathe::onnx
