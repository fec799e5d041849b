//===- Matmul.cpp - Matrix products -----------------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static llvm::Expected<Value> product(OpContext &c, Value x, Value y) {
  if (elementOf(x) != elementOf(y))
    return c.wrong("{0} times {1}: the types differ", x.getType(), y.getType());
  Dims dx = dimsOf(x), dy = dimsOf(y);
  if (!dx.empty() && !dy.empty())
    c.fits(dx.back(), dy[dy.size() == 1 ? 0 : dy.size() - 2]);
  for (size_t i = 3; i <= std::min(dx.size(), dy.size()); ++i)
    if (Expr a = dx[dx.size() - i], b = dy[dy.size() - i]; !a.isOne() && !b.isOne())
      c.fits(a, b);
  std::string why;
  Value r = c.g.matmul(x, y, &why);
  if (!r)
    return c.wrong("{0}", why);
  return r;
}

static llvm::Error matmul(OpContext &c) {
  LATHE_TRY(r, product(c, c.tensor("self"), c.tensor(c.has("other") ? "other" : "mat2")));
  return c.give(r);
}

/// Of bytes, summed as integers of 32 bits.
static llvm::Error integerMatmul(OpContext &c) {
  LATHE_TRY(r, product(c, c.g.cast(c.tensor("self"), c.resultElement()), c.g.cast(c.tensor("mat2"), c.resultElement())));
  return c.give(r);
}

/// A scale of all of the product, of its rows [M, 1] or of its columns [1, N].
static llvm::Expected<Value> scaledBy(OpContext &c, Value r, const char *name, int64_t axis) {
  Value scale = c.tensor(name);
  Dims dims = dimsOf(scale), wanted(2, Expr(1));
  wanted[axis] = dimsOf(r)[axis];
  if (!elementOf(scale).isF32())
    return c.cannot("'{0}' of {1}: scales are float32", name, elementOf(scale));
  if (llvm::all_of(dims, [](const Expr &e) { return e.isOne(); }))
    return c.g.mul(r, c.g.broadcastTo(c.g.reshape(scale, {}), dimsOf(r)));
  if (dims.size() != 2 || !dims[1 - axis].isOne() || !c.fits(dims[axis], wanted[axis]))
    return c.cannot("'{0}' of {1}: scales of blocks", name, scale.getType());
  return c.g.mul(r, c.g.broadcastTo(scale, dimsOf(r)));
}

/// The product of floats of 8 bits, times the scales of both, and a bias. What is rounded to 8 bits is limited first.
static llvm::Error scaledMatmul(OpContext &c) {
  Type f32 = c.g.b.getF32Type(), to = c.resultElement();
  for (const char *name : {"self", "mat2"})
    if (!isFloat8(elementOf(c.tensor(name))) || typeOf(c.tensor(name)).getRank() != 2)
      return c.cannot("'{0}' of {1}", name, c.tensor(name).getType());
  LATHE_TRY(sum, product(c, c.g.cast(c.tensor("self"), f32), c.g.cast(c.tensor("mat2"), f32)));
  LATHE_TRY(byRows, scaledBy(c, sum, "scale_a", 0));
  LATHE_TRY(r, scaledBy(c, byRows, "scale_b", 1));
  if (Value bias = c.tensor("bias")) {
    LATHE_TRY(wide, c.broadcastTo(c.g.cast(bias, f32), dimsOf(r)));
    r = c.g.add(r, wide);
  }
  const NarrowType *narrow = narrowType(to);
  if (!narrow)
    return c.give(c.g.cast(r, to));
  if (c.has("scale_result")) {
    LATHE_TRY(scale, c.broadcastTo(c.g.reshape(c.tensor("scale_result"), {}), dimsOf(r)));
    r = c.g.mul(r, scale);
  }
  double most = largestOf(*narrow);
  return c.give(c.g.cast(c.g.binary<MinOp>(c.g.binary<MaxOp>(r, -most), most), to));
}

/// beta * self + alpha * (x times y)
static llvm::Error addmm(OpContext &c) {
  const char *left = c.has("mat1") ? "mat1" : c.has("mat") ? "mat" : "batch1";
  const char *right = c.has("mat2") ? "mat2" : c.has("vec") ? "vec" : "batch2";
  LATHE_TRY(r, product(c, c.tensor(left), c.tensor(right)));
  double alpha = c.real("alpha"), beta = c.real("beta");
  if (alpha != 1)
    r = c.g.binary<MulOp>(r, alpha);
  if (beta == 0) // even where self is NaN
    return c.give(r);
  Value base = c.g.cast(c.tensor("self"), elementOf(r));
  if (beta != 1)
    base = c.g.binary<MulOp>(base, beta);
  LATHE_TRY(wide, c.broadcastTo(base, dimsOf(r)));
  return c.give(c.g.add(r, wide));
}

static llvm::Error linear(OpContext &c) {
  Value x = c.tensor("input"), w = c.tensor("weight"), bias = c.tensor("bias");
  Dims dx = dimsOf(x), dw = dimsOf(w);
  bool vector = dw.size() == 1; // one output feature, without its dimension
  if (vector)
    w = c.g.unsqueeze(w, {0});
  if (dx.empty() || dw.empty() || dw.size() > 2 || !c.fits(dx.back(), dw.back()) ||
      elementOf(x) != elementOf(w))
    return c.wrong("an input of {0} and a weight of {1}", x.getType(), w.getType());
  Value r = c.g.linear(x, w, Value());
  if (vector)
    r = c.g.squeeze(r, {typeOf(r).getRank() - 1});
  if (!bias)
    return c.give(r);
  LATHE_TRY(wide, c.broadcastTo(c.g.cast(bias, elementOf(r)), dimsOf(r)));
  return c.give(c.g.add(r, wide));
}

static llvm::Error dot(OpContext &c) {
  LATHE_TRY(r, product(c, c.tensor("self"), c.tensor(c.has("tensor") ? "tensor" : "vec")));
  return c.give(r);
}

static llvm::Error outer(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement()), y = c.g.cast(c.tensor("vec2"), c.resultElement());
  if (typeOf(x).getRank() != 1 || typeOf(y).getRank() != 1)
    return c.wrong("{0} and {1} are not both vectors", x.getType(), y.getType());
  Value both[] = {c.g.unsqueeze(x, {1}), c.g.unsqueeze(y, {0})};
  if (llvm::Error e = c.broadcast(both))
    return e;
  return c.give(c.g.mul(both[0], both[1]));
}

llvm::ArrayRef<OpEntry> fx::matmulOps() {
  static const OpEntry table[] = {
      {"linear.default", "input:T weight:T bias:T?", linear},
      {"matmul.default", "self:T other:T", matmul},
      {"mm.default", "self:T mat2:T", matmul},
      {"bmm.default", "self:T mat2:T", matmul},
      {"_int_mm.default", "self:T mat2:T", integerMatmul},
      {"_scaled_mm.default", "self:T mat2:T scale_a:T scale_b:T bias:T? scale_result:T? out_dtype:D? use_fast_accum:B=False", scaledMatmul},
      {"addmm.default", "self:T mat1:T mat2:T beta:F=1 alpha:F=1", addmm},
      {"addmv.default", "self:T mat:T vec:T beta:F=1 alpha:F=1", addmm},
      {"baddbmm.default", "self:T batch1:T batch2:T beta:F=1 alpha:F=1", addmm},
      {"mv.default", "self:T vec:T", dot},
      {"dot.default", "self:T tensor:T", dot},
      {"outer.default", "self:T vec2:T", outer},
  };
  return table;
}
