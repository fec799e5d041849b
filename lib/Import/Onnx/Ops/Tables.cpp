//===- Tables.cpp - ai.onnx.ml: features and labels ------------------------===//

#include "Dictionary.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

static SmallVector<float> floats(Node &n, const char *name) {
  const AttributeProto *a = n.attribute(name);
  return a ? SmallVector<float>(a->floats().begin(), a->floats().end()) : SmallVector<float>();
}

static Value floatVector(Node &n, llvm::ArrayRef<float> values) {
  return n.constant(mlir::DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, n.g.b.getF32Type()), values));
}

/// A number per feature, or one for all, as x's dimensions.
static Value perFeature(Node &n, const char *name, llvm::ArrayRef<float> values, Value x) {
  if (values.empty())
    failWrong("attribute '{0}' is missing", name);
  Value v = floatVector(n, values);
  return n.broadcastTo(values.size() == 1 ? n.reshape(v, {}) : v, n.dims(x));
}

void binarizer(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  Value above = n.g.compare(CompareKind::GT, n.g.cast(x, n.g.b.getF64Type()), n.g.splat(n.real("threshold", 0), n.dims(x), n.g.b.getF64Type()));
  n.out(n.g.cast(above, n.element(x)));
}

void arrayFeatureExtractor(Node &n) {
  Value x = n.in(0), at = n.in(1);
  n.requireInteger(at);
  n.requireRankAtLeast(x, 1);
  Expr count = n.simplify(shape::product(n.dims(at)));
  if (n.rank(x) == 1)
    x = n.g.unsqueeze(x, {0});
  n.out(n.g.gather(x, n.reshape(at, {count}), n.rank(x) - 1));
}

void scaler(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  n.requireRankAtLeast(x, 1);
  x = n.g.cast(x, n.g.b.getF32Type());
  Value moved = n.g.sub(x, perFeature(n, "offset", floats(n, "offset"), x));
  n.out(n.g.mul(moved, perFeature(n, "scale", floats(n, "scale"), x)));
}

/// Replaces a value (NaN among them) by one per feature.
void imputer(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  n.requireRankAtLeast(x, 1);
  if (n.isFloat(x)) {
    double replaced = n.real("replaced_value_float", 0);
    Value by = n.g.cast(perFeature(n, "imputed_value_floats", floats(n, "imputed_value_floats"), x), n.element(x));
    Value hit = std::isnan(replaced) ? n.g.compare(CompareKind::NE, x, x) : n.g.compare(CompareKind::EQ, x, n.g.splatLike(replaced, x));
    return n.out(n.g.select(hit, by, x));
  }
  SmallVector<int64_t> values = n.integers("imputed_value_int64s");
  if (values.empty())
    failWrong("attribute 'imputed_value_int64s' is missing");
  Value by = n.g.cast(n.g.integers(values), n.element(x));
  by = n.broadcastTo(values.size() == 1 ? n.reshape(by, {}) : by, n.dims(x));
  Value replaced = n.g.broadcastTo(n.constantInteger(n.integer("replaced_value_int64", 0), n.element(x)), n.dims(x));
  n.out(n.g.select(n.g.compare(CompareKind::EQ, x, replaced), by, x));
}

void normalizer(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  n.requireRankAtLeast(x, 1);
  std::string norm = n.text("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    failWrong("attribute 'norm' is '{0}', expected MAX, L1 or L2", norm);
  x = n.g.cast(x, n.g.b.getF32Type());
  int64_t last = n.rank(x) - 1;
  Value size = norm == "L2" ? n.g.mul(x, x) : norm == "L1" ? n.g.unary<ir::AbsOp>(x) : x;
  Value total = n.g.reduce(norm == "MAX" ? ReduceKind::Max : ReduceKind::Sum, size, {last}, true);
  total = norm == "L2" ? n.g.unary<ir::SqrtOp>(total) : total;
  Value zero = n.g.compare(CompareKind::EQ, total, n.g.splatLike(0, total));
  total = n.g.select(zero, n.g.splatLike(1, total), total);
  n.out(n.g.div(x, n.g.broadcastTo(total, n.dims(x))));
}

void linearRegressor(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  if (n.rank(x) == 1)
    x = n.g.unsqueeze(x, {0});
  n.requireRank(x, 2);
  if (n.text("post_transform", "NONE") != "NONE")
    failUnsupported("attribute 'post_transform' is '{0}'", n.text("post_transform", "NONE"));
  int64_t targets = n.integer("targets", 1);
  SmallVector<float> coefficients = floats(n, "coefficients"), intercepts = floats(n, "intercepts");
  if (targets < 1 || coefficients.empty() || coefficients.size() % targets || (!intercepts.empty() && int64_t(intercepts.size()) != targets))
    failWrong("{0} coefficients and {1} intercepts for {2} targets", coefficients.size(), intercepts.size(), targets);
  int64_t features = coefficients.size() / targets;
  n.requireEqual(n.dim(x, 1), Expr(features), "the features and the coefficients");
  Value weights = n.reshape(floatVector(n, coefficients), {Expr(targets), Expr(features)});
  x = n.reshape(n.g.cast(x, n.g.b.getF32Type()), {n.dim(x, 0), Expr(features)});
  n.out(n.g.linear(x, weights, intercepts.empty() ? Value() : floatVector(n, intercepts)));
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

/// The keys or values of the encoder as a constant vector.
static Value labels(Node &n, const std::string &what) {
  if (const TensorProto *t = n.tensor(what + "_tensor")) {
    Value v = n.constant(*t);
    if (n.rank(v) != 1)
      failWrong("attribute '{0}_tensor' is {1}, expected rank 1", what, describe(v.getType()));
    return v;
  }
  if (n.hasAttribute(what + "_int64s"))
    return n.g.integers(n.integers(what + "_int64s"));
  if (n.hasAttribute(what + "_floats"))
    return floatVector(n, floats(n, (what + "_floats").c_str()));
  failUnsupported("{0} that are strings", what);
}

/// Where each element stands among the encoder's keys.
static Value placeAmongKeys(Node &n, Value x, Value keys) {
  mlir::ElementsAttr attr;
  std::optional<ir::ConstantTensor> known = matchPattern(keys, mlir::m_Constant(&attr)) ? ir::readConstant(attr) : std::nullopt;
  if (!known)
    failUnsupported("keys of type {0}", describe(keys.getType()));
  return known->isFloat() ? placeAmong(n, x, llvm::ArrayRef<double>(known->floats)) : placeAmong(n, x, llvm::ArrayRef<int64_t>(known->ints));
}

void labelEncoder(Node &n) {
  Value x = n.in(0), keys = labels(n, "keys"), values = labels(n, "values");
  n.requireSameElement({x, keys});
  Expr count = n.dim(keys, 0);
  n.requireEqual(n.dim(values, 0), count, "the keys and the values");
  Type to = n.element(values);
  Value otherwise = llvm::isa<mlir::FloatType>(to) ? n.g.scalar(n.real("default_float", 0), to)
                                                   : n.constantInteger(n.integer("default_int64", -1), to);
  if (const TensorProto *t = n.tensor("default_tensor")) {
    otherwise = n.constant(*t);
    n.requireSameElement({values, otherwise});
    otherwise = n.reshape(otherwise, {});
  }
  Value place = placeAmongKeys(n, x, keys);
  n.out(n.g.gather(n.g.concat({values, n.reshape(otherwise, {Expr(1)})}, 0), place, 0));
}

} // namespace lathe::onnx
