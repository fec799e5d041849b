//===- Norm.cpp - Normalisations --------------------------------------------===//
//
// Half types are normalised in float32, as torch does.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static bool isHalf(Type t) { return t.isF16() || t.isBF16(); }
static Type computeType(OpContext &c, Value x) { return isHalf(elementOf(x)) ? Type(c.g.b.getF32Type()) : elementOf(x); }
static Value castOrNull(OpContext &c, Value v, Type t) { return v ? c.g.cast(v, t) : v; }

/// The first of the normalised dimensions, which `shape` must be the last of x.
static llvm::Expected<int64_t> firstNormalized(OpContext &c, Value x) {
  Dims shape = c.sizes("normalized_shape"), dims = dimsOf(x);
  bool fits = !shape.empty() && shape.size() <= dims.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = c.fits(shape[i], dims[dims.size() - shape.size() + i]);
  for (const char *name : {"weight", "bias"})
    if (Value v = c.tensor(name)) {
      fits = fits && dimsOf(v).size() == shape.size();
      for (size_t i = 0; fits && i < shape.size(); ++i)
        fits = c.fits(shape[i], dimsOf(v)[i]);
    }
  if (!fits)
    return c.wrong("the normalised sizes are not the last ones of {0}, or those of the weights", x.getType());
  return int64_t(dims.size() - shape.size());
}

static llvm::Error layerNorm(OpContext &c) {
  Value x = c.tensor("input");
  LATHE_TRY(axis, firstNormalized(c, x));
  Type type = computeType(c, x);
  Value y = c.g.layerNorm(c.g.cast(x, type), axis, castOrNull(c, c.tensor("weight"), type),
                          castOrNull(c, c.tensor("bias"), type), c.real("eps"));
  return c.give(c.g.cast(y, elementOf(x)));
}

/// The mean and the reciprocal of the deviation, in the types that torch gives them.
static llvm::Error giveStatistics(OpContext &c, Value mean, Value variance) {
  (void)c.give(c.g.cast(mean, c.resultElement(1)));
  return c.give(c.g.cast(c.g.unary<RsqrtOp>(c.g.binary<AddOp>(variance, c.real("eps"))), c.resultElement(2)));
}

/// Gives the mean and the reciprocal of the deviation as well.
static llvm::Error nativeLayerNorm(OpContext &c) {
  Value x = c.tensor("input");
  LATHE_TRY(axis, firstNormalized(c, x));
  if (llvm::Error e = layerNorm(c))
    return e;
  if (c.resultTypes.size() < 3)
    return llvm::Error::success();
  Type type = computeType(c, x);
  Value wide = c.g.cast(x, type);
  SmallVector<int64_t> axes;
  for (int64_t i = axis; i < typeOf(x).getRank(); ++i)
    axes.push_back(i);
  Value mean = c.g.mean(wide, axes, true);
  Value centered = c.g.sub(wide, c.g.broadcastTo(mean, dimsOf(wide)));
  Value variance = c.g.mean(c.g.mul(centered, centered), axes, true);
  return giveStatistics(c, mean, variance);
}

static llvm::Error rmsNorm(OpContext &c) {
  Value x = c.tensor("input");
  LATHE_TRY(axis, firstNormalized(c, x));
  auto type = llvm::dyn_cast<mlir::FloatType>(computeType(c, x));
  if (!type)
    return c.wrong("the input is {0}, not floating", x.getType());
  double epsilon = 1.1920928955078125e-07; // of float32; torch takes the compute type's
  if (type.isF64())
    epsilon = std::numeric_limits<double>::epsilon();
  if (auto n = c.optionalNumber("eps"))
    epsilon = n->value;
  Value y = c.g.rmsNorm(c.g.cast(x, type), axis, castOrNull(c, c.tensor("weight"), type), epsilon);
  return c.give(c.g.cast(y, elementOf(x)));
}

/// A vector over the channels as [1, C, 1, ..]; null stays null.
static llvm::Expected<Value> perChannel(OpContext &c, Value v, Type type, llvm::ArrayRef<Expr> like) {
  if (!v)
    return Value();
  if (typeOf(v).getRank() != 1 || !c.fits(dimsOf(v)[0], like[1]))
    return c.wrong("{0} is no vector over {1} channels", v.getType(), like[1].str());
  Dims dims(like.size(), Expr(1));
  dims[1] = like[1];
  return c.g.broadcastTo(c.g.reshape(c.g.cast(v, type), dims), like);
}

