//===- Spatial.cpp - Operators on images -----------------------------------===//

#include "Windows.h"
#include "lathe/Dialect/Lathe/GridSample.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

/// Each element over a power of the mean square of its neighbours in the channels.
void lrn(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  int64_t size = n.requiredInteger("size");
  if (size < 1 || size > 1024)
    failUnsupported("attribute 'size' is {0}", size);
  double alpha = n.real("alpha", 1e-4f), beta = n.real("beta", 0.75), bias = n.real("bias", 1);
  Value w = n.wide(x), sum;
  Dims dims = n.dims(w), low(dims.size(), Expr(0)), high = low;
  low[1] = Expr((size - 1) / 2);
  high[1] = Expr(size / 2);
  Value padded = padWith(n, n.g.mul(w, w), n.g.scalar(0, n.element(w)), low, high);
  for (int64_t i = 0; i < size; ++i) {
    Value part = n.g.slice(padded, 1, Expr(i), dims[1]);
    sum = sum ? n.g.add(sum, part) : part;
  }
  Value scale = n.g.binary<ir::AddOp>(n.g.binary<ir::MulOp>(sum, alpha / double(size)), bias);
  n.out(n.g.cast(n.g.div(w, n.g.binary<ir::PowOp>(scale, beta)), n.element(x)));
}

/// Each axis is cropped or padded with zeros to the size, equally on both sides.
void centerCropPad(Node &n) {
  Value x = n.in(0);
  Dims shape = n.sizes(1);
  SmallVector<int64_t> axes;
  for (int64_t a : n.integers("axes"))
    axes.push_back(n.axis(a, n.rank(x)));
  if (!n.hasAttribute("axes"))
    for (int64_t d = 0; d < n.rank(x); ++d)
      axes.push_back(d);
  n.axes(axes, n.rank(x));
  if (shape.size() != axes.size())
    failWrong("{0} sizes for {1} axes", shape.size(), axes.size());
  Dims low(n.rank(x), Expr(0)), high = low;
  for (auto [to, a] : llvm::zip(shape, axes)) {
    Expr size = n.simplify(n.dim(x, a)), missing = n.simplify(to - size);
    if (to.constant() && *to.constant() < 0)
      failWrong("a size of {0}", to.str());
    // The odd element is padded at the end, and cropped at the end.
    if (n.g.facts.provablyLessEqual(size, to))
      low[a] = n.simplify(Expr::floordiv(missing, Expr(2)));
    else if (n.g.facts.provablyLessEqual(to, size))
      low[a] = n.simplify(-Expr::floordiv(-missing, Expr(2)));
    else
      low[a] = n.define("before", Expr::floordiv(Expr::max(Expr(0), missing), Expr(2))) -
               n.define("cropped", Expr::floordiv(Expr::max(Expr(0), -missing), Expr(2)));
    high[a] = n.simplify(missing - low[a]);
  }
  n.out(padWith(n, x, n.g.scalar(0, n.element(x)), low, high));
}

/// The sampling positions of an affine transformation of the output's pixels.
void affineGrid(Node &n) {
  Value theta = n.in(0);
  n.requireFloat(theta);
  n.requireRank(theta, 3);
  Dims size = n.sizes(1);
  if (size.size() != 4 && size.size() != 5)
    failWrong("{0} sizes, expected 4 or 5", size.size());
  int64_t spatial = int64_t(size.size()) - 2;
  n.requireEqual(n.dim(theta, 0), size[0], "the batch of the transformation");
  n.requireEqual(n.dim(theta, 1), Expr(spatial), "the rows of the transformation");
  n.requireEqual(n.dim(theta, 2), Expr(spatial + 1), "the columns of the transformation");
  n.out(ir::affineGrid(n.g, theta, llvm::ArrayRef<Expr>(size).drop_front(2), n.flag("align_corners", false)));
}

/// Along the time axis, the first lengths[b] elements of each batch in reverse.
void reverseSequence(Node &n) {
  Value x = n.in(0), lengths = n.in(1);
  n.requireRankAtLeast(x, 2);
  n.requireRank(lengths, 1);
  n.requireInteger(lengths);
  int64_t batch = n.axis(n.integer("batch_axis", 1), n.rank(x)), time = n.axis(n.integer("time_axis", 0), n.rank(x));
  if (batch == time || batch > 1 || time > 1)
    failWrong("batch axis {0} and time axis {1}, expected 0 and 1 in either order", batch, time);
  Dims dims = n.dims(x), plane{dims[0], dims[1]};
  n.requireEqual(n.dim(lengths, 0), dims[batch], "the number of lengths and the batch");
  Type i64 = n.g.b.getI64Type();
  Value t = n.g.iota(plane, time, i64);
  Value length = n.g.broadcastTo(n.reshape(n.g.cast(lengths, i64), {batch == 0 ? dims[0] : Expr(1), batch == 1 ? dims[1] : Expr(1)}), plane);
  Value mirrored = n.g.sub(n.g.binary<ir::SubOp>(length, 1), t);
  Value from = n.g.select(n.g.compare(CompareKind::LT, t, length), mirrored, t);
  Value other = n.g.iota(plane, batch, i64);
  Value first = n.g.unsqueeze(time == 0 ? from : other, {2}), second = n.g.unsqueeze(time == 0 ? other : from, {2});
  n.out(n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, x.getType(), x, n.g.concat({first, second}, 2), 0));
}

void swiGlu(Node &n) {
  Value a = n.in(0), b = n.in(1);
  n.requireFloat(a);
  n.requireSameElement({a, b});
  n.requireRank(b, n.rank(a));
  Dims dims = n.dims(a);
  for (auto [x, y] : llvm::zip(dims, n.dims(b)))
    n.requireEqual(x, y, "a dimension of both operands");
  double alpha = n.real("alpha", 1);
  Value w = n.wide(a), gate = n.g.sigmoid(alpha == 1 ? w : n.g.binary<ir::MulOp>(w, alpha));
  n.out(n.g.cast(n.g.mul(n.g.mul(w, gate), n.wide(n.reshape(b, dims))), n.element(a)));
}

} // namespace lathe::onnx
