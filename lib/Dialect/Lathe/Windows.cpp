//===- Windows.cpp - Sliding windows ---------------------------------------===//
//
// A window is one strided slice of the operand per place, combined elementwise: they fuse into a loop.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/Windows.h"
#include "lathe/Dialect/Lathe/Scatter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

/// A side of more places than this is long: a slice for each would make more code than it saves time.
static constexpr int64_t kLongSide = 32;

static Value combine(GraphBuilder &g, ReduceKind kind, Value x, Value y) {
  return kind == ReduceKind::Max ? g.binary<MaxOp>(x, y) : g.add(x, y);
}

/// Windows that lie side by side are blocks of a row.
static Value combineBlocks(GraphBuilder &g, Value x, int64_t d, const WindowDim &w, ReduceKind kind) {
  Expr covered = g.facts.simplify(w.out * Expr(w.kernel));
  Dims blocks = dimsOf(x);
  blocks[d] = w.out;
  blocks.insert(blocks.begin() + d + 1, Expr(w.kernel));
  return g.reduce(kind, g.reshape(g.slice(x, d, Expr(0), covered), blocks), {d + 1}, false);
}

/// Runs of 1, 2, 4, ... elements from every place on, each from two of the half length; a window is made of the runs of the bits
/// of its length.
static Value combineByDoubling(GraphBuilder &g, Value x, int64_t d, const WindowDim &w, ReduceKind kind) {
  Value all;
  Expr length = dimsOf(x)[d];
  for (int64_t run = 1, done = 0;; run *= 2) {
    if (w.kernel & run) {
      Value part = g.slice(x, d, Expr(done * w.dilation), w.out, w.stride);
      all = all ? combine(g, kind, all, part) : part;
      done += run;
    }
    if (done == w.kernel)
      return all;
    length = g.facts.simplify(length - Expr(run * w.dilation));
    x = combine(g, kind, g.slice(x, d, Expr(0), length), g.slice(x, d, Expr(run * w.dilation), length));
  }
}

static Value combineLongSide(GraphBuilder &g, Value x, int64_t d, const WindowDim &w, ReduceKind kind) {
  bool sideBySide = w.dilation == 1 && (w.stride == w.kernel || w.out.isOne());
  return sideBySide ? combineBlocks(g, x, d, w, kind) : combineByDoubling(g, x, d, w, kind);
}

/// Over some of the dimensions (numbers into `dims`, of the last dimensions of x).
static Value combineOver(GraphBuilder &g, Value x, ArrayRef<WindowDim> dims, ArrayRef<size_t> some, ReduceKind kind) {
  size_t first = typeOf(x).getRank() - dims.size();
  int64_t places = 1;
  Dims out = dimsOf(x);
  SmallVector<int64_t> steps(out.size(), 1);
  for (size_t d : some) {
    places *= dims[d].kernel;
    out[first + d] = dims[d].out;
    steps[first + d] = dims[d].stride;
  }
  Value all;
  for (int64_t place = 0; place < places; ++place) {
    Dims starts(out.size(), Expr(0));
    int64_t rest = place;
    for (size_t d : llvm::reverse(some)) {
      starts[first + d] = Expr(rest % dims[d].kernel * dims[d].dilation);
      rest /= dims[d].kernel;
    }
    Value part = g.b.create<SliceOp>(g.loc, tensorType(out, elementOf(x)), x, exprArray(g.b, starts), steps);
    all = all ? combine(g, kind, all, part) : part;
  }
  return all;
}

/// One dimension after the other writes and reads what lies between; a step over the last dimension leaves out columns
/// that the first passes compute.
static bool isSeparable(ArrayRef<WindowDim> dims) {
  int64_t together = 1, apart = 4;
  for (const WindowDim &w : dims.drop_back()) {
    together *= w.kernel;
    apart += w.kernel * std::min(dims.back().stride, dims.back().kernel);
  }
  return together > 1 && together * dims.back().kernel > apart + dims.back().kernel;
}

Value ir::combineWindows(GraphBuilder &g, Value padded, ArrayRef<WindowDim> dims, ReduceKind kind) {
  size_t first = typeOf(padded).getRank() - dims.size();
  SmallVector<WindowDim> rest(dims);
  SmallVector<size_t> all;
  for (size_t d = 0; d < dims.size(); ++d) {
    all.push_back(d);
    if (dims[d].kernel <= kLongSide)
      continue;
    padded = combineLongSide(g, padded, first + d, dims[d], kind);
    rest[d] = {1, 1, 1, 0, dims[d].out};
  }
  if (!isSeparable(rest))
    return combineOver(g, padded, rest, all, kind);
  for (size_t d : all)
    if (rest[d].kernel > 1 || rest[d].stride > 1)
      padded = combineOver(g, padded, rest, {d}, kind);
  return padded;
}

