//===- MaxRoiPool.cpp - The largest elements of the bins of regions --------===//
//
// Which rows and columns belong to a bin is one mask per direction. The maximum is separable: first along the columns, then along
// the rows (R. Girshick, "Fast R-CNN", 2015).
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

namespace {

class RoiPooler {
public:
  explicit RoiPooler(Node &n) : n(n) {}
  void build();

private:
  Value column(int64_t which);
  Value corner(int64_t which);
  Value inBin(int64_t start, int64_t bins, const Expr &size);
  Value largest(Value v, Value mask);

  Node &n;
  Type type;
  double scale = 1;
  Expr regions;
  Value rois;
};

/// A number of every region, [regions].
Value RoiPooler::column(int64_t which) { return n.reshape(n.g.slice(rois, 1, Expr(which), Expr(1)), {regions}); }

/// A corner in elements of the map: halves are rounded away from zero.
Value RoiPooler::corner(int64_t which) {
  Value v = n.g.binary<ir::MulOp>(column(which), scale);
  Value size = n.g.unary<ir::FloorOp>(n.g.binary<ir::AddOp>(n.g.unary<ir::AbsOp>(v), 0.5));
  return n.g.select(n.g.compare(CompareKind::LT, v, n.g.splatLike(0, v)), n.g.unary<ir::NegOp>(size), size);
}

/// Whether an element belongs to a bin, [regions, bins, size].
Value RoiPooler::inBin(int64_t start, int64_t bins, const Expr &size) {
  Dims dims{regions, Expr(bins), size};
  auto wide = [&](Value v) { return n.g.broadcastTo(n.reshape(v, {regions, 1, 1}), dims); };
  Value first = corner(start), last = corner(start + 2);
  Value extent = n.g.binary<ir::MaxOp>(n.g.binary<ir::AddOp>(n.g.sub(last, first), 1), 1);
  Value bin = wide(n.g.binary<ir::DivOp>(extent, double(bins))), i = n.g.iota(dims, 1, type), at = n.g.iota(dims, 2, type);
  Value from = n.g.add(n.g.unary<ir::FloorOp>(n.g.mul(i, bin)), wide(first));
  Value to = n.g.add(n.g.unary<ir::CeilOp>(n.g.mul(n.g.binary<ir::AddOp>(i, 1), bin)), wide(first));
  return n.g.binary<ir::AndOp>(n.g.compare(CompareKind::GE, at, from), n.g.compare(CompareKind::LT, at, to));
}

/// [regions, ..., size] and a mask [regions, bins, size]: [regions, ..., bins].
Value RoiPooler::largest(Value v, Value mask) {
  Dims dims = n.dims(v), m = n.dims(mask), one(dims.size() + 1, Expr(1));
  one.front() = regions;
  one[dims.size() - 1] = m[1];
  one.back() = m[2];
  dims.insert(dims.end() - 1, m[1]);
  Value wide = n.g.broadcastTo(n.g.unsqueeze(v, {int64_t(dims.size()) - 2}), dims);
  Value chosen = n.g.select(n.g.broadcastTo(n.reshape(mask, one), dims), wide,
                            n.g.splatLike(-std::numeric_limits<double>::infinity(), wide));
  return n.g.reduce(ReduceKind::Max, chosen, {int64_t(dims.size()) - 1}, false);
}

void RoiPooler::build() {
  Value x = n.in(0);
  rois = n.in(1);
  n.requireFloat(x);
  n.requireRank(x, 4);
  n.requireRank(rois, 2);
  n.requireSameElement({x, rois});
  regions = n.simplify(n.dim(rois, 0));
  n.requireEqual(n.dim(rois, 1), Expr(5), "the image and the corners of a region");
  auto bins = n.integers("pooled_shape");
  if (bins.size() != 2 || bins[0] < 1 || bins[1] < 1 || bins[0] > (1 << 16) || bins[1] > (1 << 16))
    failWrong("attribute 'pooled_shape' has to be two positive numbers, the height and the width");
  scale = n.real("spatial_scale", 1);
  type = n.element(n.wide(x));
  rois = n.reshape(n.g.cast(rois, type), {regions, 5});
  Dims d = n.dims(x);
  Value image = n.g.cast(column(0), n.g.b.getI64Type());
  Value maps = n.g.gather(n.wide(x), image, 0);                                  // [regions, channels, height, width]
  Value rows = largest(maps, inBin(1, bins[1], d[3]));                               // [regions, channels, height, bins]
  Value y = largest(n.g.transpose(rows, {0, 1, 3, 2}), inBin(2, bins[0], d[2]));      // [regions, channels, bins across, bins down]
  y = n.g.transpose(y, {0, 1, 3, 2});
  // A bin outside of the map is empty.
  Value empty = n.g.compare(CompareKind::EQ, y, n.g.splatLike(-std::numeric_limits<double>::infinity(), y));
  n.out(n.g.cast(n.g.select(empty, n.g.splatLike(0, y), y), n.element(x)));
}

} // namespace

void maxRoiPool(Node &n) { RoiPooler(n).build(); }

} // namespace lathe::onnx
