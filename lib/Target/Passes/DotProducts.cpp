//===- DotProducts.cpp - Products that leave one sum of each batch ---------===//
//
// A product without rows and columns reads its operands once and multiplies each element once: it is a sum of products, and what lays sums on a
// machine's threads knows how to divide a long one. A tile of rows and columns would hold one element.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/PlainKernel.h"
#include "lathe/Target/Passes.h"

namespace lathe::target {
#define GEN_PASS_DEF_DOTPRODUCTS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;

/// Whether the sum is one of each batch, whatever the sizes are.
static bool isDot(const lower::BodyInfo &info, kernel::ContractOp op) {
  lower::ContractionRoles roles(info, op);
  return llvm::all_of(lower::axesIn(info, roles.rows | roles.columns), [&](unsigned axis) { return info.extents[axis].isOne(); });
}

static bool hasDotsAlone(kernel::GenericOp kernel) {
  lower::BodyInfo info(kernel);
  auto products = kernel.getBody().front().getOps<kernel::ContractOp>();
  bool attends = !kernel.getBody().front().getOps<kernel::AttentionOp>().empty();
  return !products.empty() && !attends && llvm::all_of(products, [&](kernel::ContractOp op) { return isDot(info, op); });
}

namespace {
struct DotProductsPass : target::impl::DotProductsBase<DotProductsPass> {
  using DotProductsBase::DotProductsBase;
  void runOnOperation() override {
    getOperation().walk([](kernel::GenericOp kernel) {
      if (hasDotsAlone(kernel))
        lower::makePlain(kernel);
    });
  }
};
} // namespace
