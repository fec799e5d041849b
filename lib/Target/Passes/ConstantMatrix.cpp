//===- ConstantMatrix.cpp - A contraction's second operand as a matrix ------===//

#include "ConstantMatrix.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using shape::Expr;

std::optional<std::pair<int64_t, int64_t>> target::extentAndStride(kernel::GenericOp kernel, StringRef axis, const Expr &offset) {
  std::optional<Expr> extent = kernel.getExtent(axis);
  std::optional<Expr::Linear> lin = offset.linearIn(axis.str());
  if (!extent || !extent->constant() || !lin || !lin->coefficient.constant())
    return std::nullopt;
  return std::make_pair(*extent->constant(), *lin->coefficient.constant());
}

std::optional<ConstantMatrix> ConstantMatrix::of(kernel::GenericOp kernel, kernel::ContractOp contract) {
  Expr offset = contract.getRhsExpr();
  if (contract.getAxes().size() != 1)
    return std::nullopt;
  std::string kAxis = cast<StringAttr>(contract.getAxes()[0]).str(), nAxis;
  for (const std::string &s : offset.symbols()) {
    if (s == kAxis)
      continue;
    if (!nAxis.empty() || !kernel.getExtent(s) || contract.getLhsExpr().mentions(s))
      return std::nullopt;
    nAxis = s;
  }
  if (nAxis.empty())
    return std::nullopt;
  auto k = extentAndStride(kernel, kAxis, offset), n = extentAndStride(kernel, nAxis, offset);
  if (!k || !n || offset != Expr::symbol(kAxis) * Expr(k->second) + Expr::symbol(nAxis) * Expr(n->second))
    return std::nullopt;
  return ConstantMatrix{k->first, n->first, k->second, n->second, kAxis, nAxis};
}
