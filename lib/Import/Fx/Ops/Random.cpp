//===- Random.cpp - Random numbers ------------------------------------------===//
//
// Drawn when compiling, where the user accepts that (see lathe/Import/RandomNumbers.h).
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "lathe/Import/RandomNumbers.h"
#include <cmath>
#include <numeric>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// More numbers would make the artifact large.
constexpr int64_t maxNumbers = 1 << 22;

using Draw = double (RandomNumbers::*)();

static llvm::Expected<RandomNumbers> generatorOf(OpContext &c) {
  if (!c.seed)
    return c.cannot("random numbers: an artifact has those that were drawn when it was compiled, in every run; accept that with "
                    "--seed N");
  return RandomNumbers(*c.seed, c.node.name);
}

/// A constant of as many numbers, in f64.
static llvm::Expected<Value> numbers(OpContext &c, llvm::ArrayRef<Expr> dims, Draw draw) {
  SmallVector<int64_t> shape;
  int64_t count = 1;
  for (const Expr &e : dims) {
    auto size = e.constant();
    if (!size)
      return c.cannot("random numbers for the open size {0}; fix it with --dim", e.str());
    shape.push_back(*size);
    if (*size < 0 || __builtin_mul_overflow(count, *size, &count) || count > maxNumbers)
      return c.cannot("more than {0} random numbers", maxNumbers);
  }
  LATHE_TRY(generator, generatorOf(c));
  SmallVector<double> values(count);
  for (double &v : values)
    v = (generator.*draw)();
  auto type = mlir::RankedTensorType::get(shape, c.g.b.getF64Type());
  return Value(c.g.b.create<ConstantOp>(c.g.loc, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<double>(values))));
}

static llvm::Error giveNumbers(OpContext &c, Draw draw, double scale, double shift) {
  LATHE_TRY(r, numbers(c, c.resultDims(), draw));
  r = c.g.binary<AddOp>(c.g.binary<MulOp>(r, scale), shift);
  return c.give(c.g.cast(r, c.resultElement()));
}

static llvm::Error uniform(OpContext &c) { return giveNumbers(c, &RandomNumbers::uniform, 1, 0); }
static llvm::Error normal(OpContext &c) { return giveNumbers(c, &RandomNumbers::normal, 1, 0); }
static llvm::Error uniformBetween(OpContext &c) {
  return giveNumbers(c, &RandomNumbers::uniform, c.real("to") - c.real("from"), c.real("from"));
}
static llvm::Error normalAround(OpContext &c) { return giveNumbers(c, &RandomNumbers::normal, c.real("std"), c.real("mean")); }

static llvm::Error integers(OpContext &c) {
  LATHE_TRY(r, numbers(c, c.resultDims(), &RandomNumbers::uniform));
  double low = c.real("low"), high = c.real("high");
  Value whole = c.g.unary<FloorOp>(c.g.binary<AddOp>(c.g.binary<MulOp>(r, high - low), low));
  return c.give(c.g.cast(whole, c.resultElement()));
}

/// The distribution's quantile at a uniform number.
template <Value (*quantile)(OpContext &, Value)> static llvm::Error fromUniform(OpContext &c) {
  LATHE_TRY(u, numbers(c, c.resultDims(), &RandomNumbers::uniform));
  return c.give(c.g.cast(quantile(c, u), c.resultElement()));
}
static Value logOfRest(OpContext &c, Value u) { return c.g.unary<Log1pOp>(c.g.unary<NegOp>(u)); }
static Value exponentialAt(OpContext &c, Value u) { return c.g.binary<DivOp>(logOfRest(c, u), -c.real("lambd")); }
static Value cauchyAt(OpContext &c, Value u) {
  Value t = c.g.unary<TanOp>(c.g.binary<MulOp>(c.g.binary<SubOp>(u, 0.5), M_PI));
  return c.g.binary<AddOp>(c.g.binary<MulOp>(t, c.real("sigma")), c.real("median"));
}
static Value geometricAt(OpContext &c, Value u) {
  Value tries = c.g.unary<CeilOp>(c.g.binary<DivOp>(logOfRest(c, u), std::log1p(-c.real("p"))));
  return c.g.binary<MaxOp>(tries, 1.0);
}

