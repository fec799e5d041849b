//===- Optimizers.cpp - Steps of training ----------------------------------===//
//
// Each takes the learning rate, the number of steps so far, and then groups of as many tensors: the parameters, their
// gradients, and what the optimizer keeps for them.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;

namespace lathe::onnx {

namespace {

/// One parameter with all that belongs to it.
class Step {
public:
  Step(Node &n, unsigned index, unsigned groups) : n(n), index(index), count((n.numInputs() - 2) / groups) {
    x = of(0);
    n.requireFloat(x);
    rate = number(0);
    steps = number(1);
    gradient = n.g.add(n.g.binary<ir::MulOp>(x, n.real("norm_coefficient", 0)), of(1));
  }
  Value of(unsigned group) {
    Value v = n.in(2 + group * count + index);
    n.requireSameElement({n.in(2 + index), v});
    return n.broadcastTo(v, n.dims(n.in(2 + index)));
  }
  void result(unsigned group, Value v) { n.out(group * count + index, v); }
  Value times(Value v, double by) { return n.g.binary<ir::MulOp>(v, by); }

  Node &n;
  unsigned index, count;
  Value x, gradient, rate, steps;

private:
  /// The learning rate or the number of steps, as x.
  Value number(unsigned input) {
    Value v = n.in(input);
    n.requireEqual(shape::product(n.dims(v)), Expr(1), "the learning rate and the number of steps");
    return n.g.broadcastTo(n.g.cast(n.reshape(v, {}), n.element(x)), n.dims(x));
  }
};

} // namespace

static void forEach(Node &n, unsigned groups, void (*step)(Step &)) {
  if (n.numInputs() < 2 + groups || (n.numInputs() - 2) % groups)
    failWrong("{0} operands, expected 2 and {1} for each parameter", n.numInputs(), groups);
  for (unsigned i = 0; i < (n.numInputs() - 2) / groups; ++i) {
    Step s(n, i, groups);
    step(s);
  }
}

/// value where steps were made, the other before the first one.
static Value afterFirst(Step &s, Value value, Value otherwise) {
  return s.n.g.select(s.n.g.compare(CompareKind::GT, s.steps, s.n.g.splatLike(0, s.steps)), value, otherwise);
}

void adagrad(Node &n) {
  forEach(n, 3, [](Step &s) {
    auto &g = s.n.g;
    Value decay = g.binary<ir::AddOp>(s.times(s.steps, s.n.real("decay_factor", 0)), 1);
    Value squares = g.add(s.of(2), g.mul(s.gradient, s.gradient));
    Value adaptive = g.binary<ir::AddOp>(g.unary<ir::SqrtOp>(squares), s.n.real("epsilon", 1e-6));
    s.result(0, g.sub(s.x, g.div(g.mul(g.div(s.rate, decay), s.gradient), adaptive)));
    s.result(1, squares);
  });
}

void adam(Node &n) {
  forEach(n, 4, [](Step &s) {
    auto &g = s.n.g;
    double alpha = s.n.real("alpha", 0.9), beta = s.n.real("beta", 0.999);
    Value mean = g.add(s.times(s.of(2), alpha), s.times(s.gradient, 1 - alpha));
    Value squares = g.add(s.times(s.of(3), beta), s.times(g.mul(s.gradient, s.gradient), 1 - beta));
    auto unbiased = [&](double base) {
      return g.sub(g.splatLike(1, s.x), g.binary<ir::PowOp>(g.splatLike(base, s.x), s.steps));
    };
    Value corrected = g.div(g.mul(s.rate, g.unary<ir::SqrtOp>(unbiased(beta))), unbiased(alpha));
    Value rate = afterFirst(s, corrected, s.rate);
    Value adaptive = g.binary<ir::AddOp>(g.unary<ir::SqrtOp>(squares), s.n.real("epsilon", 1e-6));
    Value moved = g.sub(s.x, g.div(g.mul(rate, mean), adaptive));
    s.result(0, s.times(moved, 1 - s.n.real("norm_coefficient_post", 0)));
    s.result(1, mean);
    s.result(2, squares);
  });
}

void momentum(Node &n) {
  std::string mode = n.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    failWrong("attribute 'mode' is '{0}', expected standard or nesterov", mode);
  forEach(n, 3, [](Step &s) {
    auto &g = s.n.g;
    double alpha = s.n.real("alpha", 0);
    Value beta = afterFirst(s, g.splatLike(s.n.real("beta", 0), s.x), g.splatLike(1, s.x));
    Value moment = g.add(s.times(s.of(2), alpha), g.mul(beta, s.gradient));
    bool nesterov = s.n.text("mode", "standard") == "nesterov";
    Value by = nesterov ? g.add(s.gradient, s.times(moment, alpha)) : moment;
    s.result(0, g.sub(s.x, g.mul(s.rate, by)));
    s.result(1, moment);
  });
}

} // namespace lathe::onnx
