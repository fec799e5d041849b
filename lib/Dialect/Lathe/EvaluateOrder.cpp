//===- EvaluateOrder.cpp - Scans and sorts of constants --------------------===//

#include "lathe/Dialect/Lathe/ElementWalk.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;

static double combineFloat(ScanKind kind, double a, double b) {
  switch (kind) {
  case ScanKind::Sum:
    return a + b;
  case ScanKind::Prod:
    return a * b;
  case ScanKind::Max:
    return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  case ScanKind::Min:
    return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  case ScanKind::LogAddExp:
    break;
  }
  double top = std::max(a, b);
  return std::isnan(a) || std::isnan(b) ? NAN : std::isinf(top) ? top : top + std::log1p(std::exp(-std::abs(a - b)));
}

static int64_t combineInt(ScanKind kind, int64_t a, int64_t b, bool isUnsigned) {
  bool less = isUnsigned ? uint64_t(a) < uint64_t(b) : a < b;
  switch (kind) {
  case ScanKind::Sum:
    return int64_t(uint64_t(a) + uint64_t(b));
  case ScanKind::Prod:
    return int64_t(uint64_t(a) * uint64_t(b));
  case ScanKind::Max:
    return less ? b : a;
  default:
    return less ? a : b;
  }
}

void ir::scanRow(ScanKind kind, ConstantTensor &x, const Row &row, bool exclusive, bool reverse, bool isUnsigned) {
  Type e = x.type.getElementType();
  unsigned width = e.getIntOrFloatBitWidth();
  int64_t top = int64_t((uint64_t(1) << (width - 1)) - 1), least = isUnsigned ? 0 : -top - 1,
          most = isUnsigned ? -1 : top;
  double sum = kind == ScanKind::Prod ? 1 : kind == ScanKind::Sum ? 0 : kind == ScanKind::Min ? INFINITY : -INFINITY;
  int64_t count = kind == ScanKind::Prod ? 1 : kind == ScanKind::Sum ? 0 : kind == ScanKind::Min ? most : least;
  for (int64_t i = 0; i < row.size; ++i) {
    int64_t at = row.first + row.step * (reverse ? row.size - 1 - i : i);
    if (x.isFloat()) {
      double before = sum;
      sum = combineFloat(kind, sum, x.floats[at]);
      x.floats[at] = roundTo(exclusive ? before : sum, e);
    } else {
      int64_t before = count;
      count = wrapTo(combineInt(kind, count, x.ints[at], isUnsigned), e);
      x.ints[at] = wrapTo(exclusive ? before : count, e);
    }
  }
}

std::vector<int64_t> ir::orderOfRow(const ConstantTensor &x, const Row &row, bool descending, bool isUnsigned) {
  std::vector<int64_t> order(row.size);
  std::iota(order.begin(), order.end(), 0);
  auto less = [&](int64_t i, int64_t j) {
    i = row.first + i * row.step, j = row.first + j * row.step;
    if (x.isFloat())
      return x.floats[i] < x.floats[j] || (std::isnan(x.floats[j]) && !std::isnan(x.floats[i]));
    return isUnsigned ? uint64_t(x.ints[i]) < uint64_t(x.ints[j]) : x.ints[i] < x.ints[j];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return descending ? less(j, i) : less(i, j); });
  return order;
}

/// Calls f with the rows of a tensor along an axis: those of x, and those of a result of another length.
static void forEachRow(const ConstantTensor &x, const ConstantTensor &result, int64_t axis,
                       llvm::function_ref<void(const Row &, const Row &)> f) {
  int64_t inner = 1, outer = 1;
  for (auto [d, n] : llvm::enumerate(x.shape()))
    if (int64_t(d) != axis)
      (int64_t(d) < axis ? outer : inner) *= n;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      f({o * x.shape()[axis] * inner + i, inner, x.shape()[axis]},
        {o * result.shape()[axis] * inner + i, inner, result.shape()[axis]});
}

std::optional<ConstantTensor> ir::evaluateScan(ScanOp op, const ConstantTensor &x) {
  ConstantTensor out = x;
  forEachRow(x, out, op.getAxis(), [&](const Row &row, const Row &) {
    scanRow(op.getKind(), out, row, op.getExclusive(), op.getReverse(), isUnsignedElement(x.type.getElementType()));
  });
  return out;
}

std::optional<ConstantTensor> ir::evaluateCompact(CompactOp op, const ConstantTensor &x, const ConstantTensor &mask) {
  ConstantTensor out(typeOf(op.getResult()));
  if (llvm::count(mask.ints, 0) != mask.size() - out.size())
    return std::nullopt;
  for (int64_t i = 0, to = 0; i < mask.size(); ++i)
    if (mask.ints[i])
      out.copyFrom(x, i, to++);
  return out;
}

std::optional<ConstantTensor> ir::evaluateSort(SortOp op, const ConstantTensor &x) {
  ConstantTensor out(typeOf(op.getResult()));
  if (out.shape()[op.getAxis()] > x.shape()[op.getAxis()])
    return std::nullopt;
  forEachRow(x, out, op.getAxis(), [&](const Row &row, const Row &to) {
    std::vector<int64_t> order = orderOfRow(x, row, op.getDescending(), isUnsignedElement(x.type.getElementType()));
    for (int64_t i = 0; i < to.size; ++i)
      out.ints[to.first + i * to.step] = order[i];
  });
  return out;
}
