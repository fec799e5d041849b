//===- Blocks.cpp - Images and their blocks ---------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/Windows.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
/// Blocks over the two dimensions of an image, and how many there are.
struct Blocks {
  SmallVector<int64_t> kernel, dilation, padding, stride;
  Dims counts;
};
} // namespace

static llvm::Expected<Blocks> blocksOf(OpContext &c, llvm::ArrayRef<Expr> image) {
  Blocks b{c.integers("kernel_size"), c.integers("dilation"), c.integers("padding"), c.integers("stride"), {}};
  for (auto *values : {&b.kernel, &b.dilation, &b.padding, &b.stride}) {
    if (values->size() == 1)
      values->push_back((*values)[0]);
    bool isPadding = values == &b.padding;
    if (values->size() != 2 || llvm::any_of(*values, [&](int64_t v) { return v < (isPadding ? 0 : 1) || v > INT32_MAX; }))
      return c.wrong("blocks need two positive values for each dimension");
  }
  if (image.size() != 2)
    return c.wrong("an image of {0} dimensions", image.size());
  for (size_t d = 0; d < 2; ++d) {
    Expr room = c.g.facts.simplify(image[d] + Expr(2 * b.padding[d]) - Expr(b.dilation[d] * (b.kernel[d] - 1) + 1));
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), room)))
      return std::move(e);
    b.counts.push_back(c.g.facts.simplify(Expr::floordiv(room, Expr(b.stride[d])) + Expr(1)));
  }
  return b;
}

/// [N, C, H, W] or [C, H, W] to [N, C * places of a block, blocks].
static llvm::Error imageToBlocks(OpContext &c) {
  Value x = c.tensor("self");
  bool batched = typeOf(x).getRank() == 4;
  if (typeOf(x).getRank() != 3 && !batched)
    return c.wrong("an image of {0}", x.getType());
  if (!batched)
    x = c.g.unsqueeze(x, {0});
  Dims dims = dimsOf(x), low(4, Expr(0)), padded = dims;
  LATHE_TRY(b, blocksOf(c, {dims[2], dims[3]}));
  for (size_t d = 0; d < 2; ++d) {
    low[2 + d] = Expr(b.padding[d]);
    padded[2 + d] = c.g.facts.simplify(dims[2 + d] + Expr(2 * b.padding[d]));
  }
  Type element = elementOf(x), i64 = c.g.b.getI64Type();
  mlir::OpBuilder &build = c.g.b;
  if (b.padding[0] || b.padding[1])
    x = build.create<PadOp>(c.g.loc, tensorType(padded, element), x, c.g.scalar(0, element), exprArray(build, low), exprArray(build, low));
  for (int64_t d = 1; d >= 0; --d) { // the last one first, so that the places of the others stay
    Dims table{Expr(b.kernel[d]), b.counts[d]};
    Value at = c.g.add(c.g.binary<MulOp>(c.g.iota(table, 0, i64), double(b.dilation[d])),
                       c.g.binary<MulOp>(c.g.iota(table, 1, i64), double(b.stride[d])));
    x = c.g.gather(x, at, 2 + d);
  }
  x = c.g.transpose(x, {0, 1, 2, 4, 3, 5}); // [N, C, kh, oh, kw, ow]
  Dims out{dims[0], c.g.facts.simplify(dims[1] * Expr(b.kernel[0] * b.kernel[1])), c.g.facts.simplify(b.counts[0] * b.counts[1])};
  x = c.g.reshape(x, out);
  return c.give(batched ? x : c.g.squeeze(x, {0}));
}

/// The way back: blocks that overlap are added.
static llvm::Error blocksToImage(OpContext &c) {
  Value x = c.tensor("self");
  Dims image = c.sizes("output_size");
  bool batched = typeOf(x).getRank() == 3;
  if (typeOf(x).getRank() != 2 && !batched)
    return c.wrong("blocks of {0}", x.getType());
  if (!batched)
    x = c.g.unsqueeze(x, {0});
  LATHE_TRY(b, blocksOf(c, image));
  Dims dims = dimsOf(x);
  int64_t places = b.kernel[0] * b.kernel[1];
  auto channels = Expr::divideExactly(dims[1], Expr(places));
  if (!channels)
    return c.wrong("{0} values do not form blocks of {1}", dims[1].str(), places);
  if (llvm::Error e = c.needEqual(dims[2], b.counts[0] * b.counts[1]))
    return e;
  Value r = inFloat(c, x, [&](Value v) {
    v = c.g.reshape(v, {dims[0], *channels, Expr(b.kernel[0]), Expr(b.kernel[1]), b.counts[0], b.counts[1]});
    return sumBlocks(c.g, v, image, b.stride, b.dilation, b.padding);
  });
  return c.give(batched ? r : c.g.squeeze(r, {0}));
}

/// [.., C, H * r, W * r] to [.., C * r^2, H, W].
static llvm::Error pixelUnshuffle(OpContext &c) {
  Value x = c.tensor("self");
  int64_t r = c.integer("downscale_factor"), rank = typeOf(x).getRank();
  if (rank < 3 || r < 1 || r > 1024)
    return c.wrong("an input of rank {0} and a factor of {1}", rank, r);
  Dims from = dimsOf(x), split(from.begin(), from.end() - 2), merged(from.begin(), from.end() - 3);
  Expr blocks[2];
  for (int64_t d = 0; d < 2; ++d) { // an open size is asked in the run
    auto whole = Expr::divideExactly(from[rank - 2 + d], Expr(r));
    blocks[d] = whole ? *whole : c.g.facts.simplify(Expr::floordiv(from[rank - 2 + d], Expr(r)));
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::Equal, Expr::mod(from[rank - 2 + d], Expr(r)), Expr(0))))
      return e;
  }
  split.append({blocks[0], Expr(r), blocks[1], Expr(r)});
  merged.append({c.g.facts.simplify(from[rank - 3] * Expr(r * r)), blocks[0], blocks[1]});
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rank - 2; ++i)
    perm.push_back(i);
  perm.append({rank - 1, rank + 1, rank - 2, rank});
  return c.give(c.g.reshape(c.g.transpose(c.g.reshape(x, split), perm), merged));
}

static llvm::Error channelShuffle(OpContext &c) {
  Value x = c.tensor("self");
  int64_t groups = c.integer("groups");
  if (typeOf(x).getRank() < 2 || groups < 1)
    return c.wrong("{0} groups of {1}", groups, x.getType());
  Dims from = dimsOf(x), split{from[0], Expr(groups)};
  auto each = Expr::divideExactly(from[1], Expr(groups));
  if (!each)
    return c.wrong("{0} channels in {1} groups", from[1].str(), groups);
  split.push_back(*each);
  split.append(from.begin() + 2, from.end());
  SmallVector<int64_t> perm{0, 2, 1};
  for (int64_t d = 3; d < int64_t(split.size()); ++d)
    perm.push_back(d);
  return c.give(c.g.reshape(c.g.transpose(c.g.reshape(x, split), perm), from));
}

llvm::ArrayRef<OpEntry> fx::blockOps() {
  static const OpEntry table[] = {
      {"im2col.default", "self:T kernel_size:I* dilation:I* padding:I* stride:I*", imageToBlocks},
      {"col2im.default", "self:T output_size:N* kernel_size:I* dilation:I* padding:I* stride:I*", blocksToImage},
      {"pixel_unshuffle.default", "self:T downscale_factor:I", pixelUnshuffle},
      {"channel_shuffle.default", "self:T groups:I", channelShuffle},
      {"native_channel_shuffle.default", "self:T groups:I", channelShuffle},
  };
  return table;
}
