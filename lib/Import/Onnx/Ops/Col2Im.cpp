//===- Col2Im.cpp - An image from its sliding blocks -----------------------===//
//
// Every element of a block is added to the image at its place; what the padding takes has none.
//
//===----------------------------------------------------------------------===//

#include "Node.h"
#include "lathe/Dialect/Lathe/Scatter.h"

using namespace lathe;
using ir::CompareKind;
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
  Dims dims = n.dims(x), all{dims[0]}, result{dims[0]}; // all: batch, channels, the places of a block, the blocks
  Expr channels = n.exactQuotient(dims[1], n.simplify(shape::product(block)), "the elements of a block"), blocks(1);
  all.push_back(channels);
  result.push_back(channels);
  all.append(block.begin(), block.end());
  result.append(image.begin(), image.end());
  for (int64_t d = 0; d < count; ++d) {
    Expr reach = (block[d] - Expr(1)) * Expr(dilations[d]) + Expr(1);
    all.push_back(n.simplify(
        Expr::floordiv(n.simplify(image[d] + Expr(pads[d] + pads[count + d]) - reach), Expr(strides[d])) + Expr(1)));
    blocks = blocks * all.back();
  }
  n.requireEqual(dims[2], n.simplify(blocks), "the number of blocks");
  Type i64 = n.g.b.getI64Type();
  SmallVector<Value> indices;
  SmallVector<int64_t> places{0, 1};
  for (int64_t d = 0; d < count; ++d) {
    Value k = n.g.iota(all, 2 + d, i64), along = n.g.iota(all, 2 + count + d, i64);
    auto times = [&](Value v, int64_t by) { return n.g.binary<ir::MulOp>(v, double(by)); };
    Value at = n.g.binary<ir::AddOp>(n.g.add(times(along, strides[d]), times(k, dilations[d])), double(-pads[d]));
    Value outside =
        n.g.broadcastTo(n.g.size(n.simplify(image[d])), all); // padding in front of the image is not its end
    indices.push_back(n.g.select(n.g.compare(CompareKind::LT, at, n.g.splatLike(0, at)), outside, at));
    places.push_back(-1);
  }
  Value wide = n.wide(n.reshape(x, all)), zeros = n.g.splat(0, result, n.element(wide));
  n.out(n.g.cast(ir::scatter(n.g, ir::ScatterKind::Add, zeros, wide, indices, places), n.element(x)));
}

} // namespace lathe::onnx
