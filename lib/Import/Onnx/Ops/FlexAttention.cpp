//===- FlexAttention.cpp - Attention with subgraphs for its scores ---------===//

#include "GraphImporter.h"
#include "Heads.h"

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

void flexAttention(Node &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  for (Value x : {q, k, v}) {
    n.requireRank(x, 4);
    n.requireFloat(x);
  }
  n.requireSameElement({q, k});
  requireMatchingHeads(n, q, k, v);
  Expr heads = n.dim(q, 1);
  Type precision = n.element(n.wide(q));
  if (int64_t asked = n.integer("softmax_precision", 0))
    precision = n.elementOfOnnx(asked);
  Value scores = n.g.contract(n.wide(q), n.wide(repeatHeads(n, k, heads)), {0, 1}, {0, 1}, {3}, {3});
  scores = n.g.cast(scaled(n, scores, n.dim(q, 3)), precision);
  Value p = modified(n, "prob_mod", n.g.softmax(modified(n, "score_mod", scores), 3));
  Value y = n.g.contract(p, n.g.cast(repeatHeads(n, v, heads), n.element(p)), {0, 1}, {0, 1}, {3}, {2});
  n.out(n.g.cast(y, n.element(v)));
}

} // namespace lathe::onnx
