//===- FlexAttention.cpp - Attention with subgraphs for its scores ---------===//

#include "GraphImporter.h"
#include "Node.h"
#include <cmath>

using namespace lathe;

namespace lathe::onnx {

/// What the subgraph makes of the scores or the probabilities; the value itself where there is none.
static Value modified(Node &n, llvm::StringRef attribute, Value v) {
  const GraphProto *graph = n.graph(attribute);
  if (!graph)
    return v;
  std::vector<Value> results = n.importer.inlineSubgraph(*graph, {v});
  if (results.size() != 1)
    failWrong("the subgraph '{0}' has {1} results, expected 1", attribute, results.size());
  Dims dims = n.dims(v);
  n.requireRank(results[0], dims.size());
  n.requireSameElement({v, results[0]});
  for (size_t d = 0; d < dims.size(); ++d)
    n.requireEqual(n.dims(results[0])[d], dims[d], "a dimension of the subgraph's result");
  return n.reshape(results[0], dims);
}

/// The heads of x, each repeated for the query heads that share it.
static Value shared(Node &n, Value x, const Expr &heads) {
  Dims d = n.dims(x);
  if (n.g.facts.provablyEqual(d[1], heads))
    return x;
  Expr group = n.exactQuotient(heads, d[1], "the number of query heads");
  return n.reshape(n.g.broadcastTo(n.g.unsqueeze(x, {2}), {d[0], d[1], group, d[2], d[3]}), {d[0], heads, d[2], d[3]});
}

void flexAttention(Node &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  for (Value x : {q, k, v}) {
    n.requireRank(x, 4);
    n.requireFloat(x);
  }
  n.requireSameElement({q, k});
  Dims dq = n.dims(q), dk = n.dims(k), dv = n.dims(v);
  n.requireEqual(dq[0], dk[0], "the batch of queries and keys");
  n.requireEqual(dk[0], dv[0], "the batch of keys and values");
  n.requireEqual(dk[1], dv[1], "the heads of keys and values");
  n.requireEqual(dk[2], dv[2], "the numbers of keys and values");
  n.requireEqual(dq[3], dk[3], "the sizes of query and key heads");
  std::optional<int64_t> size = n.simplify(dq[3]).constant();
  if (!size && !n.hasAttribute("scale"))
    failUnsupported("the size of a head is {0}; without attribute 'scale' it must be constant", dq[3].str());
  double scale = n.hasAttribute("scale") ? n.real("scale", 1) : 1 / std::sqrt(double(std::max<int64_t>(1, *size)));
  Type precision = n.element(n.wide(q));
  if (int64_t asked = n.integer("softmax_precision", 0))
    precision = n.elementOfOnnx(asked);
  Value scores = n.g.contract(n.wide(q), n.wide(shared(n, k, dq[1])), {0, 1}, {0, 1}, {3}, {3});
  scores = n.g.cast(n.g.binary<ir::MulOp>(scores, scale), precision);
  Value p = modified(n, "prob_mod", n.g.softmax(modified(n, "score_mod", scores), 3));
  Value y = n.g.contract(p, n.g.cast(shared(n, v, dq[1]), n.element(p)), {0, 1}, {0, 1}, {3}, {2});
  n.out(n.g.cast(y, n.element(v)));
}

} // namespace lathe::onnx