/// y * weight + bias, over the channels.
static llvm::Expected<Value> affine(OpContext &c, Value y, Type type) {
  Dims dims = dimsOf(y);
  LATHE_TRY(weight, perChannel(c, c.tensor("weight"), type, dims));
  LATHE_TRY(bias, perChannel(c, c.tensor("bias"), type, dims));
  if (weight)
    y = c.g.mul(y, weight);
  return bias ? c.g.add(y, bias) : y;
}

static llvm::Error batchNorm(OpContext &c) {
  Value x = c.tensor("input");
  if (c.flag("training"))
    return c.cannot("batch norm is in training mode: call model.eval() before torch.export");
  Dims dims = dimsOf(x);
  Type type = computeType(c, x);
  if (dims.size() < 2)
    return c.wrong("the input has rank {0}", dims.size());
  if (!c.tensor("running_mean") || !c.tensor("running_var"))
    return c.cannot("batch norm without running statistics");
  LATHE_TRY(mean, perChannel(c, c.tensor("running_mean"), type, dims));
  Value variance = c.g.cast(c.tensor("running_var"), type);
  Value inverse = c.g.unary<RsqrtOp>(c.g.binary<AddOp>(variance, c.real("eps")));
  LATHE_TRY(scale, perChannel(c, inverse, type, dims));
  LATHE_TRY(y, affine(c, c.g.mul(c.g.sub(c.g.cast(x, type), mean), scale), type));
  (void)c.give(c.g.cast(y, elementOf(x)));
  for (size_t i = 1; i < c.resultTypes.size() && shape::product(c.resultDims(i)).isZero(); ++i) // the batch's statistics, which nobody took
    (void)c.give(c.g.splat(0, c.resultDims(i), c.resultElement(i)));
  return llvm::Error::success();
}

/// x [N, C, ..] over groups of channels: normalised as [N, G, C / G * ..].
static llvm::Expected<Value> normalizeGroups(OpContext &c, Value x, const Expr &groups, double epsilon) {
  Dims dims = dimsOf(x);
  Expr rest = c.g.facts.simplify(shape::product(llvm::ArrayRef<Expr>(dims).drop_front()));
  auto perGroup = Expr::divideExactly(rest, groups);
  if (!perGroup || !Expr::divideExactly(dims[1], groups))
    return c.wrong("{0} channels do not form {1} groups", dims[1].str(), groups.str());
  Value grouped = c.g.reshape(x, {dims[0], groups, *perGroup});
  return c.g.reshape(c.g.layerNorm(grouped, 2, Value(), Value(), epsilon), dims);
}

static llvm::Error groupNorm(OpContext &c) {
  Value x = c.tensor("input");
  bool instance = c.has("use_input_stats");
  if (typeOf(x).getRank() < 2 || (!instance && c.integer("num_groups") < 1))
    return c.wrong("{0} groups of {1}", c.integer("num_groups"), x.getType());
  if (instance && !c.flag("use_input_stats"))
    return c.cannot("instance norm with running statistics");
  Type type = computeType(c, x);
  LATHE_TRY(y, normalizeGroups(c, c.g.cast(x, type), instance ? dimsOf(x)[1] : Expr(c.integer("num_groups")), c.real("eps")));
  LATHE_TRY(scaled, affine(c, y, type));
  return c.give(c.g.cast(scaled, elementOf(x)));
}

/// The form after decomposition: N, C and the product of the others are given too; statistics are further results.
static llvm::Error nativeGroupNorm(OpContext &c) {
  Value x = c.tensor("input");
  Expr groups(c.integer("group"));
  if (typeOf(x).getRank() < 2 || c.integer("group") < 1)
    return c.wrong("{0} groups of {1}", groups.str(), x.getType());
  Type type = computeType(c, x);
  Value wide = c.g.cast(x, type);
  LATHE_TRY(y, normalizeGroups(c, wide, groups, c.real("eps")));
  LATHE_TRY(scaled, affine(c, y, type));
  (void)c.give(c.g.cast(scaled, elementOf(x)));
  if (c.resultTypes.size() < 3)
    return llvm::Error::success();
  Dims dims = dimsOf(x);
  Expr perGroup = Expr::floordiv(c.g.facts.simplify(shape::product(llvm::ArrayRef<Expr>(dims).drop_front())), groups);
  Value grouped = c.g.reshape(wide, {dims[0], groups, perGroup}), mean = c.g.mean(grouped, {2}, true);
  Value centered = c.g.sub(grouped, c.g.broadcastTo(mean, dimsOf(grouped)));
  return giveStatistics(c, c.g.squeeze(mean, {2}), c.g.mean(c.g.mul(centered, centered), {2}, false));
}

