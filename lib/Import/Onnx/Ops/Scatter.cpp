//===- Scatter.cpp - Writing updates at computed places --------------------===//

#include "lathe/Dialect/Lathe/Scatter.h"
#include "Node.h"

using namespace lathe;
using ir::ScatterKind;
using llvm::SmallVector;

namespace lathe::onnx {

static ScatterKind reductionOf(Node &n, Value data) {
  static const std::map<std::string, ScatterKind> kinds = {{"none", ScatterKind::Set},
                                                           {"add", ScatterKind::Add},
                                                           {"mul", ScatterKind::Mul},
                                                           {"max", ScatterKind::Max},
                                                           {"min", ScatterKind::Min}};
  std::string name = n.text("reduction", "none");
  auto kind = kinds.find(name);
  if (kind == kinds.end())
    failWrong("attribute 'reduction' is '{0}', expected none, add, mul, max or min", name);
  if (kind->second != ScatterKind::Set)
    n.requireNumber(data);
  return kind->second;
}

void scatterElements(Node &n) {
  Value data = n.in(0), indices = n.in(1), updates = n.in(2);
  n.requireSameElement({data, updates});
  n.requireInteger(indices);
  n.requireRankAtLeast(data, 1);
  n.requireRank(indices, n.rank(data));
  n.requireRank(updates, n.rank(data));
  ScatterKind kind = reductionOf(n, data);
  int64_t rank = n.rank(data), axis = n.axis(n.integer("axis", 0), rank);
  Dims given = n.dims(updates);
  for (int64_t d = 0; d < rank; ++d) {
    n.requireEqual(n.dim(indices, d), given[d], "a dimension of indices and updates");
    if (d != axis && n.g.facts.provablyLess(n.dim(data, d), given[d]))
      failWrong("the indices have {0} along axis {1}, the data only {2}", given[d].str(), d, n.dim(data, d).str());
    if (d != axis && !n.g.facts.provablyLessEqual(given[d], n.dim(data, d)))
      n.require(given[d], "le", n.dim(data, d), "the indices do not fit the data");
  }
  n.out(ir::scatterAlong(n.g, kind, data, n.broadcastTo(indices, given), updates, axis));
}

void scatterNd(Node &n) {
  Value data = n.in(0), indices = n.in(1), updates = n.in(2);
  n.requireSameElement({data, updates});
  n.requireInteger(indices);
  n.requireRankAtLeast(data, 1);
  n.requireRankAtLeast(indices, 1);
  ScatterKind kind = reductionOf(n, data);
  Dims dims = n.dims(data), at = n.dims(indices), given = n.dims(updates);
  // Where the file leaves it open how many dimensions are indexed, the updates' rank says it.
  int64_t depth = n.simplify(at.back()).constant().value_or(n.rank(data) + n.rank(indices) - 1 - n.rank(updates));
  if (depth < 1 || depth > n.rank(data))
    failWrong("indices {0} into {1}", describe(indices.getType()), describe(data.getType()));
  n.requireEqual(at.back(), Expr(depth), "the last dimension of the indices");
  Dims expected(at.begin(), at.end() - 1);
  size_t shared = expected.size();
  expected.append(dims.begin() + depth, dims.end());
  n.requireRank(updates, expected.size());
  for (size_t d = 0; d < expected.size(); ++d)
    n.requireEqual(given[d], expected[d], "a dimension of the updates");
  SmallVector<Value> coordinates;
  SmallVector<int64_t> indexed;
  for (int64_t d = 0; d < depth; ++d) {
    Value column = n.g.squeeze(n.g.slice(indices, shared, Expr(d), Expr(1)), {int64_t(shared)});
    coordinates.push_back(n.broadcastTo(column, Dims(given.begin(), given.begin() + shared)));
    indexed.push_back(d);
  }
  n.out(ir::scatterSlices(n.g, kind, data, coordinates, indexed, updates));
}

} // namespace lathe::onnx
