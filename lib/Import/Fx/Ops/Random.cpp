//===- Random.cpp - Random numbers ------------------------------------------===//
//
// Drawn when compiling, where the user accepts that (see lathe/Import/RandomNumbers.h); of open sizes, computed from each element's
// place by a key that is drawn when compiling.
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

/// As they are drawn here, and as they are made of [0, 1) numbers at run time.
struct Draw {
  double (RandomNumbers::*next)();
  Value (*made)(OpContext &c, llvm::ArrayRef<Expr> dims, uint64_t key);
};

static llvm::Error needSeed(OpContext &c) {
  if (c.seed)
    return llvm::Error::success();
  return c.cannot("random numbers: an artifact has those that were drawn when it was compiled, in every run; accept that with "
                  "--seed N");
}

//===----------------------------------------------------------------------===//
// Numbers of open sizes
//===----------------------------------------------------------------------===//

static Value word(OpContext &c, uint64_t value, Value like) {
  auto type = mlir::RankedTensorType::get({}, elementOf(like));
  Value v = c.g.b.create<ConstantOp>(c.g.loc, mlir::DenseElementsAttr::get(type, llvm::APInt(64, value)));
  return c.g.broadcastTo(v, dimsOf(like));
}
static Value folded(OpContext &c, Value z, uint64_t shift) { return c.g.binary<XorOp>(z, c.g.binary<ShrOp>(z, word(c, shift, z))); }

/// Each element's place in row order, mixed with the key (SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014), as 53 bits: the same numbers in every run, and the first of a longer list are those of a shorter one.
static Value uniformAt(OpContext &c, llvm::ArrayRef<Expr> dims, uint64_t key) {
  Type u64 = c.g.b.getIntegerType(64, false);
  Expr count = c.g.facts.simplify(shape::product(dims));
  Value z = c.g.cast(c.g.iota({count}, 0, c.g.b.getI64Type()), u64);
  z = c.g.add(c.g.mul(z, word(c, 0x9e3779b97f4a7c15, z)), word(c, key, z));
  z = c.g.mul(folded(c, z, 30), word(c, 0xbf58476d1ce4e5b9, z));
  z = c.g.mul(folded(c, z, 27), word(c, 0x94d049bb133111eb, z));
  z = c.g.binary<ShrOp>(folded(c, z, 31), word(c, 11, z));
  return c.g.reshape(c.g.binary<MulOp>(c.g.cast(z, c.g.b.getF64Type()), 0x1p-53), dims);
}

/// By Box and Muller, of two uniform numbers.
static Value normalAt(OpContext &c, llvm::ArrayRef<Expr> dims, uint64_t key) {
  Value u = uniformAt(c, dims, key), v = uniformAt(c, dims, ~key);
  Value length = c.g.unary<SqrtOp>(c.g.binary<MulOp>(c.g.unary<Log1pOp>(c.g.unary<NegOp>(u)), -2));
  return c.g.mul(length, c.g.unary<CosOp>(c.g.binary<MulOp>(v, 2 * M_PI)));
}

static constexpr Draw uniformNumbers{&RandomNumbers::uniform, uniformAt}, normalNumbers{&RandomNumbers::normal, normalAt};

