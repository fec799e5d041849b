//===- TensorScatter.cpp - Writing a run of rows into a cache --------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;

namespace lathe::onnx {

/// Along the axis, rows [w, w + s) of each batch come from the update, all others stay: read from either side, which needs no
/// write at computed places.
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
  if (n.simplify(given[axis]).isZero())
    return n.out(cache);
  Type i64 = n.g.b.getI64Type();
  Dims plane{dims[0], dims[axis]};
  auto whole = [&](const Expr &e) { return n.g.broadcastTo(n.g.size(n.simplify(e)), plane); };
  Value row = n.g.iota(plane, 1, i64), source = row;
  if (n.has(2)) {
    n.requireInteger(n.in(2));
    n.requireRank(n.in(2), 1);
    n.requireEqual(n.dim(n.in(2), 0), dims[0], "one write index per batch");
    source = n.g.sub(row, n.g.broadcastTo(n.reshape(n.g.cast(n.in(2), i64), {dims[0], Expr(1)}), plane));
  }
  if (mode == "circular")
    source = n.g.binary<ir::ModOp>(source, whole(dims[axis]));
  Value hit = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::GE, source, n.g.splatLike(0, source)),
                                    n.g.compare(CompareKind::LT, source, whole(given[axis])));
  Value safe = n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(source, 0), whole(given[axis] - Expr(1)));
  // Rows move next to the batch for the gather, and back.
  llvm::SmallVector<int64_t> there{0, axis}, back(n.rank(cache));
  for (int64_t d = 1; d < n.rank(cache); ++d)
    if (d != axis)
      there.push_back(d);
  for (auto [i, d] : llvm::enumerate(there))
    back[d] = i;
  Value rows = n.g.transpose(update, there), at = n.g.unsqueeze(safe, {2});
  Dims result = n.dims(n.g.transpose(cache, there));
  Value moved = n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(result, n.element(cache)), rows, at, 1);
  Dims mask(n.rank(cache), Expr(1));
  mask[0] = dims[0];
  mask[axis] = dims[axis];
  n.out(n.g.select(n.g.broadcastTo(n.reshape(hit, mask), dims), n.g.transpose(moved, back), cache));
}

} // namespace lathe::onnx
