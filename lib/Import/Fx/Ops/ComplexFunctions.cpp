//===- ComplexFunctions.cpp - Functions of complex numbers ------------------===//
//
// The principal branches, as the C standard's annex G cuts them.
//
//===----------------------------------------------------------------------===//

#include "ComplexParts.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::fx::complexes;
using namespace lathe::ir;

using Function = Parts (*)(OpContext &, const Parts &);

static Parts plus(OpContext &c, const Parts &a, const Parts &b) { return {c.g.add(a.re, b.re), c.g.add(a.im, b.im)}; }
static Parts minus(OpContext &c, const Parts &a) { return {c.g.unary<NegOp>(a.re), c.g.unary<NegOp>(a.im)}; }
static Parts number(OpContext &c, const Parts &like, double re) { return {c.g.splatLike(re, like.re), c.g.splatLike(0, like.re)}; }
static Parts scaled(OpContext &c, const Parts &a, double by) { return {c.g.binary<MulOp>(a.re, by), c.g.binary<MulOp>(a.im, by)}; }
/// By i and by -i.
static Parts turned(OpContext &c, const Parts &a) { return {c.g.unary<NegOp>(a.im), a.re}; }
static Parts turnedBack(OpContext &c, const Parts &a) { return {a.im, c.g.unary<NegOp>(a.re)}; }
static Parts choose(OpContext &c, Value condition, const Parts &a, const Parts &b) {
  return {c.g.select(condition, a.re, b.re), c.g.select(condition, a.im, b.im)};
}
static Value isNegative(OpContext &c, Value v) { return c.g.compare(CompareKind::LT, v, c.g.splatLike(0, v)); }
static Value isZero(OpContext &c, const Parts &z) {
  auto zero = [&](Value v) { return c.g.compare(CompareKind::EQ, v, c.g.splatLike(0, v)); };
  return c.g.binary<AndOp>(zero(z.re), zero(z.im));
}

static Parts exponential(OpContext &c, const Parts &z) {
  Value size = c.g.unary<ExpOp>(z.re);
  return {c.g.mul(size, c.g.unary<CosOp>(z.im)), c.g.mul(size, c.g.unary<SinOp>(z.im))};
}
static Parts exponentialOf2(OpContext &c, const Parts &z) { return exponential(c, scaled(c, z, M_LN2)); }
static Parts logarithm(OpContext &c, const Parts &z) {
  return {c.g.unary<LogOp>(magnitude(c, z)), c.g.binary<Atan2Op>(z.im, z.re)};
}
static Parts logarithm2(OpContext &c, const Parts &z) { return scaled(c, logarithm(c, z), M_LOG2E); }
static Parts logarithm10(OpContext &c, const Parts &z) { return scaled(c, logarithm(c, z), M_LOG10E); }
static Parts logarithm1p(OpContext &c, const Parts &z) { return logarithm(c, plus(c, z, number(c, z, 1))); }
static Parts exponentialLess1(OpContext &c, const Parts &z) { return plus(c, exponential(c, z), number(c, z, -1)); }

/// t = sqrt((|z| + |re|) / 2) is the larger part, and im / 2t the other.
static Parts root(OpContext &c, const Parts &z) {
  Value zero = c.g.splatLike(0, z.re), size = c.g.add(magnitude(c, z), c.g.unary<AbsOp>(z.re));
  Value t = c.g.unary<SqrtOp>(c.g.binary<MulOp>(size, 0.5)), none = c.g.compare(CompareKind::EQ, t, zero);
  Value other = c.g.div(z.im, c.g.select(none, c.g.splatLike(1, t), c.g.binary<MulOp>(t, 2)));
  Value below = c.g.select(isNegative(c, z.im), c.g.unary<NegOp>(t), t);
  return choose(c, isNegative(c, z.re), {c.g.unary<AbsOp>(other), below}, {t, other});
}
static Parts reciprocalRoot(OpContext &c, const Parts &z) { return reciprocal(c, root(c, z)); }

static Parts hyperbolicSine(OpContext &c, const Parts &z) {
  return {c.g.mul(c.g.unary<SinhOp>(z.re), c.g.unary<CosOp>(z.im)), c.g.mul(c.g.unary<CoshOp>(z.re), c.g.unary<SinOp>(z.im))};
}
static Parts hyperbolicCosine(OpContext &c, const Parts &z) {
  return {c.g.mul(c.g.unary<CoshOp>(z.re), c.g.unary<CosOp>(z.im)), c.g.mul(c.g.unary<SinhOp>(z.re), c.g.unary<SinOp>(z.im))};
}
/// (sinh 2x + i sin 2y) / (cosh 2x + cos 2y), which is 1 or -1 long before cosh overflows.
static Parts hyperbolicTangent(OpContext &c, const Parts &z) {
  Value x = c.g.binary<MulOp>(c.g.binary<MinOp>(c.g.binary<MaxOp>(z.re, -40), 40), 2), y = c.g.binary<MulOp>(z.im, 2);
  Value below = c.g.add(c.g.unary<CoshOp>(x), c.g.unary<CosOp>(y));
  return {c.g.div(c.g.unary<SinhOp>(x), below), c.g.div(c.g.unary<SinOp>(y), below)};
}
static Parts sine(OpContext &c, const Parts &z) { return turnedBack(c, hyperbolicSine(c, turned(c, z))); }
static Parts cosine(OpContext &c, const Parts &z) { return hyperbolicCosine(c, turned(c, z)); }
static Parts tangent(OpContext &c, const Parts &z) { return turnedBack(c, hyperbolicTangent(c, turned(c, z))); }

