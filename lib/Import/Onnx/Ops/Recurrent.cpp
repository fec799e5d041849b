//===- Recurrent.cpp - RNN, GRU and LSTM -----------------------------------===//
//
// Reads what the operators are given; lathe/Dialect/Lathe/Recurrence.h has what they mean.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"
#include "Loops.h"
#include "Quantization.h"
#include "lathe/Dialect/Lathe/Recurrence.h"

using namespace lathe;
using llvm::SmallVector;
using ir::RecurrentCell;
using ir::RecurrentState;

namespace lathe::onnx {

namespace {

/// An activation with its numbers.
struct Chosen {
  const Activation *function;
  double alpha, beta;
};

class Recurrence {
public:
  Recurrence(Node &n, RecurrentCell::Kind kind, std::vector<std::string> activations) : n(n), defaults(std::move(activations)) { cell.kind = kind; }
  virtual ~Recurrence() = default;
  void build();

protected:
  /// The operand [steps, batch, size] times a direction's weights.
  virtual Value byOperand(Value x, int64_t direction) { return n.g.linear(x, ofDirection(1, direction, {width(), n.dim(x, 2)}), Value()); }
  virtual Value recurrentOf(int64_t direction) { return ofDirection(2, direction, {width(), hidden}); }
  /// Checks the weights' types; the dimension of the recurrent ones that is the state's size.
  virtual int64_t checkWeights() {
    n.requireSameElement({n.in(0), n.in(1), n.in(2)});
    return 2;
  }
  bool hasMemory() const { return cell.kind == RecurrentCell::Kind::Lstm; }
  Expr width() const { return n.simplify(hidden * Expr(cell.gates())); }
  Value operand(unsigned i) { return n.importer.bring(n.in(i)); }
  Value ofDirection(unsigned input, int64_t direction, llvm::ArrayRef<Expr> dims, bool ofOperandsType = true);

  Node &n;
  RecurrentCell cell;
  Expr hidden, batch;
  int64_t directions = 1, current = 0;

private:
  void readOperands();
  void readActivations();
  /// Whether the recurrent biases may be added to the operand's part, before the loop: a GRU may multiply one of them.
  bool addsBiasesFirst() const { return cell.kind != RecurrentCell::Kind::Gru; }
  Value activate(unsigned which, Value v);
  Value biases(int64_t direction, bool ofState);
  Value project(int64_t direction);
  ir::RecurrentWeights weightsOf(int64_t direction);
  void run(int64_t direction);
  Value initial(unsigned input, int64_t direction);
  Value join(llvm::ArrayRef<Value> parts, int64_t axis);

  std::vector<std::string> defaults;
  SmallVector<Chosen> activations; ///< of all directions
  std::optional<double> clip;      ///< bounds what the activations get
  Value x, lengths;
  bool batchFirst = false, reversed = false;
  Expr steps;
  SmallVector<Value> outputs; ///< per direction, [steps, batch, hidden]
  SmallVector<RecurrentState> finals;
};

Value Recurrence::activate(unsigned which, Value v) {
  const Chosen &f = activations[current * defaults.size() + which];
  if (clip)
    v = n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(v, -*clip), *clip);
  return f.function->build(n.g, v, f.alpha, f.beta);
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

/// The operand's biases, or the state's, in the function that is being built; null where there are none.
Value Recurrence::biases(int64_t direction, bool ofState) {
  Value both = ofDirection(3, direction, {n.simplify(width() * Expr(2))});
  return both ? n.g.slice(both, 0, ofState ? width() : Expr(0), width()) : both;
}

/// The operand's part in all steps, [steps, batch, gates * hidden].
Value Recurrence::project(int64_t direction) {
  Value part = byOperand(x, direction), bias = biases(direction, false);
  if (bias && addsBiasesFirst())
    bias = n.g.add(bias, biases(direction, true));
  return bias ? n.g.add(part, n.g.broadcastTo(bias, n.dims(part))) : part;
}

/// In the function that is being built.
ir::RecurrentWeights Recurrence::weightsOf(int64_t direction) {
  current = direction;
  return {recurrentOf(direction), addsBiasesFirst() ? Value() : biases(direction, true),
          hasMemory() ? ofDirection(7, direction, {n.simplify(hidden * Expr(3))}) : Value(), Value()};
}

void Recurrence::run(int64_t direction) {
  ir::Recurrence r{cell, {initial(5, direction), hasMemory() ? initial(6, direction) : Value()}};
  r.reversed = reversed || direction == 1;
  r.lengths = lengths;
  r.weights = [this, direction](llvm::ArrayRef<Value>) { return weightsOf(direction); };
  r.name = "." + std::to_string(direction);
  r.buildLoop = [this](const ir::CountedLoop &loop) { return buildLoop(n, loop); };
  r.unrolledSteps = n.importer.session().sizes.importOptions().unrolledSteps;
  auto [all, last] = ir::runRecurrence(n.g, project(direction), r);
  outputs.push_back(all);
  finals.push_back(last);
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
  cell.activate = [this](unsigned which, Value v) { return activate(which, v); };
  for (int64_t d = 0; d < directions; ++d)
    run(d);
  SmallVector<Value> hiddens, cells;
  for (const RecurrentState &state : finals) {
    hiddens.push_back(state.hidden);
    cells.push_back(state.memory);
  }
  if (n.wants(0)) { // [steps, directions, batch, hidden] or [batch, steps, directions, hidden]
    Value y = join(outputs, 1);
    n.out(0, batchFirst ? n.g.transpose(y, {2, 0, 1, 3}) : y);
  }
  n.out(1, join(hiddens, batchFirst ? 1 : 0));
  if (hasMemory())
    n.out(2, join(cells, batchFirst ? 1 : 0));
}

class Rnn : public Recurrence {
public:
  explicit Rnn(Node &n) : Recurrence(n, RecurrentCell::Kind::Plain, {"Tanh"}) {}
};

/// Gates: update, reset, hidden.
class Gru : public Recurrence {
public:
  explicit Gru(Node &n) : Recurrence(n, RecurrentCell::Kind::Gru, {"Sigmoid", "Tanh"}) {
    cell.gru = {/*reset=*/1, /*update=*/0};
    cell.resetsAfter = n.flag("linear_before_reset", false);
  }
};

/// Gates: input, output, forget, cell.
class Lstm : public Recurrence {
public:
  explicit Lstm(Node &n) : Recurrence(n, RecurrentCell::Kind::Lstm, {"Sigmoid", "Tanh", "Tanh"}) {
    cell.lstm = {0, 1, 2, 3};
    cell.couplesForget = n.flag("input_forget", false);
  }
};

/// ONNX Runtime's: weights of 8 bits, transposed, whose other factor is quantised when it is known: all of the operand at once, the
/// state in each step.
class QuantisedLstm : public Lstm {
public:
  explicit QuantisedLstm(Node &n) : Lstm(n) {
    cell.product = [this](Value hidden, Value weights, Value) { return product(hidden, weights, 10, current); };
  }
  int64_t checkWeights() override {
    n.requireInteger(n.in(1));
    n.requireInteger(n.in(2));
    return 1;
  }
  Value byOperand(Value x, int64_t direction) override {
    return product(x, ofDirection(1, direction, {n.dim(x, 2), width()}, false), 8, direction);
  }
  Value recurrentOf(int64_t direction) override { return ofDirection(2, direction, {hidden, width()}, false); }

private:
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
