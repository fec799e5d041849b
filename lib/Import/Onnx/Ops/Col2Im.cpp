//===- Col2Im.cpp - An image from its sliding blocks -----------------------===//

#include "Node.h"
#include "lathe/Dialect/Lathe/Windows.h"

using namespace lathe;
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
  Dims dims = n.dims(x), all{dims[0]}; // all: batch, channels, the places of a block, the blocks
  Expr channels = n.exactQuotient(dims[1], n.simplify(shape::product(block)), "the elements of a block"), blocks(1);
  all.push_back(channels);
  all.append(block.begin(), block.end());
  for (int64_t d = 0; d < count; ++d) {
    Expr reach = (block[d] - Expr(1)) * Expr(dilations[d]) + Expr(1);
    all.push_back(n.simplify(
        Expr::floordiv(n.simplify(image[d] + Expr(pads[d] + pads[count + d]) - reach), Expr(strides[d])) + Expr(1)));
    blocks = blocks * all.back();
  }
  n.requireEqual(dims[2], n.simplify(blocks), "the number of blocks");
  SmallVector<int64_t> low(pads.begin(), pads.begin() + count);
  Value wide = n.wide(n.reshape(x, all));
  n.out(n.g.cast(ir::sumBlocks(n.g, wide, image, strides, dilations, low), n.element(x)));
}

} // namespace lathe::onnx