/// log(z + sqrt(z^2 + 1)), an odd function, where nothing cancels.
static Parts inverseHyperbolicSine(OpContext &c, const Parts &z) {
  Value left = isNegative(c, z.re);
  Parts w = choose(c, left, minus(c, z), z);
  Parts r = logarithm(c, plus(c, w, root(c, plus(c, product(c, w, w), number(c, w, 1)))));
  return choose(c, left, minus(c, r), r);
}
static Parts inverseHyperbolicCosine(OpContext &c, const Parts &z) {
  Parts up = root(c, plus(c, z, number(c, z, 1))), down = root(c, plus(c, z, number(c, z, -1)));
  return logarithm(c, plus(c, z, product(c, up, down)));
}
static Parts inverseHyperbolicTangent(OpContext &c, const Parts &z) {
  Parts up = logarithm(c, plus(c, number(c, z, 1), z)), down = logarithm(c, plus(c, number(c, z, 1), minus(c, z)));
  return scaled(c, plus(c, up, minus(c, down)), 0.5);
}
static Parts inverseSine(OpContext &c, const Parts &z) { return turnedBack(c, inverseHyperbolicSine(c, turned(c, z))); }
static Parts inverseCosine(OpContext &c, const Parts &z) { return plus(c, number(c, z, M_PI_2), minus(c, inverseSine(c, z))); }
static Parts inverseTangent(OpContext &c, const Parts &z) { return turnedBack(c, inverseHyperbolicTangent(c, turned(c, z))); }

static Parts logistic(OpContext &c, const Parts &z) {
  return reciprocal(c, plus(c, exponential(c, minus(c, z)), number(c, z, 1)));
}
static Parts timesLogistic(OpContext &c, const Parts &z) { return product(c, z, logistic(c, z)); }
static Parts square(OpContext &c, const Parts &z) { return product(c, z, z); }
static Parts direction(OpContext &c, const Parts &z) {
  Value none = isZero(c, z), size = c.g.select(none, c.g.splatLike(1, z.re), magnitude(c, z));
  return {c.g.div(z.re, size), c.g.div(z.im, size)};
}

template <Function function> static llvm::Error ofOne(OpContext &c) {
  return c.give(joined(c, function(c, partsOf(c, c.tensor("self")))));
}

/// exp(w log z), and 0 to any power but 0 is 0.
static llvm::Error power(OpContext &c) {
  LATHE_TRY(both, partsOfTwo(c, c.resultElement(), "self", "exponent"));
  auto [z, w] = both;
  Parts r = exponential(c, product(c, w, logarithm(c, choose(c, isZero(c, z), number(c, z, 1), z))));
  Parts ofZero = choose(c, isZero(c, w), number(c, z, 1), number(c, z, 0));
  return c.give(joined(c, choose(c, isZero(c, z), ofZero, r)));
}

template <bool differ> static llvm::Error equal(OpContext &c) {
  const char *real = c.tensor("self") ? "self" : "other";
  LATHE_TRY(both, partsOfTwo(c, elementOf(c.tensor(real))));
  Value same = c.g.binary<AndOp>(c.g.compare(CompareKind::EQ, both.first.re, both.second.re),
                                 c.g.compare(CompareKind::EQ, both.first.im, both.second.im));
  return c.give(differ ? c.g.unary<NotOp>(same) : same);
}

//===----------------------------------------------------------------------===//
// By operators of real numbers
//===----------------------------------------------------------------------===//

/// The operator's results with real numbers in place of `self`.
static llvm::Error onReal(OpContext &c, Value stand) {
  llvm::StringRef name = c.node.target;
  name.consume_front("aten.");
  const OpEntry *real = findOp(name);
  if (!real)
    return c.cannot("it computes with complex numbers, which this version does not for this form");
  c.replaced = {c.node.inputs[0].value.tensors[0], stand};
  return real->handler(c);
}

static llvm::Error onTruth(OpContext &c) { return onReal(c, c.g.unary<NotOp>(isZero(c, partsOf(c, c.tensor("self"))))); }
static llvm::Error onMagnitude(OpContext &c) { return onReal(c, magnitude(c, partsOf(c, c.tensor("self")))); }

