//===- Contractions.cpp - Matrix products ----------------------------------===//

#include "Contractions.h"

using namespace lathe;

namespace lathe::onnx {

void matMul(Node &n) {
  Value x = n.in(0), y = n.in(1);
  n.requireSameElement({x, y});
  n.requireNumber(x);
  n.out(matrixProduct(n, x, y));
}

/// numpy.matmul of checked operands.
Value matrixProduct(Node &n, Value x, Value y) {
  n.requireRankAtLeast(x, 1);
  n.requireRankAtLeast(y, 1);
  std::string what = "operands " + describe(x.getType()) + " and " + describe(y.getType());
  Dims dx = n.dims(x), dy = n.dims(y);
  n.requireEqual(dx.back(), dy[dy.size() == 1 ? 0 : dy.size() - 2], what + ": the inner sizes");
  if (dx.size() > 2 && dy.size() > 2) {
    Dims batch = n.commonDims(llvm::ArrayRef<Expr>(dx).drop_back(2), llvm::ArrayRef<Expr>(dy).drop_back(2), {x, y});
    for (Expr &e : batch)
      e = n.simplify(e);
    for (Value *v : {&x, &y}) {
      Dims whole = batch, own = n.dims(*v);
      whole.append(own.end() - 2, own.end());
      *v = n.broadcastTo(*v, whole);
    }
  }
  std::string why;
  Value r = n.g.matmul(x, y, &why);
  if (!r)
    failWrong("{0}: {1}", what, why);
  return r;
}

Value gemmOf(Node &n) {
  Value a = n.in(0), b = n.in(1);
  n.requireSameElement({a, b});
  n.requireNumber(a);
  n.requireRank(a, 2);
  n.requireRank(b, 2);
  int64_t ka = n.flag("transA", false) ? 0 : 1, kb = n.flag("transB", false) ? 1 : 0;
  n.requireEqual(n.dim(a, ka), n.dim(b, kb),
                 "operands " + describe(a.getType()) + " and " + describe(b.getType()) + ": the inner sizes");
  auto scaled = [&](Value v, double factor) { return factor == 1 ? v : n.g.binary<ir::MulOp>(v, factor); };
  Value r = scaled(n.g.contract(a, b, {}, {}, {ka}, {kb}), n.real("alpha", 1));
  if (Value c = n.maybe(2)) {
    n.requireSameElement({a, c});
    r = n.g.add(r, n.broadcastTo(scaled(c, n.real("beta", 1)), n.dims(r)));
  }
  return r;
}

void gemm(Node &n) { n.out(gemmOf(n)); }

} // namespace lathe::onnx
