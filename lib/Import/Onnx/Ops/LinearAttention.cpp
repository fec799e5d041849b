//===- LinearAttention.cpp - Attention with a state that it carries on -----===//
//
// The state is a matrix per head that every position updates. A sequence of a few positions is written out step by step, any other is a loop. Query
// heads that share a state are rows of one product.
//
//===----------------------------------------------------------------------===//

#include "Heads.h"
#include "Loops.h"
#include "Node.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

class LinearAttention {
public:
  explicit LinearAttention(Node &n) : n(n) {}
  void build();

private:
  void readOperands();
  Value heads(Value x, const Expr &last, std::initializer_list<Expr> split);
  Value gate(unsigned input, bool wanted, const char *what);
  bool isFirstOf(Value gate, const Expr &first, const Expr &second, const char *what);
  Value at(Value x, const Expr &step) { return n.g.squeeze(n.g.slice(x, 1, step, Expr(1)), {1}); }
  Value spread(Value v, int64_t axis, const Dims &dims) { return n.g.broadcastTo(n.g.unsqueeze(v, {axis}), dims); }
  Value step(const Expr &t);
  Value writeOut(int64_t count);
  Value loop();

  Node &n;
  bool gates = false, corrects = false;
  int64_t queryHeads = 0, stateHeads = 0;
  Expr batch, steps, keySize, valueSize;
  Value q, k, v, decay, beta, state;
  Dims stateDims;
};

/// [batch, steps, last] with the last dimension split, in f32.
Value LinearAttention::heads(Value x, const Expr &last, std::initializer_list<Expr> split) {
  n.requireFloat(x);
  n.requireRank(x, 3);
  Dims d = n.dims(x), out{batch, steps};
  n.requireEqual(d[0], batch, "the batch of the operands");
  n.requireEqual(d[1], steps, "the positions of the operands");
  n.requireEqual(d[2], last, "the heads of an operand");
  out.append(split.begin(), split.end());
  return n.reshape(n.g.cast(x, n.g.b.getF32Type()), out);
}

/// Whether a gate's last dimension has one of two sizes, rather than the other. A symbol says neither.
bool LinearAttention::isFirstOf(Value gate, const Expr &first, const Expr &second, const char *what) {
  n.requireRank(gate, 3);
  Expr last = n.simplify(n.dim(gate, 2));
  if (n.g.facts.provablyEqual(last, first))
    return true;
  if (!last.constant() && !n.g.facts.provablyEqual(last, n.simplify(second)))
    failUnsupported("{0} of the symbolic size {1}, which may be {2} or {3}; fix it with --dim", what, last.str(), first.str(), second.str());
  return false;
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
  steps = n.simplify(dq[1]);
  keySize = n.exactQuotient(dq[2], Expr(queryHeads), "the query heads");
  valueSize = n.exactQuotient(dv[2], Expr(stateHeads), "the value heads");
  Expr all(stateHeads);
  q = heads(n.in(0), dq[2], {all, Expr(queryHeads / stateHeads), keySize});
  k = heads(n.in(1), n.simplify(all * keySize), {all, keySize});
  v = heads(n.in(2), dv[2], {all, valueSize});
  stateDims = {batch, all, keySize, valueSize};
  if (Value d = gate(4, gates, "decay")) {
    bool perHead = isFirstOf(d, all, all * keySize, "operand 'decay'");
    d = perHead ? heads(d, all, {all, Expr(1)}) : heads(d, n.simplify(all * keySize), {all, keySize});
    decay = n.g.unary<ir::ExpOp>(n.g.broadcastTo(d, {batch, steps, all, keySize}));
  }
  if (Value b = gate(5, corrects, "beta")) {
    bool shared = isFirstOf(b, Expr(1), all, "operand 'beta'");
    b = shared ? heads(b, Expr(1), {Expr(1), Expr(1)}) : heads(b, all, {all, Expr(1)});
    beta = n.g.broadcastTo(b, {batch, steps, all, valueSize});
  }
  Type f32 = n.g.b.getF32Type();
  state = n.has(3) ? n.g.cast(n.broadcastTo(n.in(3), stateDims), f32) : n.g.splat(0, stateDims, f32);
}

/// What the queries of a position read, [batch, heads of the state, queries, value size].
Value LinearAttention::step(const Expr &t) {
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

/// What all positions read, [batch, steps, heads of the state, queries, value size].
Value LinearAttention::writeOut(int64_t count) {
  SmallVector<Value> rows;
  for (int64_t t = 0; t < count; ++t)
    rows.push_back(n.g.unsqueeze(step(Expr(t)), {1}));
  return n.g.concat(rows, 1);
}

Value LinearAttention::loop() {
  ir::CountedLoop loop;
  loop.steps = steps;
  loop.carried = {state};
  SmallVector<Value *> used = {&q, &k, &v};
  for (Value *gate : {&decay, &beta})
    if (*gate)
      used.push_back(gate);
  for (Value *x : used)
    loop.captured.push_back(*x);
  loop.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value> captured, const Expr &t) {
    for (auto [x, inside] : llvm::zip_equal(used, captured))
      *x = inside;
    state = carried[0];
    Value row = step(t);
    return SmallVector<Value>{state, row};
  };
  SmallVector<Value> results = buildLoop(n, loop);
  state = results[0];
  return n.g.transpose(results[1], {1, 0, 2, 3, 4});
}

void LinearAttention::build() {
  readOperands();
  std::optional<int64_t> count = steps.constant();
  bool isShort = count && *count > 0 && *count <= n.importer.session().sizes.importOptions().unrolledSteps;
  Value y = scaled(n, isShort ? writeOut(*count) : loop(), keySize, /*zeroIsUnset=*/true);
  Type type = n.element(n.in(0));
  n.out(0, n.g.cast(n.reshape(y, {batch, steps, n.simplify(Expr(queryHeads) * valueSize)}), type));
  n.out(1, n.g.cast(state, n.has(3) ? n.element(n.in(3)) : type));
}

} // namespace

void linearAttention(Node &n) { LinearAttention(n).build(); }

} // namespace lathe::onnx
