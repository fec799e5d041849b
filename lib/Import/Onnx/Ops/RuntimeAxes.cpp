//===- RuntimeAxes.cpp - Axes that an input of the model names -------------===//

#include "RuntimeAxes.h"

using namespace lathe;
using llvm::ArrayRef;

namespace lathe::onnx {

bool anyUnknown(ArrayRef<Expr> values) {
  return llvm::any_of(values, [](const Expr &e) { return !e.constant(); });
}

/// Products of the sizes after each.
static Dims stridesOf(ArrayRef<Expr> dims) {
  Dims strides(dims.size(), Expr(1));
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * dims[d];
  return strides;
}

Expr RuntimeAxes::pick(ArrayRef<Expr> flags, ArrayRef<Expr> values) {
  Expr sum(0);
  for (auto [flag, value] : llvm::zip(flags, values))
    sum = sum + flag * value;
  return n.define("size", sum);
}

RuntimeAxes::RuntimeAxes(Node &n, const Dims &of, const Dims &axes) : n(n), of(of), isAny(of.size(), Expr(0)) {
  if (axes.size() > of.size())
    failWrong("{0} axes for rank {1}", axes.size(), of.size());
  for (const Expr &axis : axes) {
    Dims flags;
    for (size_t d = 0; d < of.size(); ++d) {
      flags.push_back(n.axisFlag(axis, int64_t(d)));
      isAny[d] = isAny[d] + flags[d];
    }
    isNamed.push_back(flags);
    named.push_back(pick(flags, of));
  }
  Expr before(0); // dimensions left so far
  std::vector<Dims> place(of.size());
  for (size_t d = 0; d < of.size(); ++d) {
    if (axes.size() > 1)
      n.require(isAny[d], "le", Expr(1), llvm::formatv("no axis is named twice (axis {0})", d).str());
    for (size_t i = 0; i + axes.size() < of.size(); ++i)
      place[d].push_back(n.define("place", (Expr(1) - isAny[d]) * n.axisFlag(n.simplify(before), int64_t(i)), 1));
    before = n.simplify(before + Expr(1) - isAny[d]);
  }
  for (size_t i = 0; i + axes.size() < of.size(); ++i) {
    Dims flags;
    for (size_t d = 0; d < of.size(); ++d)
      flags.push_back(place[d][i]);
    isOther.push_back(flags);
    others.push_back(pick(flags, of));
  }
}

Dims RuntimeAxes::withNamed(const Expr &size) {
  Dims out;
  for (auto [d, any] : llvm::zip(of, isAny))
    out.push_back(n.define("size", any * size + (Expr(1) - any) * d));
  return out;
}

/// Element i of the result, of these sizes, is x's at the sum of i times the strides.
Value RuntimeAxes::readAt(Value x, const Dims &dims, ArrayRef<Expr> strides) {
  Type i64 = n.g.b.getI64Type();
  Value at = n.g.splat(0, dims, i64);
  for (size_t d = 0; d < dims.size(); ++d)
    at = n.g.add(at, n.g.mul(n.g.iota(dims, int64_t(d), i64), n.g.broadcastTo(n.g.size(strides[d]), dims)));
  Expr count = n.simplify(shape::product(n.dims(x)));
  if (count.isZero()) // then the result has no elements either
    return n.g.splat(0, dims, n.element(x));
  Value flat = n.reshape(x, {count});
  return n.g.gather(flat, at, 0);
}

Value RuntimeAxes::gathered(Value x) {
  Dims strides = stridesOf(of), dims = others, steps;
  dims.append(named.begin(), named.end());
  for (const auto *list : {&isOther, &isNamed})
    for (const Dims &flags : *list)
      steps.push_back(pick(flags, strides));
  return readAt(x, dims, steps);
}

Value RuntimeAxes::restored(Value y, const Dims &dims) {
  Dims strides = stridesOf(n.dims(y)), steps;
  for (size_t d = 0; d < of.size(); ++d) {
    Dims flags;
    for (const auto *list : {&isOther, &isNamed})
      for (const Dims &all : *list)
        flags.push_back(all[d]);
    steps.push_back(pick(flags, strides));
  }
  return readAt(y, dims, steps);
}

} // namespace lathe::onnx
