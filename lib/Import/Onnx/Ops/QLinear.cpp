//===- QLinear.cpp - ONNX Runtime's operators on quantised values ----------===//
//
// Each is an operator of the format between Dequantize and Quantize: it is built as that, on the numbers that the bytes mean.
//
//===----------------------------------------------------------------------===//

#include "Binary.h"
#include "Contractions.h"
#include "Quantization.h"
#include "Reuse.h"
#include "Windows.h"

using namespace lathe;

namespace lathe::onnx {

// Of the format, by its own files.
void averagePool(Node &);
void concat(Node &);
void globalAveragePool(Node &);
void leakyRelu(Node &);
void reduceMean(Node &);
void sigmoid(Node &);
void softmax(Node &);
void where(Node &);

/// (bytes - zero point) * scale of three operands from `at` on; the zero point may be missing. In steps of the result, whose scale is operand
/// `step`, where what is done with it is linear: as ONNX Runtime's kernels, it divides scales, not elements. A division takes as long as all
/// else that there is to do for an element, and sums that lie between two steps are as exact as the ratio.
static Value meant(Node &n, unsigned at, std::optional<unsigned> step = std::nullopt) {
  Value x = n.in(at), scale = n.in(at + 1);
  n.requireInteger(x);
  n.requireFloat(scale);
  Type f32 = n.g.b.getF32Type();
  Value wide = centered(n, x, n.maybe(at + 2), f32, false), factor = n.g.cast(scale, f32);
  if (step) {
    n.requireFloat(n.in(*step));
    Value scales[] = {factor, n.g.cast(n.in(*step), f32)};
    fitTogether(n, scales, x);
    factor = n.g.div(scales[0], scales[1]);
  }
  return n.g.mul(wide, n.broadcastTo(factor, n.dims(x)));
}

/// Steps of the result as bytes of the zero point `at`.
static void inSteps(Node &n, Value steps, unsigned at, Type otherwise) {
  Value zero = n.maybe(at);
  n.out(rounded(n, steps, zero ? n.broadcastTo(zero, n.dims(steps)) : Value(), zero ? n.element(zero) : otherwise));
}

/// y as bytes of the scale and the zero point from `at` on.
static void quantised(Node &n, Value y, unsigned at, Type otherwise) {
  Value scale = n.in(at);
  n.requireFloat(scale);
  inSteps(n, n.g.div(y, n.broadcastTo(n.g.cast(scale, n.element(y)), n.dims(y))), at + 1, otherwise);
}

std::vector<Value> resultsOf(Node &n, Handler handler, std::vector<Value> operands, int64_t opset) {
  Attributes attributes;
  for (const AttributeProto &a : n.proto.attribute())
    attributes[a.name()] = n.attribute(a.name());
  Node inner(n.importer, n.proto, opset, std::move(attributes), std::move(operands), n.g.loc);
  handler(inner);
  return inner.results();
}

static Value made(Node &n, Handler handler, std::vector<Value> operands, int64_t opset = 17) {
  return resultsOf(n, handler, std::move(operands), opset).at(0);
}

static void ofOne(Node &n, Handler handler, int64_t opset = 17) {
  quantised(n, made(n, handler, {meant(n, 0)}, opset), 3, n.element(n.in(0)));
}

void qLinearSigmoid(Node &n) { ofOne(n, sigmoid); }
void qLinearLeakyRelu(Node &n) { ofOne(n, leakyRelu); }
void qLinearSoftmax(Node &n) { ofOne(n, softmax, n.requiredInteger("opset")); }

void qLinearReduceMean(Node &n) { inSteps(n, made(n, reduceMean, {meant(n, 0, 3)}), 4, n.element(n.in(0))); }

void qLinearAdd(Node &n) { inSteps(n, made(n, binary<ir::AddOp, Accepts::Numbers>, {meant(n, 0, 6), meant(n, 3, 6)}), 7, n.element(n.in(0))); }
void qLinearMul(Node &n) { inSteps(n, made(n, binary<ir::MulOp, Accepts::Numbers>, {meant(n, 0, 6), meant(n, 3)}), 7, n.element(n.in(0))); }
void qLinearWhere(Node &n) { inSteps(n, made(n, where, {n.in(0), meant(n, 1, 7), meant(n, 4, 7)}), 8, n.element(n.in(1))); }

/// The result's scale and zero point come first, then operands with theirs.
void qLinearConcat(Node &n) {
  std::vector<Value> parts;
  for (unsigned at = 2; at < n.numInputs(); at += 3)
    parts.push_back(meant(n, at, 0));
  inSteps(n, made(n, concat, parts), 1, n.element(n.in(2)));
}

/// Of an image whose channels may come last.
static void pool(Node &n, Handler handler) {
  Value x = meant(n, 0, 3);
  bool last = n.flag("channels_last", false);
  if (last)
    n.requireRankAtLeast(x, 3);
  Value y = made(n, handler, {last ? channelsSecond(n, x) : x});
  inSteps(n, last ? channelsLast(n, y) : y, 4, n.element(n.in(0)));
}

void qLinearAveragePool(Node &n) { pool(n, averagePool); }
void qLinearGlobalAveragePool(Node &n) { pool(n, globalAveragePool); }

//===----------------------------------------------------------------------===//
// Products with a float result
//===----------------------------------------------------------------------===//

/// The sum of products of bytes times both scales, plus a bias.
static void scaledProduct(Node &n, const DynamicBytes &a, Value b, Value bScale, Value bZero, Value bias) {
  Type i32 = n.g.b.getI32Type(), f32 = n.g.b.getF32Type();
  n.requireInteger(b);
  n.requireFloat(bScale);
  Value sum = matrixProduct(n, centered(n, a.bytes, a.zero, i32, true), centered(n, b, bZero, i32, false));
  Dims dims = n.dims(sum);
  int64_t last = std::max<int64_t>(0, n.rank(sum) - 1);
  Value factors[] = {perChannel(n, n.g.cast(a.scale, f32), sum, last), perChannel(n, n.g.cast(bScale, f32), sum, last)};
  fitTogether(n, factors, sum);
  Value y = n.g.mul(n.g.cast(sum, f32), n.broadcastTo(n.g.mul(factors[0], factors[1]), dims));
  n.out(bias ? n.g.add(y, n.broadcastTo(n.g.cast(bias, f32), dims)) : y);
}

void matMulIntegerToFloat(Node &n) {
  n.requireInteger(n.in(0));
  n.requireFloat(n.in(2));
  scaledProduct(n, {n.in(0), n.in(2), n.maybe(4)}, n.in(1), n.in(3), n.maybe(5), n.maybe(6));
}

/// A float operand that is quantised as DynamicQuantizeLinear has it.
void dynamicQuantizeMatMul(Node &n) {
  if (!n.element(n.in(0)).isF32())
    failWrong("operand {0} must be of type float", describe(n.in(0).getType()));
  scaledProduct(n, dynamicBytes(n, n.in(0)), n.in(1), n.in(2), n.maybe(3), n.maybe(4));
}

} // namespace lathe::onnx
