//===- PackWeights.cpp - Constants in the layout that contractions read ----===//

#include "lathe/Target/Passes.h"

namespace lathe::target {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using shape::Expr;

namespace {

struct Matrix {
  int64_t k, n, kStride, nStride;
};

/// The constant extent and stride of one axis in an offset.
std::optional<std::pair<int64_t, int64_t>> extentAndStride(kernel::GenericOp kernel, StringRef axis, const Expr &offset) {
  std::optional<Expr> extent = kernel.getExtent(axis);
  std::optional<Expr::Linear> lin = offset.linearIn(axis);
  if (!extent || !extent->constant() || !lin || !lin->coefficient.constant())
    return std::nullopt;
  return std::make_pair(*extent->constant(), *lin->coefficient.constant());
}

/// The second operand as a matrix: one contracted axis, one column axis, no batch, offset 0.
std::optional<Matrix> matrixOf(kernel::GenericOp kernel, kernel::ContractOp contract) {
  Expr offset = contract.getRhsExpr();
  if (contract.getAxes().size() != 1)
    return std::nullopt;
  StringRef kAxis = cast<StringAttr>(contract.getAxes()[0]).getValue();
  std::string nAxis;
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
  return Matrix{k->first, n->first, k->second, n->second};
}

struct PackWeightsPass : target::impl::PackWeightsBase<PackWeightsPass> {
  using PackWeightsBase::PackWeightsBase;

  void pack(kernel::GenericOp kernel, kernel::ContractOp contract) {
    auto arg = cast<BlockArgument>(contract.getRhs());
    if (!kernel.isConstant(arg) || !arg.hasOneUse())
      return;
    Value source = kernel.getInputs()[arg.getArgNumber()];
    auto type = cast<RankedTensorType>(source.getType());
    std::optional<Matrix> m = matrixOf(kernel, contract);
    if (!m || !isa<FloatType>(type.getElementType()))
      return;
    OpBuilder b(kernel);
    auto packed = RankedTensorType::get({(m->n + panel - 1) / panel, m->k, panel}, type.getElementType());
    auto op = b.create<kernel::PackOp>(source.getLoc(), packed, source, m->k, m->n, m->kStride, m->nStride, panel);
    kernel.getInputsMutable()[arg.getArgNumber()].set(op);
    contract.setPackedAttr(b.getDictionaryAttr(b.getNamedAttr("n_panel", b.getI64IntegerAttr(panel))));
  }

  void runOnOperation() override {
    getOperation().walk([&](kernel::GenericOp kernel) {
      kernel.getBody().walk([&](kernel::ContractOp contract) { pack(kernel, contract); });
    });
  }
};

} // namespace