/// Places k of [0, kernel) with 0 <= start + k * dilation < size, along one dimension.
static Value coveredAlong(GraphBuilder &g, const Expr &size, const WindowDim &w) {
  Type i64 = g.b.getI64Type();
  Dims dims{w.out};
  auto number = [&](const Expr &e) { return g.broadcastTo(g.size(g.facts.simplify(e)), dims); };
  Value start = g.sub(g.binary<MulOp>(g.iota(dims, 0, i64), double(w.stride)), number(w.low));
  // Places before a limit: ceil((limit - start) / dilation).
  auto before = [&](Value limit) {
    Value places =
        g.binary<FloorDivOp>(g.binary<AddOp>(g.sub(limit, start), double(w.dilation - 1)), double(w.dilation));
    return g.binary<MinOp>(g.binary<MaxOp>(places, 0), double(w.kernel));
  };
  return g.sub(before(number(size)), before(g.splatLike(0, start)));
}

Value ir::coveredPlaces(GraphBuilder &g, ArrayRef<Expr> sizes, ArrayRef<WindowDim> dims, Type element) {
  Dims out;
  for (const WindowDim &w : dims)
    out.push_back(w.out);
  Value all;
  for (auto [d, w] : llvm::enumerate(dims)) {
    Dims shape(dims.size(), Expr(1));
    shape[d] = w.out;
    Value count = g.broadcastTo(g.reshape(g.cast(coveredAlong(g, sizes[d], w), element), shape), out);
    all = all ? g.mul(all, count) : count;
  }
  return all;
}

/// Blocks that follow one another without a stride: the elements at one place of all of them are an image of their own, which lies as far from
/// the result's edge as the place does from the block's. Their sum reads whole rows, where each block would be scattered by index. Nothing
/// where the blocks are large, or of open size.
static Value sumShifted(GraphBuilder &g, Value blocks, ArrayRef<Expr> image, ArrayRef<int64_t> dilations, ArrayRef<int64_t> low) {
  constexpr int64_t mostPlaces = 25;
  Dims all = dimsOf(blocks);
  int64_t count = image.size(), places = 1;
  for (int64_t d = 0; d < count; ++d)
    places *= std::clamp<int64_t>(all[2 + d].constant().value_or(0), 0, mostPlaces + 1);
  if (places < 1 || places > mostPlaces)
    return {};
  Value sum;
  for (int64_t place = 0; place < places; ++place) {
    Value part = blocks;
    Dims dims{all[0], all[1]}, before(2 + count, Expr(0)), behind(2 + count, Expr(0));
    dims.append(all.begin() + 2 + count, all.end());
    int64_t rest = place;
    for (int64_t d = count; d-- > 0;) {
      int64_t size = *all[2 + d].constant(), k = rest % size;
      rest /= size;
      part = g.slice(part, 2 + d, Expr(k), Expr(1));
      before[2 + d] = Expr(k * dilations[d] - low[d]);
      behind[2 + d] = g.facts.simplify(image[d] - before[2 + d] - dims[2 + d]);
    }
    Dims whole{all[0], all[1]};
    whole.append(image.begin(), image.end());
    part = g.b.createOrFold<PadOp>(g.loc, tensorType(whole, elementOf(blocks)), g.reshape(part, dims), g.scalar(0, elementOf(blocks)),
                                   exprArray(g.b, before), exprArray(g.b, behind));
    sum = sum ? g.add(sum, part) : part;
  }
  return sum;
}

Value ir::sumBlocks(GraphBuilder &g, Value blocks, ArrayRef<Expr> image, ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                    ArrayRef<int64_t> low) {
  bool strided = llvm::any_of(strides, [](int64_t s) { return s != 1; });
  if (Value sum = strided ? Value() : sumShifted(g, blocks, image, dilations, low))
    return sum;
  Dims all = dimsOf(blocks), result{all[0], all[1]};
  result.append(image.begin(), image.end());
  Type i64 = g.b.getI64Type();
  SmallVector<Value> indices;
  SmallVector<int64_t> places{0, 1};
  for (size_t d = 0, count = image.size(); d < count; ++d) {
    Value k = g.iota(all, 2 + d, i64), along = g.iota(all, 2 + count + d, i64);
    Value at = g.add(g.binary<MulOp>(along, double(strides[d])), g.binary<MulOp>(k, double(dilations[d])));
    at = g.binary<AddOp>(at, double(-low[d]));
    Value outside = g.broadcastTo(g.size(g.facts.simplify(image[d])), all); // what is in front of the image is not its end
    indices.push_back(g.select(g.compare(CompareKind::LT, at, g.splatLike(0, at)), outside, at));
    places.push_back(-1);
  }
  return scatter(g, ScatterKind::Add, g.splat(0, result, elementOf(blocks)), blocks, indices, places);
}