template <typename Combine> static llvm::Error onEach(OpContext &c, Combine combine) {
  Parts z = partsOf(c, c.tensor("self"));
  if (llvm::Error e = onReal(c, z.re))
    return e;
  SmallVector<Value> reals = std::move(c.results);
  c.results.clear();
  if (llvm::Error e = onReal(c, z.im))
    return e;
  SmallVector<Value> imaginaries = std::move(c.results);
  c.results.clear();
  for (auto [i, both] : llvm::enumerate(llvm::zip(reals, imaginaries)))
    (void)c.give(combine(i, std::get<0>(both), std::get<1>(both)));
  return llvm::Error::success();
}

static llvm::Error ifEither(OpContext &c) {
  return onEach(c, [&](size_t, Value a, Value b) { return c.g.binary<OrOp>(a, b); });
}
static llvm::Error ifBoth(OpContext &c) {
  return onEach(c, [&](size_t, Value a, Value b) { return c.g.binary<AndOp>(a, b); });
}
/// Variances add up; the means, which are second results, are the parts of one.
template <bool roots> static llvm::Error spread(OpContext &c) {
  return onEach(c, [&](size_t i, Value a, Value b) {
    if (i)
      return joined(c, {a, b});
    return roots ? c.g.unary<SqrtOp>(c.g.add(c.g.mul(a, a), c.g.mul(b, b))) : c.g.add(a, b);
  });
}

/// Operators of real numbers, as they are listed there, with another way of running them.
static llvm::StringMap<OpEntry> delegates() {
  static constexpr std::pair<Handler, llvm::StringLiteral> lists[] = {
      {onTruth, "nonzero.default argwhere.default nonzero_numpy.default nonzero_static.default any.default any.dim any.dims all.default all.dim all.dims "
                "logical_not.default count_nonzero.default count_nonzero.dim_IntList"},
      {onMagnitude, "linalg_vector_norm.default norm.ScalarOpt_dim norm.Scalar linalg_norm.default"},
      {ifEither, "isnan.default isinf.default"},
      {ifBoth, "isfinite.default"},
      {spread<false>, "var.default var.dim var.correction var_mean.default var_mean.dim var_mean.correction"},
      {spread<true>, "std.default std.dim std.correction std_mean.default std_mean.dim std_mean.correction"}};
  llvm::StringMap<OpEntry> map;
  for (auto [handler, names] : lists) {
    SmallVector<llvm::StringRef> each;
    names.split(each, ' ');
    for (llvm::StringRef name : each)
      if (const OpEntry *real = findOp(name))
        map[name] = {real->name, real->arguments, handler};
  }
  return map;
}

const OpEntry *complexes::findFunction(llvm::StringRef name) {
  static const OpEntry table[] = {
      {"exp.default", "self:T", ofOne<exponential>},
      {"exp2.default", "self:T", ofOne<exponentialOf2>},
      {"expm1.default", "self:T", ofOne<exponentialLess1>},
      {"log.default", "self:T", ofOne<logarithm>},
      {"log2.default", "self:T", ofOne<logarithm2>},
      {"log10.default", "self:T", ofOne<logarithm10>},
      {"log1p.default", "self:T", ofOne<logarithm1p>},
      {"sqrt.default", "self:T", ofOne<root>},
      {"rsqrt.default", "self:T", ofOne<reciprocalRoot>},
      {"square.default", "self:T", ofOne<square>},
      {"sgn.default", "self:T", ofOne<direction>},
      {"sinh.default", "self:T", ofOne<hyperbolicSine>},
      {"cosh.default", "self:T", ofOne<hyperbolicCosine>},
      {"tanh.default", "self:T", ofOne<hyperbolicTangent>},
      {"sin.default", "self:T", ofOne<sine>},
      {"cos.default", "self:T", ofOne<cosine>},
      {"tan.default", "self:T", ofOne<tangent>},
      {"asinh.default", "self:T", ofOne<inverseHyperbolicSine>},
      {"acosh.default", "self:T", ofOne<inverseHyperbolicCosine>},
      {"atanh.default", "self:T", ofOne<inverseHyperbolicTangent>},
      {"asin.default", "self:T", ofOne<inverseSine>},
      {"acos.default", "self:T", ofOne<inverseCosine>},
      {"atan.default", "self:T", ofOne<inverseTangent>},
      {"sigmoid.default", "self:T", ofOne<logistic>},
      {"silu.default", "self:T", ofOne<timesLogistic>},
      {"pow.Tensor_Scalar", "self:TZ exponent:TZ", power},
      {"pow.Tensor_Tensor", "self:TZ exponent:TZ", power},
      {"pow.Scalar", "self:TZ exponent:TZ", power},
      {"eq.Tensor", "self:TZ other:TZ", equal<false>},
      {"eq.Scalar", "self:TZ other:TZ", equal<false>},
      {"ne.Tensor", "self:TZ other:TZ", equal<true>},
      {"ne.Scalar", "self:TZ other:TZ", equal<true>},
  };
  for (const OpEntry &entry : table)
    if (name == entry.name)
      return &entry;
  static const llvm::StringMap<OpEntry> others = delegates();
  auto found = others.find(name);
  return found == others.end() ? nullptr : &found->second;
}
