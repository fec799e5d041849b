//===- Random.cpp - Random numbers ------------------------------------------===//
//
// Drawn when compiling, where the user accepts that (see lathe/Import/RandomNumbers.h).
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "lathe/Import/RandomNumbers.h"
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