/// The kept statistics move towards those of the batch, whose variance is over one element less.
static llvm::Error keepStatistics(OpContext &c, Value mean, Value variance, const Expr &count) {
  for (llvm::StringRef name : {"running_mean", "running_var"}) {
    Value kept = c.tensor(name), v = name == "running_var" ? variance : mean;
    if (!kept)
      continue;
    if (typeOf(kept).getRank() != 1 || !c.fits(dimsOf(kept)[0], dimsOf(v)[0]))
      return c.wrong("'{0}' is {1} for {2} channels", name, kept.getType(), dimsOf(v)[0].str());
    Value now = v;
    if (v == variance) {
      auto number = [&](const Expr &e) { return c.g.broadcastTo(c.g.cast(c.g.size(c.g.facts.simplify(e)), elementOf(v)), dimsOf(v)); };
      now = c.g.div(c.g.mul(v, number(count)), number(count - Expr(1)));
    }
    double share = c.real("momentum");
    Value moved = c.g.add(c.g.binary<MulOp>(c.g.cast(kept, elementOf(v)), 1 - share), c.g.binary<MulOp>(now, share));
    c.write(name, c.g.cast(moved, elementOf(kept)));
  }
  return llvm::Error::success();
}

/// With the statistics of the batch, which are further results, and which those that are given follow.
static llvm::Error batchStatistics(OpContext &c) {
  Value x = c.tensor("input");
  Dims dims = dimsOf(x);
  Type type = computeType(c, x);
  if (dims.size() < 2)
    return c.wrong("the input has rank {0}", dims.size());
  Value wide = c.g.cast(x, type);
  SmallVector<int64_t> axes{0};
  for (int64_t d = 2; d < int64_t(dims.size()); ++d)
    axes.push_back(d);
  Value mean = c.g.mean(wide, axes, true), centered = c.g.sub(wide, c.g.broadcastTo(mean, dims));
  Value variance = c.g.mean(c.g.mul(centered, centered), axes, true);
  Value inverse = c.g.unary<RsqrtOp>(c.g.binary<AddOp>(variance, c.real("eps")));
  LATHE_TRY(y, affine(c, c.g.mul(centered, c.g.broadcastTo(inverse, dims)), type));
  (void)c.give(c.g.cast(y, elementOf(x)));
  for (auto [i, v] : llvm::enumerate(SmallVector<Value>{mean, inverse}))
    if (c.resultTypes.size() > i + 1)
      (void)c.give(c.g.cast(c.g.squeeze(v, axes), c.resultElement(i + 1)));
  Expr count = c.g.facts.simplify(dims[0] * shape::product(llvm::ArrayRef<Expr>(dims).drop_front(2)));
  return keepStatistics(c, c.g.squeeze(mean, axes), c.g.squeeze(variance, axes), count);
}

/// Any batch norm: by the statistics that it is given, or its own.
static llvm::Error anyBatchNorm(OpContext &c) {
  bool own = c.flag("training") || !c.tensor("running_mean");
  return own ? batchStatistics(c) : batchNorm(c);
}

llvm::ArrayRef<OpEntry> fx::normOps() {
  static const char *const batch =
      "input:T weight:T? bias:T? running_mean:T? running_var:T? training:B momentum:F eps:F";
  static const char *const inference = "input:T weight:T? bias:T? running_mean:T? running_var:T? momentum:F eps:F";
  static const OpEntry table[] = {
      {"layer_norm.default", "input:T normalized_shape:N* weight:T? bias:T? eps:F=1e-05", layerNorm},
      {"native_layer_norm.default", "input:T normalized_shape:N* weight:T? bias:T? eps:F", nativeLayerNorm},
      {"rms_norm.default", "input:T normalized_shape:N* weight:T? eps:F?", rmsNorm},
      {"_fused_rms_norm.default", "input:T normalized_shape:N* weight:T? eps:F?", rmsNorm},
      {"batch_norm.default", batch, anyBatchNorm},
      {"native_batch_norm.default", batch, anyBatchNorm},
      {"_native_batch_norm_legit.default", batch, anyBatchNorm},
      {"_native_batch_norm_legit.no_stats", "input:T weight:T? bias:T? training:B momentum:F eps:F", anyBatchNorm},
      {"_native_batch_norm_legit_no_training.default", inference, batchNorm},
      {"group_norm.default", "input:T num_groups:I weight:T? bias:T? eps:F=1e-05", groupNorm},
      {"native_group_norm.default", "input:T weight:T? bias:T? N:N C:N HxW:N group:I eps:F", nativeGroupNorm},
      {"instance_norm.default",
       "input:T weight:T? bias:T? running_mean:T? running_var:T? use_input_stats:B momentum:F eps:F", groupNorm},
  };
  return table;
}
