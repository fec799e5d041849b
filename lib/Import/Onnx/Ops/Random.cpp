//===- Random.cpp - Random numbers with a seed -----------------------------===//
//
// The format leaves the generator open, and the seed where a node has none: another runtime draws other numbers, and others in the
// next run. An artifact computes the same for the same inputs, from numbers drawn when it is compiled. That is not what every
// model means, so that the user has to ask for it (--seed). The node's seed goes before the user's, which gives every node numbers
// of its own. The numbers are those of the Mersenne Twister, seeded and read as numpy.random.RandomState(seed) does.
//
//===----------------------------------------------------------------------===//

#include "../Advice.h"
#include "GraphImporter.h"
#include "Node.h"
#include "lathe/Import/RandomNumbers.h"

using namespace lathe;
using ir::CompareKind;
using llvm::SmallVector;

namespace lathe::onnx {

/// More numbers would make the artifact large.
static constexpr int64_t kMaxNumbers = 1 << 22;

using Generator = RandomNumbers;

static Generator generatorOf(Node &n) {
  std::optional<uint32_t> given = n.importer.session().sizes.importOptions().seed;
  if (!given)
    failUnsupported("random numbers: an artifact has those that were drawn when it was compiled, in every run, and no other "
                    "generator draws the same from a seed; accept that with --seed N (used where the node has no attribute 'seed')");
  const AttributeProto *a = n.attribute("seed");
  if (!a)
    return Generator(*given, llvm::cast<mlir::NameLoc>(n.g.loc).getName().getValue());
  double seed = a->type() == AttributeProto::INT || a->has_i() ? double(n.integer("seed", 0)) : n.real("seed", 0);
  if (!(seed >= 0) || seed > 4294967295.0)
    failWrong("attribute 'seed' is {0}, expected 0 to 4294967295", seed);
  return Generator(uint32_t(seed));
}

/// A constant of as many numbers, in f64.
static Value numbers(Node &n, const Dims &dims, Generator &generator, double (Generator::*draw)()) {
  SmallVector<int64_t> shape;
  int64_t count = 1;
  for (const Expr &e : dims) {
    std::optional<int64_t> c = n.simplify(e).constant();
    if (!c)
      failUnsupported("random numbers for the symbolic size {0}{1}", e.str(), adviceFor(n, e));
    if (*c < 0)
      failWrong("random numbers for the size {0}", *c);
    shape.push_back(*c);
    if (__builtin_mul_overflow(count, *c, &count) || count > kMaxNumbers)
      failUnsupported("more than {0} random numbers", kMaxNumbers);
  }
  SmallVector<double> values(count);
  for (double &v : values)
    v = (generator.*draw)();
  return n.constant(mlir::DenseElementsAttr::get(RankedTensorType::get(shape, n.g.b.getF64Type()), llvm::ArrayRef<double>(values)));
}

static Value uniformNumbers(Node &n, const Dims &dims) {
  Generator g = generatorOf(n);
  return numbers(n, dims, g, &Generator::uniform);
}

static Type resultType(Node &n, Type otherwise) {
  int64_t asked = n.integer("dtype", 0);
  return asked ? n.elementOfOnnx(asked) : otherwise;
}

static Dims shapeAttribute(Node &n) {
  if (!n.hasAttribute("shape"))
    failWrong("attribute 'shape' is missing");
  Dims dims;
  for (int64_t s : n.integers("shape"))
    dims.push_back(Expr(s));
  return dims;
}

static void uniform(Node &n, const Dims &dims, Type type) {
  double low = n.real("low", 0), high = n.real("high", 1);
  Value u = n.g.binary<ir::MulOp>(uniformNumbers(n, dims), high - low);
  n.out(n.g.cast(n.g.binary<ir::AddOp>(u, low), type));
}

static void normal(Node &n, const Dims &dims, Type type) {
  Generator g = generatorOf(n);
  Value x = n.g.binary<ir::MulOp>(numbers(n, dims, g, &Generator::normal), n.real("scale", 1));
  n.out(n.g.cast(n.g.binary<ir::AddOp>(x, n.real("mean", 0)), type));
}

void randomUniform(Node &n) { uniform(n, shapeAttribute(n), resultType(n, n.g.b.getF32Type())); }
void randomNormal(Node &n) { normal(n, shapeAttribute(n), resultType(n, n.g.b.getF32Type())); }
void randomUniformLike(Node &n) { uniform(n, n.dims(n.in(0)), resultType(n, n.element(n.in(0)))); }
void randomNormalLike(Node &n) { normal(n, n.dims(n.in(0)), resultType(n, n.element(n.in(0)))); }

/// As numpy's binomial(1, p): the rarer outcome is the one of the large numbers.
void bernoulli(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  Value u = uniformNumbers(n, n.dims(x)), p = n.g.cast(x, n.element(u));
  Value rare = n.g.compare(CompareKind::GT, u, n.g.sub(n.g.splatLike(1, p), p)), often = n.g.compare(CompareKind::LE, u, p);
  Value hit = n.g.select(n.g.compare(CompareKind::LE, p, n.g.splatLike(0.5, p)), rare, often);
  n.out(n.g.cast(hit, resultType(n, n.element(x))));
}

/// As many outcomes before the first whose cumulated probability is above the number.
void multinomial(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRank(x, 2);
  Dims d = n.dims(x);
  int64_t samples = n.integer("sample_size", 1);
  if (samples < 1 || samples > kMaxNumbers)
    failWrong("attribute 'sample_size' is {0}", samples);
  Type f64 = n.g.b.getF64Type(), i64 = n.g.b.getI64Type();
  Value p = n.g.softmax(n.g.cast(x, f64), 1);
  Dims triangle{d[1], d[1]}, cube{d[0], Expr(samples), d[1]};
  Value below = n.g.compare(CompareKind::LE, n.g.iota(triangle, 0, i64), n.g.iota(triangle, 1, i64));
  Value cumulated = n.g.contract(p, n.g.cast(below, f64), {}, {}, {1}, {0});
  Value u = n.g.broadcastTo(n.g.unsqueeze(uniformNumbers(n, {d[0], Expr(samples)}), {2}), cube);
  Value passed = n.g.compare(CompareKind::GE, u, n.g.broadcastTo(n.g.unsqueeze(cumulated, {1}), cube));
  Value at = n.g.reduce(ir::ReduceKind::Sum, n.g.cast(passed, i64), {2}, false);
  Value last = n.g.broadcastTo(n.g.size(n.simplify(d[1] - Expr(1))), n.dims(at));
  n.out(n.g.cast(n.g.binary<ir::MinOp>(at, last), resultType(n, n.g.b.getI32Type())));
}

/// Nothing is dropped, and the mask says so, unless the model trains.
void dropout(Node &n) {
  Value x = n.in(0);
  Type i1 = n.g.b.getI1Type();
  std::optional<bool> trains = false;
  if (n.has(2)) {
    n.requireBool(n.in(2));
    n.requireEqual(shape::product(n.dims(n.in(2))), Expr(1), "the training mode");
    auto known = ir::symbolicValue(n.in(2));
    std::optional<int64_t> value = known && known->size() == 1 ? (*known)[0].constant() : std::nullopt;
    trains = value ? std::optional<bool>(*value != 0) : std::nullopt;
  }
  if (trains && !*trains) {
    n.out(0, x);
    if (n.wants(1)) // the mask has been boolean since opset 10
      n.out(1, n.g.splat(1, n.dims(x), n.opset() >= 10 ? Type(i1) : n.element(x)));
    return;
  }
  n.requireFloat(x);
  Dims dims = n.dims(x);
  Value u = uniformNumbers(n, dims);
  auto number = [&](Value v, Type type) { return n.g.broadcastTo(n.g.cast(n.reshape(v, {}), type), dims); };
  Type f64 = n.element(u);
  Value ratio = n.has(1) ? number(n.in(1), f64) : n.g.splat(0.5, dims, f64);
  Value keep = n.g.compare(CompareKind::GE, u, ratio);
  Value scale = n.g.div(n.g.splat(1, dims, f64), n.g.sub(n.g.splat(1, dims, f64), ratio));
  Value scaled = n.g.cast(n.g.mul(n.g.cast(x, f64), scale), n.element(x));
  Value y = n.g.select(keep, scaled, n.g.splatLike(0, x));
  if (!trains) {
    Value mode = number(n.in(2), i1);
    y = n.g.select(mode, y, x);
    keep = n.g.select(mode, keep, n.g.splat(1, dims, i1));
  }
  n.out(0, y);
  n.out(1, keep);
}

} // namespace lathe::onnx
