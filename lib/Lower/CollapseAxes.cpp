//===- CollapseAxes.cpp - Fewer, longer axes -------------------------------===//

#include "lathe/Lower/CollapseAxes.h"
#include "KernelAxes.h"
#include "lathe/Lower/Passes.h"

using namespace mlir;
using namespace lathe;
using lower::Axis;
using lower::KernelAxes;
using shape::Expr;

namespace lathe::lower {
#define GEN_PASS_DEF_COLLAPSEAXES
#include "lathe/Lower/Passes.h.inc"
} // namespace lathe::lower

namespace {
class Collapser : public KernelAxes {
public:
  using KernelAxes::KernelAxes;
  void dropUnitAxes();
  void mergeAxes();

private:
  bool mergeOnePair();
  /// Updates of a scatter stay in their order where the axes do.
  bool keepsOrder(unsigned outer, unsigned inner) {
    return kernel.getKernelClass() != kernel::KernelClass::Scatter || inner == outer + 1;
  }
  bool canMerge(const Axis &outer, const Axis &inner) const;
  void merge(unsigned outer, unsigned inner);
};
} // namespace

void Collapser::dropUnitAxes() {
  for (unsigned i = axes.size(); i-- > 0;) {
    if (!axes[i].extent.isOne() || ordered.count(axes[i].name))
      continue;
    for (auto &[op, key, e] : exprs)
      e = e.substitute({{axes[i].name, Expr(0)}});
    for (auto &[op, names] : reductions)
      names.erase(axes[i].name);
    axes.erase(axes.begin() + i);
  }
}

bool Collapser::canMerge(const Axis &outer, const Axis &inner) const {
  if (ordered.count(outer.name) || ordered.count(inner.name))
    return false;
  for (const auto &[op, names] : reductions)
    if (names.count(outer.name) != names.count(inner.name))
      return false;
  for (const auto &[op, key, e] : exprs) {
    if (!e.mentions(outer.name) && !e.mentions(inner.name))
      continue;
    std::optional<Expr::Linear> a = e.linearIn(outer.name), b = e.linearIn(inner.name);
    if (!a || !b || a->coefficient.mentions(inner.name) || b->coefficient.isZero() ||
        a->coefficient != b->coefficient * inner.extent)
      return false;
  }
  return true;
}

void Collapser::merge(unsigned outer, unsigned inner) {
  for (auto &[op, key, e] : exprs)
    if (std::optional<Expr::Linear> b = e.linearIn(axes[inner].name); b && !b->coefficient.isZero())
      e = b->coefficient * Expr::symbol(axes[outer].name) + b->rest.linearIn(axes[outer].name)->rest;
  for (auto &[op, names] : reductions)
    names.erase(axes[inner].name);
  axes[outer].extent = axes[outer].extent * axes[inner].extent;
  axes.erase(axes.begin() + inner);
}

bool Collapser::mergeOnePair() {
  for (unsigned i = 0; i < axes.size(); ++i)
    for (unsigned j = 0; j < axes.size(); ++j)
      if (i != j && keepsOrder(i, j) && canMerge(axes[i], axes[j])) {
        merge(i, j);
        return true;
      }
  return false;
}

void Collapser::mergeAxes() {
  while (mergeOnePair())
    ;
}

void lower::collapseAxes(kernel::GenericOp kernel) {
  using lathe::kernel::KernelClass;
  if (kernel.getKernelClass() != KernelClass::Contraction && kernel.getKernelClass() != KernelClass::Attention) {
    Collapser collapser(kernel);
    collapser.dropUnitAxes();
    collapser.mergeAxes();
    collapser.writeBack();
  }
}

void lower::collapseProductAxes(kernel::GenericOp kernel) {
  auto contracts = kernel.getBody().front().getOps<kernel::ContractOp>();
  if (kernel.getKernelClass() != kernel::KernelClass::Contraction || !llvm::hasSingleElement(contracts) ||
      (*contracts.begin()).getPacked())
    return;
  Collapser collapser(kernel);
  collapser.mergeAxes();
  collapser.writeBack();
}

namespace {
struct CollapseAxesPass : lower::impl::CollapseAxesBase<CollapseAxesPass> {
  using CollapseAxesBase::CollapseAxesBase;
  void runOnOperation() override {
    getOperation()->walk([&](kernel::GenericOp kernel) {
      lower::collapseAxes(kernel);
      if (products)
        lower::collapseProductAxes(kernel);
    });
  }
};
} // namespace
