//===- Heads.cpp - The heads of attentions ---------------------------------===//

#include "Heads.h"
#include <cmath>

using namespace lathe;

namespace lathe::onnx {

void requireMatchingHeads(Node &n, Value q, Value k, Value v) {
  Dims dq = n.dims(q), dk = n.dims(k), dv = n.dims(v);
  n.requireEqual(dq[0], dk[0], "the batch of queries and keys");
  n.requireEqual(dk[0], dv[0], "the batch of keys and values");
  n.requireEqual(dk[1], dv[1], "the heads of keys and values");
  n.requireEqual(dk[2], dv[2], "the numbers of keys and values");
  n.requireEqual(dq[3], dk[3], "the sizes of query and key heads");
}

Value repeatHeads(Node &n, Value x, const Expr &heads) {
  Dims d = n.dims(x);
  if (n.g.facts.provablyEqual(d[1], heads))
    return x;
  Expr group = n.exactQuotient(heads, d[1], "the number of query heads");
  Value wide = n.g.broadcastTo(n.g.unsqueeze(x, {2}), {d[0], d[1], group, d[2], d[3]});
  return n.reshape(wide, {d[0], heads, d[2], d[3]});
}

Value scaled(Node &n, Value scores, const Expr &headSize, bool zeroIsUnset) {
  double scale = n.real("scale", 0);
  if (n.hasAttribute("scale") && !(zeroIsUnset && scale == 0))
    return n.g.binary<ir::MulOp>(scores, scale);
  if (std::optional<int64_t> size = n.simplify(headSize).constant())
    return n.g.binary<ir::MulOp>(scores, 1 / std::sqrt(double(std::max<int64_t>(1, *size))));
  Value size = n.g.cast(n.g.size(n.simplify(headSize)), n.element(scores));
  return n.g.mul(scores, n.g.broadcastTo(n.g.unary<ir::RsqrtOp>(size), n.dims(scores)));
}

Value softcapped(Node &n, Value scores, double cap) {
  return cap <= 0 ? scores : n.g.binary<ir::MulOp>(n.g.unary<ir::TanhOp>(n.g.binary<ir::DivOp>(scores, cap)), cap);
}

Value withPast(Node &n, Value past, Value x) {
  if (!past)
    return x;
  n.requireRank(past, 4);
  n.requireSameElement({x, past});
  Dims dx = n.dims(x), dp = n.dims(past);
  for (int d : {0, 1, 3})
    n.requireEqual(dp[d], dx[d], "the past keys or values");
  return n.g.concat({n.reshape(past, {dx[0], dx[1], n.simplify(dp[2]), dx[3]}), x}, 2);
}

Value splitHeads(Node &n, Value x, int64_t heads) {
  n.requireRank(x, 3);
  Dims d = n.dims(x);
  Expr size = n.exactQuotient(d[2], Expr(heads), llvm::formatv("{0} heads", heads).str());
  return n.g.transpose(n.reshape(x, {d[0], d[1], Expr(heads), size}), {0, 2, 1, 3});
}

Value mergeHeads(Node &n, Value x) {
  Dims d = n.dims(x);
  return n.reshape(n.g.transpose(x, {0, 2, 1, 3}), {d[0], d[2], n.simplify(d[1] * d[3])});
}

Value rotated(Node &n, Value x, Value cos, Value sin, bool interleaved) {
  Dims d = n.dims(x);
  Expr half = n.dims(cos).back(), turned = n.simplify(half + half), rest = n.simplify(d[3] - turned);
  Dims table{d[0], d[1], d[2], half};
  cos = n.broadcastTo(cos, table);
  sin = n.broadcastTo(sin, table);
  Value a = interleaved ? n.g.slice(x, 3, Expr(0), half, 2) : n.g.slice(x, 3, Expr(0), half);
  Value b = interleaved ? n.g.slice(x, 3, Expr(1), half, 2) : n.g.slice(x, 3, half, half);
  Value real = n.g.sub(n.g.mul(cos, a), n.g.mul(sin, b)), imaginary = n.g.add(n.g.mul(sin, a), n.g.mul(cos, b));
  Value y = interleaved ? n.reshape(n.g.concat({n.g.unsqueeze(real, {4}), n.g.unsqueeze(imaginary, {4})}, 4), {d[0], d[1], d[2], turned})
                        : n.g.concat({real, imaginary}, 3);
  return rest.isZero() ? y : n.g.concat({y, n.g.slice(x, 3, turned, rest)}, 3);
}

} // namespace lathe::onnx
