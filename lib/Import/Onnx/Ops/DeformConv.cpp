//===- DeformConv.cpp - Convolution at displaced positions -----------------===//
//
// What each place of the kernel reads is interpolated between the elements around its displaced position; the convolution itself
// is a product with those samples.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

using namespace lathe;
using ir::CompareKind;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

class DeformedConvolution {
public:
  explicit DeformedConvolution(Node &n) : n(n) {}
  void build();

private:
  Value position(int64_t d);
  Value tap(const SmallVector<Value> &at, Value weight);
  Value sampled();
  Value product(Value samples, Value weights, int64_t groups);

  Node &n;
  Windows w;
  int64_t spatial = 0, places = 1, shares = 1;
  Type type;
  Dims input;         ///< [N, C, spatial...]
  Dims grid;          ///< [N, shares, places, out...]
  Value x;            ///< [N, shares, spatial..., channels of a share]
  Value offsets;      ///< [N, shares, places, spatial, out...]
  SmallVector<Value> positions;
};

/// Where every place of the kernel reads along a dimension, over the grid.
Value DeformedConvolution::position(int64_t d) {
  Type i64 = n.g.b.getI64Type();
  int64_t inner = 1;
  for (int64_t i = d + 1; i < spatial; ++i)
    inner *= w.kernel[i];
  auto number = [&](const Expr &e) { return n.g.broadcastTo(n.g.size(n.simplify(e)), grid); };
  Value place = n.g.binary<ir::DivOp>(n.g.iota(grid, 2, i64), double(inner));
  place = n.g.binary<ir::RemOp>(place, double(w.kernel[d]));
  Value base = n.g.add(n.g.mul(n.g.iota(grid, 3 + d, i64), number(Expr(w.strides[d]))), n.g.mul(place, number(Expr(w.dilations[d]))));
  base = n.g.sub(base, number(w.low[d]));
  Value offset = n.reshape(n.g.slice(offsets, 3, Expr(d), Expr(1)), grid);
  return n.g.add(n.g.cast(base, type), offset);
}

/// The elements at whole positions times the weight; zero outside of the operand.
Value DeformedConvolution::tap(const SmallVector<Value> &at, Value weight) {
  SmallVector<Value> coordinates;
  for (auto [d, p] : llvm::enumerate(at)) {
    Value last = n.g.binary<ir::SubOp>(n.g.broadcastTo(n.g.cast(n.g.size(n.simplify(input[d + 2])), type), grid), 1);
    Value zero = n.g.splatLike(0, p);
    Value in = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::GE, p, zero), n.g.compare(CompareKind::LE, p, last));
    weight = n.g.select(in, weight, zero);
    Value clamped = n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(p, zero), last);
    coordinates.push_back(n.g.unsqueeze(n.g.cast(clamped, n.g.b.getI64Type()), {spatial + 3}));
  }
  Dims dims = grid;
  dims.push_back(n.dims(x).back());
  Value index = n.g.concat(coordinates, spatial + 3);
  Value v = n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(dims, type), x, index, 2);
  return n.g.mul(v, n.g.broadcastTo(n.g.unsqueeze(weight, {spatial + 3}), dims));
}

/// [N, shares, places, out..., channels of a share]
Value DeformedConvolution::sampled() {
  SmallVector<Value> base, fraction;
  for (int64_t d = 0; d < spatial; ++d) {
    Value p = position(d);
    base.push_back(n.g.unary<ir::FloorOp>(p));
    fraction.push_back(n.g.sub(p, base.back()));
  }
  Value sum;
  for (int64_t corner = 0; corner < (1 << spatial); ++corner) {
    SmallVector<Value> at;
    Value weight = n.g.splat(1, grid, type);
    for (int64_t d = 0; d < spatial; ++d) {
      bool upper = corner >> d & 1;
      at.push_back(upper ? n.g.binary<ir::AddOp>(base[d], 1) : base[d]);
      weight = n.g.mul(weight, upper ? fraction[d] : n.g.sub(n.g.splatLike(1, fraction[d]), fraction[d]));
    }
    Value part = tap(at, weight);
    sum = sum ? n.g.add(sum, part) : part;
  }
  return sum;
}

