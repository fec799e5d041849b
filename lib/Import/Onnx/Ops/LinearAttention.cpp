//===- LinearAttention.cpp - Attention with a state that it carries on -----===//
//
// The state is a matrix per head that every position updates. A sequence of fixed length is written out step by step. Query
// heads that share a state are rows of one product.
//
//===----------------------------------------------------------------------===//

#include "Node.h"
#include <cmath>

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

/// Longer sequences would make graphs that nobody wants to compile.
static constexpr int64_t kMaxSteps = 256;

namespace {

class LinearAttention {
public:
  explicit LinearAttention(Node &n) : n(n) {}
  void build();

private:
  void readOperands();
  Value heads(Value x, const Expr &last, std::initializer_list<Expr> split);
  Value gate(unsigned input, bool wanted, const char *what);
  Value at(Value x, int64_t step) { return n.g.squeeze(n.g.slice(x, 1, Expr(step), Expr(1)), {1}); }
  Value spread(Value v, int64_t axis, const Dims &dims) { return n.g.broadcastTo(n.g.unsqueeze(v, {axis}), dims); }
  Value step(int64_t t);

  Node &n;
  bool gates = false, corrects = false;
  int64_t queryHeads = 0, stateHeads = 0, steps = 0;
  Expr batch, keySize, valueSize;
  Value q, k, v, decay, beta, state;
  Dims stateDims;
};

/// [batch, steps, last] with the last dimension split, in f32.
Value LinearAttention::heads(Value x, const Expr &last, std::initializer_list<Expr> split) {
  n.requireFloat(x);
  n.requireRank(x, 3);
  Dims d = n.dims(x), out{batch, Expr(steps)};
  n.requireEqual(d[0], batch, "the batch of the operands");
  n.requireEqual(d[1], Expr(steps), "the positions of the operands");
  n.requireEqual(d[2], last, "the heads of an operand");
  out.append(split.begin(), split.end());
  return n.reshape(n.g.cast(x, n.g.b.getF32Type()), out);
}

Value LinearAttention::gate(unsigned input, bool wanted, const char *what) {
  if (n.has(input) != wanted)
    failWrong("the update rule {0} operand '{1}'", wanted ? "needs" : "takes no", what);
  return n.maybe(input);
}

void LinearAttention::readOperands() {
  std::string rule = n.text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    failWrong("attribute 'update_rule' is '{0}', expected linear, gated, delta or gated_delta", rule);
  gates = rule == "gated" || rule == "gated_delta";
  corrects = rule == "delta" || rule == "gated_delta";
  queryHeads = n.requiredInteger("q_num_heads");
  stateHeads = n.requiredInteger("kv_num_heads");
  if (stateHeads < 1 || queryHeads < 1 || queryHeads % stateHeads)
    failWrong("{0} query heads over {1} key heads", queryHeads, stateHeads);
  for (unsigned i : {0, 1, 2})
    n.requireRank(n.in(i), 3);
  Dims dq = n.dims(n.in(0)), dv = n.dims(n.in(2));
  batch = n.simplify(dq[0]);
  std::optional<int64_t> length = n.simplify(dq[1]).constant();
  if (!length)
    failUnsupported("a sequence of the symbolic length {0}; fix it with --dim", dq[1].str());
  if (*length > kMaxSteps || *length < 1)
    failUnsupported("a sequence of {0} steps, expected 1 to {1}", *length, kMaxSteps);
  steps = *length;
  keySize = n.exactQuotient(dq[2], Expr(queryHeads), "the query heads");
  valueSize = n.exactQuotient(dv[2], Expr(stateHeads), "the value heads");
  Expr all(stateHeads);
  q = heads(n.in(0), dq[2], {all, Expr(queryHeads / stateHeads), keySize});
  k = heads(n.in(1), n.simplify(all * keySize), {all, keySize});
  v = heads(n.in(2), dv[2], {all, valueSize});
  stateDims = {batch, all, keySize, valueSize};
  if (Value d = gate(4, gates, "decay")) {
    bool perHead = n.rank(d) == 3 && n.g.facts.provablyEqual(n.dim(d, 2), all);
    d = perHead ? heads(d, all, {all, Expr(1)}) : heads(d, n.simplify(all * keySize), {all, keySize});
    decay = n.g.unary<ir::ExpOp>(n.g.broadcastTo(d, {batch, Expr(steps), all, keySize}));
  }
  if (Value b = gate(5, corrects, "beta")) {
    bool shared = n.rank(b) == 3 && n.simplify(n.dim(b, 2)).isOne();
    b = shared ? heads(b, Expr(1), {Expr(1), Expr(1)}) : heads(b, all, {all, Expr(1)});
    beta = n.g.broadcastTo(b, {batch, Expr(steps), all, valueSize});
  }
  Type f32 = n.g.b.getF32Type();
  state = n.has(3) ? n.g.cast(n.broadcastTo(n.in(3), stateDims), f32) : n.g.splat(0, stateDims, f32);
}

/// What the queries of a position read, [batch, heads of the state, queries, value size].
Value LinearAttention::step(int64_t t) {
  Value key = at(k, t), value = at(v, t);
  if (gates)
    state = n.g.mul(state, spread(at(decay, t), 3, stateDims));
  if (corrects) {
    Value known = n.g.contract(state, key, {0, 1}, {0, 1}, {2}, {2});
    value = n.g.mul(at(beta, t), n.g.sub(value, known));
  }
  state = n.g.add(state, n.g.mul(spread(key, 3, stateDims), spread(value, 2, stateDims)));
  return n.g.contract(at(q, t), state, {0, 1}, {0, 1}, {3}, {2});
}

void LinearAttention::build() {
  readOperands();
  double scale = n.real("scale", 0);
  std::optional<int64_t> size = keySize.constant();
  if (scale == 0 && !size)
    failUnsupported("the size of a head is {0}; without attribute 'scale' it must be constant", keySize.str());
  scale = scale == 0 ? 1 / std::sqrt(double(std::max<int64_t>(1, *size))) : scale;
  SmallVector<Value> rows;
  for (int64_t t = 0; t < steps; ++t)
    rows.push_back(n.g.unsqueeze(step(t), {1}));
  Value y = n.g.binary<ir::MulOp>(n.g.concat(rows, 1), scale);
  Type type = n.element(n.in(0));
  n.out(0, n.g.cast(n.reshape(y, {batch, Expr(steps), n.simplify(Expr(queryHeads) * valueSize)}), type));
  n.out(1, n.g.cast(state, n.has(3) ? n.element(n.in(3)) : type));
}

} // namespace

void linearAttention(Node &n) { LinearAttention(n).build(); }

} // namespace lathe::onnx