static llvm::Error logNormal(OpContext &c) {
  LATHE_TRY(n, numbers(c, c.resultDims(), &RandomNumbers::normal));
  Value x = c.g.binary<AddOp>(c.g.binary<MulOp>(n, c.real("std")), c.real("mean"));
  return c.give(c.g.cast(c.g.unary<ExpOp>(x), c.resultElement()));
}

/// Around each element, or with each deviation.
static llvm::Error normalEach(OpContext &c) {
  LATHE_TRY(n, numbers(c, c.resultDims(), &RandomNumbers::normal));
  Value all[] = {c.materialize(c.operand("mean"), elementOf(n)), c.materialize(c.operand("std"), elementOf(n)), n};
  if (llvm::Error e = c.broadcast(all))
    return e;
  return c.give(c.g.cast(c.g.add(c.g.mul(all[2], all[1]), all[0]), c.resultElement()));
}

/// With replacement: where a uniform number falls among the running sums. Without: the first in the order of log(u) / weight
/// (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).
static llvm::Error multinomial(OpContext &c) {
  Value weights = c.g.cast(c.tensor("self"), c.g.b.getF64Type());
  int64_t last = typeOf(weights).getRank() - 1;
  Dims given = dimsOf(weights), drawn = c.resultDims();
  if (last < 0 || drawn.size() != given.size())
    return c.wrong("weights of {0}", weights.getType());
  for (int64_t d = 0; d < last; ++d)
    if (llvm::Error e = c.needEqual(given[d], drawn[d]))
      return e;
  if (!c.flag("replacement")) {
    LATHE_TRY(u, numbers(c, dimsOf(weights), &RandomNumbers::uniform));
    Value key = c.g.div(logOfRest(c, u), weights);
    key = c.g.select(c.g.compare(CompareKind::GT, weights, c.g.splatLike(0, weights)), key, c.g.splatLike(-INFINITY, key));
    return c.give(c.g.cast(c.g.sort(key, last, true, c.resultDims()[last]), c.resultElement()));
  }
  LATHE_TRY(u, numbers(c, c.resultDims(), &RandomNumbers::uniform));
  Value sums = c.g.scan(ScanKind::Sum, weights, last), total = c.g.reduce(ReduceKind::Max, sums, {last}, true);
  Dims dims = dimsOf(u); // [.., draws, weights]
  dims.push_back(dimsOf(weights)[last]);
  Value draw = c.g.broadcastTo(c.g.unsqueeze(c.g.mul(u, c.g.broadcastTo(total, dimsOf(u))), {last + 1}), dims);
  Value passed = c.g.compare(CompareKind::LE, c.g.broadcastTo(c.g.unsqueeze(sums, {last}), dims), draw);
  return c.give(c.g.reduce(ReduceKind::Sum, c.g.cast(passed, c.resultElement()), {last + 1}, false));
}

/// Dropout that keeps mean and deviation of what scaled exponential units give; `whole`: of channels.
template <bool whole> static llvm::Error alphaDropout(OpContext &c) {
  Value x = c.tensor("input");
  double p = c.real("p");
  if (!c.flag("train") || p == 0)
    return c.give(x);
  if (p >= 1)
    return c.give(c.g.splatLike(0, x));
  Dims dims = dimsOf(x);
  for (size_t i = 2; whole && i < dims.size(); ++i)
    dims[i] = Expr(1);
  LATHE_TRY(u, numbers(c, dims, &RandomNumbers::uniform));
  constexpr double alpha = 1.7580993408473766;
  double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  Value keep = c.g.broadcastTo(c.g.compare(CompareKind::GE, u, c.g.splatLike(p, u)), dimsOf(x));
  Value kept = c.g.binary<AddOp>(c.g.binary<MulOp>(x, a), alpha * a * p);
  return c.give(c.g.select(keep, kept, c.g.splatLike(alpha * a * (p - 1), x)));
}

