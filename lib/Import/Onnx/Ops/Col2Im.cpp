//===- Col2Im.cpp - An image from its sliding blocks -----------------------===//
//
// Every element of the image sums what the blocks that cover it hold for it: one element per place of a block, where the block
// lies on the grid of the strides.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

void col2Im(Node &n) {
  Value x = n.in(0);
  if (n.isBool(x))
    failUnsupported("sums of {0}", describe(x.getType()));
  n.requireNumber(x);
  n.requireRank(x, 3);
  Dims image = n.sizes(1), block = n.sizes(2);
  int64_t count = image.size();
  if (int64_t(block.size()) != count || count < 1)
    failWrong("an image of {0} and blocks of {1} dimensions", count, block.size());
  auto attribute = [&](const char *name, int64_t entries, int64_t otherwise, int64_t least) {
    SmallVector<int64_t> v = n.integers(name);
    if (v.empty())
      v.assign(entries, otherwise);
    if (int64_t(v.size()) != entries || llvm::any_of(v, [&](int64_t e) { return e < least; }))
      failWrong("attribute '{0}' expects {1} entries, {2} or more each", name, entries, least);
    return v;
  };
  SmallVector<int64_t> strides = attribute("strides", count, 1, 1), dilations = attribute("dilations", count, 1, 1),
                       pads = attribute("pads", 2 * count, 0, 0);
  Dims dims = n.dims(x), all = image; // the image, then the places of a block
  all.append(block.begin(), block.end());
  Expr places = n.simplify(shape::product(block)), channels = n.exactQuotient(dims[1], places, "the elements of a block"), blocks(1);
  Type i64 = n.g.b.getI64Type();
  auto number = [&](const Expr &e) { return n.g.broadcastTo(n.g.size(n.simplify(e)), all); };
  Value place = n.g.splat(0, all, i64), column = place, covered = n.g.splat(1, all, n.g.b.getI1Type());
  for (int64_t d = 0; d < count; ++d) {
    Expr reach = (block[d] - Expr(1)) * Expr(dilations[d]) + Expr(1);
    Expr along = n.simplify(Expr::floordiv(n.simplify(image[d] + Expr(pads[d] + pads[count + d]) - reach), Expr(strides[d])) + Expr(1));
    blocks = blocks * along;
    Value k = n.g.iota(all, count + d, i64);
    Value from = n.g.sub(n.g.add(n.g.iota(all, d, i64), number(Expr(pads[d]))), n.g.mul(k, number(Expr(dilations[d]))));
    Value at = n.g.binary<ir::FloorDivOp>(from, number(Expr(strides[d])));
    Value exact = n.g.compare(CompareKind::EQ, n.g.mul(at, number(Expr(strides[d]))), from);
    Value inside = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::GE, at, n.g.splatLike(0, at)),
                                         n.g.compare(CompareKind::LT, at, number(along)));
    covered = n.g.binary<ir::AndOp>(covered, n.g.binary<ir::AndOp>(exact, inside));
    place = n.g.add(n.g.mul(place, number(block[d])), k);
    column = n.g.add(n.g.mul(column, number(along)), at);
  }
  n.requireEqual(dims[2], n.simplify(blocks), "the number of blocks");
  // Batch and channels go last, so that one index vector takes all of them.
  Value table = n.g.transpose(n.reshape(x, {dims[0], channels, places, dims[2]}), {2, 3, 0, 1});
  Value index = n.g.concat({n.g.unsqueeze(place, {2 * count}), n.g.unsqueeze(column, {2 * count})}, 2 * count);
  Dims wide = all;
  wide.append({dims[0], channels});
  Value v = n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(wide, n.element(x)), table, index, 0);
  v = n.g.select(n.g.broadcastTo(n.g.unsqueeze(covered, {2 * count, 2 * count + 1}), wide), v, n.g.splatLike(0, v));
  SmallVector<int64_t> summed, perm{count, count + 1};
  for (int64_t d = 0; d < count; ++d) {
    summed.push_back(count + d);
    perm.push_back(d);
  }
  n.out(n.g.transpose(n.g.reduce(ReduceKind::Sum, v, summed, false), perm));
}

} // namespace lathe::onnx