/// Channels and places times the weights, per group.
Value DeformedConvolution::product(Value samples, Value weights, int64_t groups) {
  SmallVector<int64_t> perm{0, 1, spatial + 3, 2};
  for (int64_t d = 0; d < spatial; ++d)
    perm.push_back(3 + d);
  Dims dw = n.dims(weights);
  Expr positions = n.simplify(shape::product(w.out)), perGroup = dw[1], results = n.exactQuotient(dw[0], Expr(groups), "the result channels");
  Value s = n.reshape(n.g.transpose(samples, perm), {input[0], Expr(groups), perGroup, Expr(places), positions});
  Value k = n.reshape(n.g.cast(weights, type), {Expr(groups), results, perGroup, Expr(places)});
  Value y = n.g.contract(k, s, {0}, {1}, {2, 3}, {2, 3}); // [groups, results, N, positions]
  Dims out{input[0], dw[0]};
  out.append(w.out.begin(), w.out.end());
  return n.reshape(n.g.transpose(y, {2, 0, 1, 3}), out);
}

void DeformedConvolution::build() {
  Value operand = n.in(0), weights = n.in(1), offset = n.in(2);
  n.requireFloat(operand);
  n.requireSameElement({operand, weights, offset});
  n.requireRankAtLeast(operand, 3);
  n.requireRank(weights, n.rank(operand));
  n.requireRank(offset, n.rank(operand));
  spatial = n.rank(operand) - 2;
  if (spatial > 3)
    failUnsupported("{0} spatial dimensions", spatial);
  int64_t groups = n.integer("group", 1);
  shares = n.integer("offset_group", 1);
  if (groups < 1 || shares < 1)
    failWrong("{0} groups with {1} groups of offsets", groups, shares);
  input = n.dims(operand);
  n.requireEqual(input[1], n.dim(weights, 1) * Expr(groups), "the channels of the operand and of the weights times the groups");
  w = windowsOf(n, Dims(input.begin() + 2, input.end()), kernelOf(n, weights));
  for (int64_t k : w.kernel)
    places *= k;
  type = n.element(n.wide(operand));
  grid = {input[0], Expr(shares), Expr(places)};
  grid.append(w.out.begin(), w.out.end());
  Dims shape = grid, given = n.dims(offset);
  shape.insert(shape.begin() + 3, Expr(spatial));
  n.requireEqual(given[0], input[0], "the batch of the operand and of the offsets");
  n.requireEqual(given[1], Expr(shares * places * spatial), "the offsets of a position");
  for (int64_t d = 0; d < spatial; ++d)
    n.requireEqual(given[d + 2], w.out[d], "the sizes of the offsets and of the result");
  offsets = n.reshape(n.g.cast(offset, type), shape);
  Dims split{input[0], Expr(shares), n.exactQuotient(input[1], Expr(shares), "the channels")};
  split.append(input.begin() + 2, input.end());
  SmallVector<int64_t> last{0, 1};
  for (int64_t d = 0; d < spatial; ++d)
    last.push_back(3 + d);
  last.push_back(2);
  x = n.g.transpose(n.reshape(n.wide(operand), split), last);
  Value samples = sampled();
  if (n.has(4)) {
    n.requireRank(n.in(4), n.rank(operand));
    Value mask = n.reshape(n.g.cast(n.in(4), type), grid);
    samples = n.g.mul(samples, n.g.broadcastTo(n.g.unsqueeze(mask, {spatial + 3}), n.dims(samples)));
  }
  n.out(addBias(n, n.g.cast(product(samples, weights, groups), n.element(operand)), 3));
}

} // namespace

void deformConv(Node &n) { DeformedConvolution(n).build(); }

} // namespace lathe::onnx