/// Fisher and Yates.
static llvm::Error permutation(OpContext &c) {
  auto n = c.size("n").constant();
  if (!n || *n < 0 || *n > maxNumbers)
    return c.cannot("a permutation of {0} numbers", c.size("n").str());
  LATHE_TRY(generator, generatorOf(c));
  SmallVector<int64_t> order(*n);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = *n - 1; i > 0; --i)
    std::swap(order[i], order[int64_t(generator.uniform() * double(i + 1))]);
  return c.give(c.g.cast(c.g.integers(order), c.resultElement()));
}

/// 1 with the probability that the element says, or the argument.
static llvm::Error bernoulli(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(u, numbers(c, dimsOf(x), &RandomNumbers::uniform));
  Value p = c.has("p") ? c.g.splatLike(c.real("p"), u) : c.g.cast(x, elementOf(u));
  return c.give(c.g.cast(c.g.compare(CompareKind::LT, u, p), c.resultElement()));
}

/// The result, and what was kept.
static llvm::Error dropout(OpContext &c) {
  Value x = c.tensor("input");
  double p = c.real("p");
  Type i1 = c.g.b.getI1Type();
  bool trains = !c.has("train") || c.flag("train");
  if (!trains || p == 0) {
    (void)c.give(x);
    return c.give(c.g.splat(1, dimsOf(x), i1));
  }
  LATHE_TRY(u, numbers(c, dimsOf(x), &RandomNumbers::uniform));
  Value keep = c.g.compare(CompareKind::GE, u, c.g.splatLike(p, u));
  Value scaled = p >= 1 ? c.g.splatLike(0, x) : c.g.binary<MulOp>(x, 1 / (1 - p));
  (void)c.give(c.g.select(keep, scaled, c.g.splatLike(0, x)));
  return c.give(keep);
}

llvm::ArrayRef<OpEntry> fx::randomOps() {
  static const char *const sized = "size:N* dtype:D?";
  static const char *const like = "self:T dtype:D?";
  static const OpEntry table[] = {
      {"rand.default", sized, uniform},
      {"randn.default", sized, normal},
      {"rand_like.default", like, uniform},
      {"randn_like.default", like, normal},
      {"uniform.default", "self:T from:F=0 to:F=1", uniformBetween},
      {"normal_functional.default", "self:T mean:F=0 std:F=1", normalAround},
      {"normal.default", "self:T mean:F=0 std:F=1", normalAround},
      {"normal.float_float", "mean:F std:F size:N* dtype:D?", normalAround},
      {"normal.Tensor_float", "mean:TS std:TS=1", normalEach},
      {"normal.float_Tensor", "mean:TS std:TS", normalEach},
      {"normal.Tensor_Tensor", "mean:TS std:TS", normalEach},
      {"log_normal.default", "self:T mean:F=1 std:F=2", logNormal},
      {"exponential.default", "self:T lambd:F=1", fromUniform<exponentialAt>},
      {"cauchy.default", "self:T median:F=0 sigma:F=1", fromUniform<cauchyAt>},
      {"geometric.default", "self:T p:F", fromUniform<geometricAt>},
      {"multinomial.default", "self:T num_samples:N replacement:B=false", multinomial},
      {"alpha_dropout.default", "input:T p:F train:B", alphaDropout<false>},
      {"feature_alpha_dropout.default", "input:T p:F train:B", alphaDropout<true>},
      {"randint.default", "high:F size:N* low:F=0 dtype:D?", integers},
      {"randint.low", "low:F high:F size:N* dtype:D?", integers},
      {"randint_like.default", "self:T high:F low:F=0 dtype:D?", integers},
      {"randint_like.low_dtype", "self:T low:F high:F dtype:D?", integers},
      {"randperm.default", "n:N dtype:D?", permutation},
      {"bernoulli.default", "self:T", bernoulli},
      {"bernoulli.p", "self:T p:F", bernoulli},
      {"native_dropout.default", "input:T p:F train:B?", dropout},
  };
  return table;
}
