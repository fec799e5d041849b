//===- Complex.cpp - Operators of complex numbers ---------------------------===//
//
// A complex tensor comes and goes with a last dimension of 2: real and imaginary part (ImportComplex.cpp).
//
//===----------------------------------------------------------------------===//

#include "ComplexParts.h"
#include "Convert.h"
#include "Linalg.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::fx::complexes;
using namespace lathe::ir;

Parts complexes::partsOf(OpContext &c, Value pairs) {
  int64_t last = typeOf(pairs).getRank() - 1;
  auto part = [&](int64_t i) { return c.g.squeeze(c.g.slice(pairs, last, Expr(i), Expr(1)), {last}); };
  return {part(0), part(1)};
}

Value complexes::joined(OpContext &c, const Parts &p) {
  int64_t rank = typeOf(p.re).getRank();
  return c.g.concat({c.g.unsqueeze(p.re, {rank}), c.g.unsqueeze(p.im, {rank})}, rank);
}

/// Whether the tensor is one of complex numbers.
static bool isPairs(OpContext &c, llvm::StringRef name) {
  const TensorMeta *meta = c.metaOf(name);
  return meta && size_t(typeOf(c.tensor(name)).getRank()) == meta->sizes.size() + 1;
}

static llvm::Error same(OpContext &c) { return c.give(c.tensor("self")); }

static llvm::Error made(OpContext &c) {
  SmallVector<Value> parts{c.tensor("real"), c.tensor("imag")};
  if (elementOf(parts[0]) != elementOf(parts[1]))
    return c.wrong("parts of different types");
  if (llvm::Error e = c.broadcast(parts))
    return e;
  return c.give(joined(c, {parts[0], parts[1]}));
}

static llvm::Error polar(OpContext &c) {
  SmallVector<Value> parts{c.tensor("abs"), c.tensor("angle")};
  if (elementOf(parts[0]) != elementOf(parts[1]))
    return c.wrong("parts of different types");
  if (llvm::Error e = c.broadcast(parts))
    return e;
  return c.give(
      joined(c, {c.g.mul(parts[0], c.g.unary<CosOp>(parts[1])), c.g.mul(parts[0], c.g.unary<SinOp>(parts[1]))}));
}

/// Of a real tensor itself.
template <bool imaginary> static llvm::Error part(OpContext &c) {
  Value x = c.tensor("self");
  if (!isPairs(c, "self"))
    return imaginary ? c.wrong("the imaginary part of real numbers") : c.give(x);
  Parts p = partsOf(c, x);
  return c.give(imaginary ? p.im : p.re);
}

/// sqrt(re^2 + im^2) without overflow: the larger part times the root of 1 + the quotient's square.
Value complexes::magnitude(OpContext &c, const Parts &p) {
  Value a = c.g.unary<AbsOp>(p.re), b = c.g.unary<AbsOp>(p.im);
  Value large = c.g.binary<MaxOp>(a, b), small = c.g.binary<MinOp>(a, b), zero = c.g.splatLike(0, large),
        one = c.g.splatLike(1, large);
  Value none = c.g.compare(CompareKind::EQ, large, zero);
  Value ratio = c.g.div(small, c.g.select(none, one, large));
  return c.g.mul(large, c.g.unary<SqrtOp>(c.g.add(one, c.g.mul(ratio, ratio))));
}

static llvm::Error absolute(OpContext &c) { return c.give(magnitude(c, partsOf(c, c.tensor("self")))); }

static llvm::Error angle(OpContext &c) {
  Value x = c.tensor("self");
  if (!isPairs(c, "self")) { // pi where it is negative, 0 elsewhere, NaN where it is NaN
    x = c.g.cast(x, c.resultElement());
    Value half = c.g.select(c.g.compare(CompareKind::LT, x, c.g.splatLike(0, x)),
                            c.g.splatLike(3.14159265358979323846, x), c.g.splatLike(0, x));
    return c.give(c.g.select(c.g.compare(CompareKind::NE, x, x), x, half));
  }
  Parts p = partsOf(c, c.tensor("self"));
  return c.give(c.g.binary<Atan2Op>(p.im, p.re));
}

static llvm::Error conjugate(OpContext &c) {
  Value x = c.tensor("self");
  if (!isPairs(c, "self"))
    return c.give(x);
  Parts p = partsOf(c, x);
  return c.give(joined(c, {p.re, c.g.unary<NegOp>(p.im)}));
}

/// Between complex types, from real numbers, or their real part.
static llvm::Error converted(OpContext &c) {
  Value x = convertedTo(c, c.tensor("self"), c.resultElement());
  bool pairs = isPairs(c, "self"), wanted = c.resultTypes[0].getRank() == typeOf(x).getRank() + (pairs ? 0 : 1);
  if (pairs == wanted)
    return c.give(x);
  return c.give(wanted ? joined(c, {x, c.g.splatLike(0, x)}) : partsOf(c, x).re);
}

Parts complexes::product(OpContext &c, const Parts &a, const Parts &b) {
  return {c.g.sub(c.g.mul(a.re, b.re), c.g.mul(a.im, b.im)), c.g.add(c.g.mul(a.re, b.im), c.g.mul(a.im, b.re))};
}

