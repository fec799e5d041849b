//===- TransposedConv.cpp - Transposed convolutions ------------------------===//
//
// With o + low = stride * m + r, element o of the result reads elements m - j of the operand with places r + stride * j of the
// kernel. So all remainders r slide over the operand in one way, j, and differ in their filters alone: they are channels of one
// convolution over the places m, which the result has as [m][r]. Zeros in front of the kernel make `low` a multiple of the stride where the
// convolution's window gets no longer by them: then nothing is cut off in front of the result.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/TransposedConv.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

namespace {
/// One dimension of the convolution.
struct Grid {
  int64_t front, taps, dilation; ///< front: zeros before the kernel's places
  Expr low, high; ///< pads
  Expr places;    ///< m, counted from the first that the result has a part of
  Expr first;     ///< of the result, among [m][r]
};
} // namespace

static Grid gridOf(const TransposedDim &d, const Expr &size, const shape::Facts &facts) {
  if (d.stride == 1) {
    Expr reach(d.dilation * (d.kernel - 1));
    Expr low = facts.simplify(reach - d.low);
    return {0, d.kernel, d.dilation, low, facts.simplify(d.out + reach - size - low), d.out, Expr(0)};
  }
  int64_t reach = (d.kernel - 1) * d.dilation + 1, taps = (reach + d.stride - 1) / d.stride;
  std::optional<int64_t> known = d.low.constant();
  int64_t over = known && *known >= 0 ? *known % d.stride : 0, front = over && reach + d.stride - over <= taps * d.stride ? d.stride - over : 0;
  Expr low = d.low + Expr(front);
  int64_t skipped = known ? std::max<int64_t>(*known + front, 0) / d.stride : 0; // before the first place
  Expr end = facts.simplify(Expr::ceildiv(low + d.out, Expr(d.stride)));
  return {front,
          taps,
          1,
          Expr(taps - 1 - skipped),
          facts.simplify(end - size),
          facts.simplify(end - Expr(skipped)),
          facts.simplify(low - Expr(skipped * d.stride))};
}

/// Zeros in front of a dimension and behind it.
static Value pad(GraphBuilder &g, Value x, int64_t axis, int64_t front, int64_t behind) {
  if (!front && !behind)
    return x;
  Dims dims = dimsOf(x), low(dims.size(), Expr(0)), high = low;
  low[axis] = Expr(front);
  high[axis] = Expr(behind);
  dims[axis] = g.facts.simplify(dims[axis] + Expr(front + behind));
  return g.b.create<PadOp>(g.loc, tensorType(dims, elementOf(x)), x, g.scalar(0, elementOf(x)), exprArray(g.b, low),
                           exprArray(g.b, high));
}

/// The places r + stride * j of the kernel, behind the zeros in front of it, as [j][r], with j running backwards.
static Value splitTaps(GraphBuilder &g, Value w, int64_t axis, const TransposedDim &d, const Grid &grid) {
  auto split = [&](int64_t outer, int64_t inner) {
    Dims dims = dimsOf(w);
    dims[axis] = Expr(outer);
    dims.insert(dims.begin() + axis + 1, Expr(inner));
    w = g.reshape(w, dims);
  };
  int64_t places = d.kernel;
  if (d.stride > 1 && d.dilation > 1) { // places that add nothing, between those that do
    split(d.kernel, 1);
    w = pad(g, w, axis + 1, 0, d.dilation - 1);
    places = d.kernel * d.dilation;
    Dims dims = dimsOf(w);
    dims[axis] = Expr(places);
    dims.erase(dims.begin() + axis + 1);
    w = g.reshape(w, dims);
    w = g.slice(w, axis, Expr(0), Expr(places - d.dilation + 1));
    places -= d.dilation - 1;
  }
  w = pad(g, w, axis, grid.front, grid.taps * d.stride - grid.front - places);
  split(grid.taps, d.stride);
  return grid.taps == 1 ? w : g.slice(w, axis, Expr(grid.taps - 1), Expr(grid.taps), -1);
}

Value ir::transposedConv(GraphBuilder &g, Value x, Value w, Value bias, int64_t groups, ArrayRef<TransposedDim> dims) {
  const shape::Facts &facts = g.facts;
  Dims dx = dimsOf(x), dw = dimsOf(w);
  size_t count = dims.size();
  Expr inChannels = facts.simplify(Expr::floordiv(dw[0], Expr(groups))), outChannels = dw[1];
  SmallVector<Grid> grids;
  int64_t remainders = 1;
  for (size_t d = 0; d < count; ++d) {
    grids.push_back(gridOf(dims[d], dx[d + 2], facts));
    w = splitTaps(g, w, 2 + 2 * d, dims[d], grids[d]);
    remainders *= dims[d].stride;
  }
  // [C, O, (j, r)..] to [groups, r.., O, C, j..]
  Dims split{Expr(groups), inChannels, outChannels}, taps;
  SmallVector<int64_t> perm{0};
  for (size_t d = 0; d < count; ++d) {
    split.append({Expr(grids[d].taps), Expr(dims[d].stride)});
    taps.push_back(Expr(grids[d].taps));
    perm.push_back(4 + 2 * d);
  }
  perm.append({2, 1});
  for (size_t d = 0; d < count; ++d)
    perm.push_back(3 + 2 * d);
  Expr channels = facts.simplify(Expr(groups * remainders) * outChannels);
  Dims filter{channels, inChannels};
  filter.append(taps);
  w = g.reshape(g.transpose(g.reshape(w, split), perm), filter);

  Dims pads, result{dx[0], channels};
  SmallVector<int64_t> ones(count, 1), dilations;
  for (const Grid &grid : grids) {
    pads.push_back(grid.low);
    result.push_back(grid.places);
    dilations.push_back(grid.dilation);
  }
  for (const Grid &grid : grids)
    pads.push_back(grid.high);
  Value y = g.b.create<ConvOp>(g.loc, tensorType(result, elementOf(x)), x, w, ones, dilations, exprArray(g.b, pads), groups);
  if (bias) { // of each remainder
    Dims one{Expr(groups), Expr(1), outChannels}, each{Expr(groups), Expr(remainders), outChannels}, along(count + 2, Expr(1));
    along[1] = channels;
    bias = g.reshape(g.broadcastTo(g.reshape(bias, one), each), along);
    y = g.add(y, g.broadcastTo(bias, result));
  }
  if (remainders == 1)
    return y;
  // [N, groups, r.., O, m..] to [N, groups, O, (m, r)..], without a dimension for a single group.
  Dims apart{dx[0]}, joined{dx[0], facts.simplify(Expr(groups) * outChannels)};
  SmallVector<int64_t> order{0};
  if (groups > 1) {
    apart.push_back(Expr(groups));
    order.push_back(1);
  }
  int64_t r = apart.size(), m = r + count + 1;
  for (const TransposedDim &d : dims)
    apart.push_back(Expr(d.stride));
  apart.push_back(outChannels);
  order.push_back(r + count);
  for (size_t d = 0; d < count; ++d) {
    apart.push_back(grids[d].places);
    order.append({m + int64_t(d), r + int64_t(d)});
    joined.push_back(facts.simplify(grids[d].places * Expr(dims[d].stride)));
  }
  y = g.reshape(g.transpose(g.reshape(y, apart), order), joined);
  for (size_t d = 0; d < count; ++d)
    y = g.slice(y, d + 2, grids[d].first, dims[d].out);
  return y;
}
