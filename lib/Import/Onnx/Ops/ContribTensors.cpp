//===- ContribTensors.cpp - ONNX Runtime's operators on whole tensors ------===//
//
// Most are the format's own under another name, or with their operands in another form.
// Source: ONNX Runtime, docs/ContribOperators.md.
//
//===----------------------------------------------------------------------===//

#include "Reuse.h"
#include "Windows.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

// Of the format, by its own files.
void gatherNd(Node &);
void gridSample(Node &);
void maxPool(Node &);
void pad(Node &);
void range(Node &);

static std::vector<Value> operandsOf(Node &n) {
  std::vector<Value> out;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    out.push_back(n.maybe(i));
  return out;
}

void contribGatherNd(Node &n) { n.out(resultsOf(n, gatherNd, operandsOf(n), 11)[0]); }
void contribGridSample(Node &n) { n.out(resultsOf(n, gridSample, operandsOf(n), 16)[0]); }

/// The amounts may be a list of one list.
void contribPad(Node &n) {
  std::vector<Value> operands = operandsOf(n);
  operands.at(1) = n.reshape(n.in(1), {n.simplify(shape::product(n.dims(n.in(1))))});
  n.out(resultsOf(n, pad, operands, 13)[0]);
}

/// In steps of 1 where it does not say.
void contribRange(Node &n) {
  std::vector<Value> operands{n.in(0), n.in(1), n.has(2) ? n.in(2) : n.constantInteger(1, n.element(n.in(0)))};
  n.out(resultsOf(n, range, operands, 11)[0]);
}

void expandDims(Node &n) {
  int64_t axis = n.constantScalar(1), rank = n.rank(n.in(0)) + 1;
  n.out(n.g.unsqueeze(n.in(0), {n.axis(axis, rank)}));
}

/// Distances of all rows of one matrix to all of another, from their products.
void cDist(Node &n) {
  Value a = n.in(0), b = n.in(1);
  n.requireFloat(a);
  n.requireSameElement({a, b});
  n.requireRank(a, 2);
  n.requireRank(b, 2);
  n.requireEqual(n.dim(a, 1), n.dim(b, 1), "the lengths of the rows");
  std::string metric = n.text("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    failWrong("attribute 'metric' is '{0}', expected sqeuclidean or euclidean", metric);
  auto squares = [&](Value x) { return n.g.reduce(ir::ReduceKind::Sum, n.g.mul(x, x), {1}, true); };
  Value products = n.g.contract(a, b, {}, {}, {1}, {1});
  Dims dims = n.dims(products);
  Value sum = n.g.add(n.g.broadcastTo(squares(a), dims), n.g.broadcastTo(n.g.transpose(squares(b), {1, 0}), dims));
  Value y = n.g.binary<ir::MaxOp>(n.g.sub(sum, n.g.binary<ir::MulOp>(products, 2)), 0);
  n.out(metric == "euclidean" ? n.g.unary<ir::SqrtOp>(y) : y);
}

/// A pool of an image whose channels come last.
void nhwcMaxPool(Node &n) {
  n.requireRankAtLeast(n.in(0), 3);
  n.out(channelsLast(n, resultsOf(n, maxPool, {channelsSecond(n, n.in(0))}, 12)[0]));
}

} // namespace lathe::onnx