/// 1 / z = conj z / |z|^2, each part divided by the magnitude twice.
Parts complexes::reciprocal(OpContext &c, const Parts &p) {
  Value m = magnitude(c, p);
  auto over = [&](Value v) { return c.g.div(c.g.div(v, m), m); };
  return {over(p.re), over(c.g.unary<NegOp>(p.im))};
}

static llvm::Error inverted(OpContext &c) { return c.give(joined(c, reciprocal(c, partsOf(c, c.tensor("self"))))); }

llvm::Expected<std::pair<Parts, Parts>> complexes::partsOfTwo(OpContext &c, Type element, const char *first, const char *second) {
  SmallVector<Value> all;
  for (llvm::StringRef name : {first, second}) {
    Operand o = c.operand(name);
    if (o.tensor && isPairs(c, name)) {
      Parts p = partsOf(c, c.g.cast(o.tensor, element));
      all.append({p.re, p.im});
      continue;
    }
    Value v = c.materialize(o, element);
    all.append({v, c.g.splatLike(o.number.imaginary, v)});
  }
  if (llvm::Error e = c.broadcast(all))
    return std::move(e);
  return std::make_pair(Parts{all[0], all[1]}, Parts{all[2], all[3]});
}

static llvm::Error ofTwo(OpContext &c, Parts (*compute)(OpContext &, const Parts &, const Parts &)) {
  LATHE_TRY(both, partsOfTwo(c, c.resultElement()));
  return c.give(joined(c, compute(c, both.first, both.second)));
}

static llvm::Error multiply(OpContext &c) { return ofTwo(c, product); }
static llvm::Error divide(OpContext &c) {
  return ofTwo(c, [](OpContext &c, const Parts &a, const Parts &b) { return product(c, a, reciprocal(c, b)); });
}

/// Times a number, which may be complex.
static Parts scaledBy(OpContext &c, const char *name, const Parts &z) {
  Number n = c.number(name);
  Value factor = c.g.broadcastTo(c.scalarOf(n, elementOf(z.re)), dimsOf(z.re));
  if (n.imaginary == 0)
    return {c.g.mul(z.re, factor), c.g.mul(z.im, factor)};
  return product(c, z, {factor, c.g.splatLike(n.imaginary, factor)});
}

static Parts less(OpContext &c, const Parts &a, const Parts &b) { return {c.g.sub(a.re, b.re), c.g.sub(a.im, b.im)}; }

/// self + alpha other, or self - alpha other.
template <bool minus> static llvm::Error sum(OpContext &c) {
  return ofTwo(c, [](OpContext &c, const Parts &a, const Parts &b) -> Parts {
    Parts other = scaledBy(c, "alpha", b);
    return minus ? less(c, a, other) : Parts{c.g.add(a.re, other.re), c.g.add(a.im, other.im)};
  });
}

/// other - alpha self
static llvm::Error sumFromOther(OpContext &c) {
  return ofTwo(c, [](OpContext &c, const Parts &a, const Parts &b) { return less(c, b, scaledBy(c, "alpha", a)); });
}

llvm::ArrayRef<OpEntry> fx::complexOps() {
  static const OpEntry table[] = {
      {"view_as_real.default", "self:T", same, TakesPairs | IsView},
      {"view_as_complex.default", "self:T", same, TakesPairs | IsView},
      {"complex.default", "real:T imag:T", made, TakesPairs},
      {"polar.default", "abs:T angle:T", polar, TakesPairs},
      {"real.default", "self:T", part<false>, TakesPairs | IsView},
      {"imag.default", "self:T", part<true>, TakesPairs | IsView},
      {"angle.default", "self:T", angle, TakesPairs},
      {"conj.default", "self:T", conjugate, TakesPairs | IsView},
      {"_conj.default", "self:T", conjugate, TakesPairs | IsView},
      {"conj_physical.default", "self:T", conjugate, TakesPairs},
      {"_conj_physical.default", "self:T", conjugate, TakesPairs},
      {"resolve_conj.default", "self:T", same, TakesPairs | SharesEach},
      {"resolve_neg.default", "self:T", same, TakesPairs | SharesEach},
  };
  return table;
}

const OpEntry *fx::findComplexOp(llvm::StringRef name) {
  static const OpEntry table[] = {
      {"abs.default", "self:T", absolute},
      {"_to_copy.default", "self:T dtype:D?", converted},
      {"to.dtype", "self:T dtype:D?", converted},
      {"reciprocal.default", "self:T", inverted},
      {"add.Tensor", "self:T other:TZ alpha:Z=1", sum<false>},
      {"add.Scalar", "self:T other:TZ alpha:Z=1", sum<false>},
      {"sub.Tensor", "self:T other:TZ alpha:Z=1", sum<true>},
      {"sub.Scalar", "self:T other:TZ alpha:Z=1", sum<true>},
      {"rsub.Tensor", "self:T other:TZ alpha:Z=1", sumFromOther},
      {"rsub.Scalar", "self:T other:TZ alpha:Z=1", sumFromOther},
      {"mul.Tensor", "self:T other:TZ", multiply},
      {"mul.Scalar", "self:T other:TZ", multiply},
      {"div.Tensor", "self:T other:TZ", divide},
      {"div.Scalar", "self:T other:TZ", divide},
  };
  for (const OpEntry &entry : table)
    if (name == entry.name)
      return &entry;
  if (const OpEntry *entry = linalg::findComplex(name))
    return entry;
  return complexes::findFunction(name);
}