/// Nothing where a size is open, or there are more than an artifact should carry.
static std::optional<SmallVector<int64_t>> constantShape(llvm::ArrayRef<Expr> dims) {
  SmallVector<int64_t> shape;
  int64_t count = 1;
  for (const Expr &e : dims) {
    auto size = e.constant();
    if (!size || *size < 0 || __builtin_mul_overflow(count, *size, &count) || count > maxNumbers)
      return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

/// As many numbers, in f64.
static llvm::Expected<Value> numbers(OpContext &c, llvm::ArrayRef<Expr> dims, const Draw &draw) {
  if (llvm::Error e = needSeed(c))
    return std::move(e);
  RandomNumbers generator(*c.seed, c.node.name);
  auto shape = constantShape(dims);
  if (!shape) // two halves of 53 bits make a key
    return draw.made(c, dims, uint64_t(generator.uniform() * 0x1p53) << 11 ^ uint64_t(generator.uniform() * 0x1p53));
  auto type = mlir::RankedTensorType::get(*shape, c.g.b.getF64Type());
  SmallVector<double> values(type.getNumElements());
  for (double &v : values)
    v = (generator.*draw.next)();
  return Value(c.g.b.create<ConstantOp>(c.g.loc, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<double>(values))));
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

static llvm::Error giveNumbers(OpContext &c, const Draw &draw, double scale, double shift) {
  LATHE_TRY(r, numbers(c, c.resultDims(), draw));
  r = c.g.binary<AddOp>(c.g.binary<MulOp>(r, scale), shift);
  return c.give(c.g.cast(r, c.resultElement()));
}

static llvm::Error uniform(OpContext &c) { return giveNumbers(c, uniformNumbers, 1, 0); }
static llvm::Error normal(OpContext &c) { return giveNumbers(c, normalNumbers, 1, 0); }
static llvm::Error uniformBetween(OpContext &c) {
  return giveNumbers(c, uniformNumbers, c.real("to") - c.real("from"), c.real("from"));
}
static llvm::Error normalAround(OpContext &c) { return giveNumbers(c, normalNumbers, c.real("std"), c.real("mean")); }

static llvm::Error integers(OpContext &c) {
  LATHE_TRY(r, numbers(c, c.resultDims(), uniformNumbers));
  double low = c.real("low"), high = c.real("high");
  Value whole = c.g.unary<FloorOp>(c.g.binary<AddOp>(c.g.binary<MulOp>(r, high - low), low));
  return c.give(c.g.cast(whole, c.resultElement()));
}

/// The distribution's quantile at a uniform number.
template <Value (*quantile)(OpContext &, Value)> static llvm::Error fromUniform(OpContext &c) {
  LATHE_TRY(u, numbers(c, c.resultDims(), uniformNumbers));
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
  LATHE_TRY(n, numbers(c, c.resultDims(), normalNumbers));
  Value x = c.g.binary<AddOp>(c.g.binary<MulOp>(n, c.real("std")), c.real("mean"));
  return c.give(c.g.cast(c.g.unary<ExpOp>(x), c.resultElement()));
}

/// Around each element, or with each deviation.
static llvm::Error normalEach(OpContext &c) {
  LATHE_TRY(n, numbers(c, c.resultDims(), normalNumbers));
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
    LATHE_TRY(u, numbers(c, dimsOf(weights), uniformNumbers));
    Value key = c.g.div(logOfRest(c, u), weights);
    key = c.g.select(c.g.compare(CompareKind::GT, weights, c.g.splatLike(0, weights)), key, c.g.splatLike(-INFINITY, key));
    return c.give(c.g.cast(c.g.sort(key, last, true, c.resultDims()[last]), c.resultElement()));
  }
  LATHE_TRY(u, numbers(c, c.resultDims(), uniformNumbers));
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
  LATHE_TRY(u, numbers(c, dims, uniformNumbers));
  constexpr double alpha = 1.7580993408473766;
  double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  Value keep = c.g.broadcastTo(c.g.compare(CompareKind::GE, u, c.g.splatLike(p, u)), dimsOf(x));
  Value kept = c.g.binary<AddOp>(c.g.binary<MulOp>(x, a), alpha * a * p);
  return c.give(c.g.select(keep, kept, c.g.splatLike(alpha * a * (p - 1), x)));
}

/// Fisher and Yates; of open sizes, the order of as many numbers.
static llvm::Error permutation(OpContext &c) {
  Expr count = c.size("n");
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), count)))
    return e;
  auto shape = constantShape({count});
  if (!shape) {
    LATHE_TRY(u, numbers(c, {count}, uniformNumbers));
    return c.give(c.g.cast(c.g.sort(u, 0, false, count), c.resultElement()));
  }
  if (llvm::Error e = needSeed(c))
    return e;
  RandomNumbers generator(*c.seed, c.node.name);
  SmallVector<int64_t> order((*shape)[0]);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = int64_t(order.size()) - 1; i > 0; --i)
    std::swap(order[i], order[int64_t(generator.uniform() * double(i + 1))]);
  return c.give(c.g.cast(c.g.integers(order), c.resultElement()));
}

/// 1 with the probability that the element says, or the argument.
static llvm::Error bernoulli(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(u, numbers(c, dimsOf(x), uniformNumbers));
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
  LATHE_TRY(u, numbers(c, dimsOf(x), uniformNumbers));
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
