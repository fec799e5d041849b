//===- KernelReduce.cpp - Values combined over axes ------------------------===//

#include "KernelReduce.h"
#include "lathe/Dialect/Lathe/ElementWalk.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;

static double combine(kernel::Combiner kind, double a, double b) {
  if (kind == kernel::Combiner::Add)
    return a + b;
  if (kind == kernel::Combiner::Mul)
    return a * b;
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return kind == kernel::Combiner::Max ? std::max(a, b) : std::min(a, b);
}

static int64_t combine(kernel::Combiner kind, int64_t a, int64_t b, uint64_t mask) {
  using K = kernel::Combiner;
  uint64_t x = uint64_t(a) & mask, y = uint64_t(b) & mask;
  switch (kind) {
  case K::Add:
    return int64_t(uint64_t(a) + uint64_t(b));
  case K::Mul:
    return int64_t(uint64_t(a) * uint64_t(b));
  case K::Max:
    return std::max(a, b);
  case K::Min:
    return std::min(a, b);
  case K::UMax:
    return x < y ? b : a;
  case K::UMin:
    return x < y ? a : b;
  case K::And:
    return a & b;
  case K::Or:
    return a | b;
  case K::Xor:
    return a ^ b;
  case K::LogAddExp: // of floats, in scans
    break;
  }
  return a;
}

/// The element that changes no other.
static void setIdentity(kernel::Combiner kind, Tensor &t) {
  using K = kernel::Combiner;
  unsigned width = t.type.getElementType().getIntOrFloatBitWidth();
  int64_t top = int64_t((uint64_t(1) << (width - 1)) - 1), i = 0;
  double f = 0;
  switch (kind) {
  case K::Add:
  case K::Or:
  case K::Xor:
  case K::UMax:
  case K::LogAddExp:
    break;
  case K::Mul:
    i = 1, f = 1;
    break;
  case K::Max:
    i = -top - 1, f = -INFINITY;
    break;
  case K::Min:
    i = top, f = INFINITY;
    break;
  case K::UMin:
  case K::And:
    i = -1;
    break;
  }
  std::fill(t.floats.begin(), t.floats.end(), f);
  std::fill(t.ints.begin(), t.ints.end(), ir::wrapTo(i, t.type.getElementType()));
}

Column interpret::combineOver(kernel::Combiner kind, const Column &from, const AxisSet &removed,
                              const KernelFrame &frame) {
  AxisSet kept = without(from.axes, removed);
  const Tensor &value = from.tensor;
  Type type = value.type.getElementType();
  Column out{kept, Tensor(RankedTensorType::get(frame.shapeOf(kept), type))};
  setIdentity(kind, out.tensor);
  SmallVector<int64_t> strides = stridesIn(kept, from.axes, frame);
  unsigned width = type.getIntOrFloatBitWidth();
  uint64_t mask = width < 64 ? (uint64_t(1) << width) - 1 : ~uint64_t(0);
  ir::forEach(value.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t to = 0;
    for (size_t d = 0; d < at.size(); ++d)
      to += at[d] * strides[d];
    if (value.isFloat())
      out.tensor.floats[to] = combine(kind, out.tensor.floats[to], value.floats[i]);
    else
      out.tensor.ints[to] = combine(kind, out.tensor.ints[to], value.ints[i], mask);
  });
  for (double &v : out.tensor.floats)
    v = ir::roundTo(v, type);
  for (int64_t &v : out.tensor.ints)
    v = ir::wrapTo(v, type);
  return out;
}

Column interpret::sumOfProducts(const Column &a, const Column &b, const AxisSet &removed, Type type,
                                const KernelFrame &frame) {
  AxisSet kept = without(unite(a.axes, b.axes), removed);
  Column out{kept, Tensor(RankedTensorType::get(frame.shapeOf(kept), type))};
  SmallVector<int64_t> aKept = stridesIn(a.axes, kept, frame), bKept = stridesIn(b.axes, kept, frame),
                       aSum = stridesIn(a.axes, removed, frame), bSum = stridesIn(b.axes, removed, frame),
                       extents = frame.shapeOf(removed);
  std::vector<std::pair<int64_t, int64_t>> steps;
  ir::forEach(extents, [&](int64_t, ArrayRef<int64_t> at) {
    steps.emplace_back(0, 0);
    for (size_t d = 0; d < at.size(); ++d)
      steps.back().first += at[d] * aSum[d], steps.back().second += at[d] * bSum[d];
  });
  ir::forEach(out.tensor.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t p = 0, q = 0;
    for (size_t d = 0; d < at.size(); ++d)
      p += at[d] * aKept[d], q += at[d] * bKept[d];
    double sum = 0;
    uint64_t count = 0;
    for (auto [dp, dq] : steps)
      if (a.tensor.isFloat())
        sum += a.tensor.floats[p + dp] * b.tensor.floats[q + dq];
      else
        count += uint64_t(a.tensor.ints[p + dp]) * uint64_t(b.tensor.ints[q + dq]);
    if (out.tensor.isFloat())
      out.tensor.floats[i] = ir::roundTo(sum, type);
    else
      out.tensor.ints[i] = ir::wrapTo(int64_t(count), type);
  });
  return out;
}

void interpret::combineAt(kernel::Combiner kind, Tensor &to, int64_t at, const Tensor &value, int64_t i) {
  Type type = to.type.getElementType();
  unsigned width = type.getIntOrFloatBitWidth();
  uint64_t mask = width < 64 ? (uint64_t(1) << width) - 1 : ~uint64_t(0);
  if (to.isFloat())
    to.floats[at] = ir::roundTo(combine(kind, to.floats[at], value.floats[i]), type);
  else
    to.ints[at] = ir::wrapTo(combine(kind, to.ints[at], value.ints[i], mask), type);
}
