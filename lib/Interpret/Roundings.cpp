//===- Roundings.cpp - What else a result may be ---------------------------===//
//
// The results of an op are moved by what another implementation of it may give. Sums of n terms differ by a few units
// of the sum of the terms' magnitudes, for whatever order they are added in; sums of products, too, with products that
// are not rounded (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1). What is exact in
// every order is left as it is: small whole numbers, and products and quotients that need no rounding.
//
//===----------------------------------------------------------------------===//

#include "Roundings.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;

/// How far a good implementation of a function, or of a sum relative to its magnitude, may be off, in units.
static constexpr double functionUnits = 4, sumUnits = 4;

/// Half the distance from 1 to the next value.
static double unitOf(Type e) { return std::ldexp(1, -int(cast<FloatType>(e).getFPMantissaWidth())); }

static bool isFunction(Operation *op) {
  return isa<ir::ExpOp, ir::Exp2Op, ir::Expm1Op, ir::LogOp, ir::Log1pOp, ir::Log2Op, ir::RsqrtOp, ir::SinOp, ir::CosOp,
             ir::TanOp, ir::AsinOp, ir::AcosOp, ir::AtanOp, ir::SinhOp, ir::CoshOp, ir::TanhOp, ir::AsinhOp,
             ir::AcoshOp, ir::AtanhOp, ir::ErfOp, ir::PowOp, ir::Atan2Op>(op);
}

static bool isSum(Operation *op) {
  if (auto r = dyn_cast<ir::ReduceOp>(op))
    return r.getKind() == ir::ReduceKind::Sum;
  if (auto s = dyn_cast<ir::ScanOp>(op))
    return s.getKind() == ir::ScanKind::Sum;
  if (auto s = dyn_cast<ir::ScatterOp>(op))
    return s.getKind() == ir::ScatterKind::Add;
  return isa<ir::ContractOp, ir::ConvOp>(op);
}

/// Products of many, and sums of exponentials: off by units of the result.
static bool isProduct(Operation *op) {
  if (auto r = dyn_cast<ir::ReduceOp>(op))
    return r.getKind() == ir::ReduceKind::Prod;
  if (auto s = dyn_cast<ir::ScanOp>(op))
    return s.getKind() == ir::ScanKind::Prod || s.getKind() == ir::ScanKind::LogAddExp;
  if (auto s = dyn_cast<ir::ScatterOp>(op))
    return s.getKind() == ir::ScatterKind::Mul;
  return false;
}

/// Whether x op y is this result before rounding.
static bool isExact(Operation *op, double x, double y, double result) {
  if (isa<ir::MulOp>(op))
    return std::fma(x, y, -result) == 0;
  if (isa<ir::DivOp>(op))
    return std::fma(result, y, -x) == 0;
  double addend = isa<ir::SubOp>(op) ? -y : y, back = result - x; // Knuth's TwoSum
  return (x - (result - back)) + (addend - back) == 0;
}

static double mostOf(const Tensor &t) {
  double most = 0;
  for (double v : t.floats)
    most = std::isfinite(v) ? std::max(most, std::fabs(v)) : most;
  return most;
}

void Roundings::move(double &v, double by, Type element) {
  if (std::isfinite(v) && by)
    v = ir::roundTo(v + (generator() & 1 ? by : -by), element);
}

/// By units of the sum of the terms' magnitudes, which the op itself computes from the operands' magnitudes.
void Roundings::moveSums(Operation *op, Inputs in, Tensor &out) {
  std::vector<Tensor> absolute;
  bool whole = true;
  for (const Tensor *t : in) {
    absolute.push_back(*t);
    for (double &v : absolute.back().floats) {
      whole &= v == std::floor(v);
      v = std::fabs(v);
    }
  }
  SmallVector<const Tensor *> operands;
  for (const Tensor &t : absolute)
    operands.push_back(&t);
  llvm::Expected<Tensor> magnitudes = runGraphOp(op, operands);
  if (!magnitudes)
    return llvm::consumeError(magnitudes.takeError());
  Type e = out.type.getElementType();
  double unit = unitOf(e);
  for (auto [v, magnitude] : llvm::zip(out.floats, magnitudes->floats))
    move(v, whole && magnitude * unit <= 0.5 ? 0 : sumUnits * unit * magnitude, e);
}

/// The product of what is at least 1, or at most 1, of the magnitudes.
static std::optional<Tensor> productOf(Operation *op, Inputs in, bool large) {
  Tensor factors = *in[0];
  for (double &v : factors.floats)
    v = large ? std::max(std::fabs(v), 1.0) : std::min(std::fabs(v), 1.0);
  llvm::Expected<Tensor> product = runGraphOp(op, {&factors});
  if (product)
    return std::move(*product);
  llvm::consumeError(product.takeError());
  return std::nullopt;
}

/// By units of the result. One that overflows or vanishes on the way when its factors come in another order is anything.
void Roundings::moveProducts(Operation *op, Inputs in, Tensor &out) {
  Type e = out.type.getElementType();
  for (double &v : out.floats)
    move(v, functionUnits * unitOf(e) * std::fabs(v), e);
  if (!isa<ir::ReduceOp>(op)) // a scatter's factors come one by one
    return;
  std::optional<Tensor> large = productOf(op, in, true), small = productOf(op, in, false);
  if (!large || !small)
    return;
  for (auto [v, most, least] : llvm::zip(out.floats, large->floats, small->floats))
    if (std::isinf(most) || (least == 0 && v != 0))
      v = NAN;
}

void Roundings::apply(Operation *op, Inputs in, Tensor &out) {
  if (!out.isFloat() || !isa<ir::LatheDialect>(op->getDialect()))
    return;
  Type e = out.type.getElementType();
  double unit = unitOf(e);
  if (isSum(op))
    moveSums(op, in, out);
  else if (isProduct(op))
    moveProducts(op, in, out);
  else if (isFunction(op))
    for (double &v : out.floats)
      move(v, functionUnits * unit * std::fabs(v), e);
  else if (isa<ir::AddOp, ir::SubOp, ir::MulOp, ir::DivOp>(op))
    for (auto [i, v] : llvm::enumerate(out.floats))
      move(v, isExact(op, in[0]->floats[i], in[1]->floats[i], v) ? 0 : 2 * unit * std::fabs(v), e);
  else if (isa<ir::AttentionOp>(op))
    for (double &v : out.floats)
      move(v, sumUnits * unit * mostOf(*in[2]), e);
  else if (isa<ir::CallOp>(op))
    for (double &v : out.floats)
      move(v, sumUnits * unit * mostOf(out), e);
}
