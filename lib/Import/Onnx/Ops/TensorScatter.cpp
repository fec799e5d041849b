//===- TensorScatter.cpp - Writing a run of rows into a cache --------------===//

#include "Node.h"
#include "lathe/Dialect/Lathe/Scatter.h"

using namespace lathe;

namespace lathe::onnx {

/// Along the axis, rows [w, w + s) of each batch come from the update, all others stay.
void tensorScatter(Node &n) {
  Value cache = n.in(0), update = n.in(1);
  n.requireSameElement({cache, update});
  n.requireRankAtLeast(cache, 2);
  n.requireRank(update, n.rank(cache));
  int64_t axis = n.axis(n.integer("axis", -2), n.rank(cache));
  if (axis == 0)
    failWrong("axis 0 is the batch");
  std::string mode = n.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    failWrong("attribute 'mode' is '{0}', expected linear or circular", mode);
  Dims dims = n.dims(cache), given = n.dims(update);
  for (int64_t d = 0; d < n.rank(cache); ++d)
    if (d != axis)
      n.requireEqual(given[d], dims[d], "a dimension of the cache and of the update");
  Type i64 = n.g.b.getI64Type();
  Value row = n.g.iota(given, axis, i64);
  if (n.has(2)) {
    n.requireInteger(n.in(2));
    n.requireRank(n.in(2), 1);
    n.requireEqual(n.dim(n.in(2), 0), dims[0], "one write index per batch");
    Dims first(n.rank(cache), Expr(1));
    first[0] = given[0];
    row = n.g.add(row, n.g.broadcastTo(n.reshape(n.g.cast(n.in(2), i64), first), given));
  }
  if (mode == "circular")
    row = n.g.binary<ir::ModOp>(row, n.g.broadcastTo(n.g.size(n.simplify(dims[axis])), given));
  n.out(ir::scatterAlong(n.g, ir::ScatterKind::Set, cache, row, update, axis));
}

} // namespace lathe::onnx
