//===- CollapseAxes.cpp - Fewer, longer axes -------------------------------===//

#include "lathe/Lower/CollapseAxes.h"
#include "KernelAxes.h"
#include "lathe/Lower/BodyInfo.h"
#include "lathe/Lower/Passes.h"

using namespace mlir;
using namespace lathe;
using lower::Axis;
using lower::AxisSet;
using lower::BodyInfo;
using lower::Indexing;
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
  void shareReducedAxes();
  void dropUnitAxes();
  /// Of all axes, or among these.
  void mergeAxes(const std::set<std::string> *names = nullptr);

private:
  bool liesSideBySide(const Axis &axis) const;
  bool mergeOnePair(const std::set<std::string> *names);
  /// Updates of a scatter stay in their order where the axes do.
  bool keepsOrder(unsigned outer, unsigned inner) {
    return kernel.getKernelClass() != kernel::KernelClass::Scatter || inner == outer + 1;
  }
  bool canMerge(const Axis &outer, const Axis &inner) const;
  void merge(unsigned outer, unsigned inner);
};
} // namespace

/// Whether all accesses that move along the axis move by one element.
bool Collapser::liesSideBySide(const Axis &axis) const {
  return llvm::all_of(exprs, [&](const Indexing &i) {
    std::optional<Expr::Linear> linear = i.expr.linearIn(axis.name);
    return isa<kernel::IndexOp>(i.op) || !i.expr.mentions(axis.name) || (linear && linear->coefficient.isOne());
  });
}

/// An axis that is only summed over, and one of the results of the same extent, where nothing is at a point of both: one axis, which
/// the passes over a row walk one after the other. As two, lanes would run along the results and the sums be scalar. Without
/// a third axis, the results along the one could no longer be computed in parallel. One pair a kernel: what is at which points
/// is asked once.
void Collapser::shareReducedAxes() {
  if (!ordered.empty())
    return;
  BodyInfo info(kernel);
  AxisSet stored = 0, reduced = 0;
  SmallVector<AxisSet> domains;
  for (Operation *op : info.ops) {
    domains.push_back(info.domainOf(op));
    if (isa<kernel::StoreOp>(op))
      stored |= domains.back();
    if (auto reduce = dyn_cast<kernel::ReduceOp>(op)) { // it adds up at each point, also a value that is the same along its axes
      reduced |= info.axesOf(reduce.getAxes());
      domains.back() |= info.axesOf(reduce.getAxes());
    }
  }
  auto isFree = [&](unsigned from, unsigned to) {
    AxisSet one = AxisSet(1) << from, other = AxisSet(1) << to;
    return (reduced & ~stored & one) && (stored & other) && (stored & ~reduced & ~other) &&
           llvm::none_of(domains, [&](AxisSet d) { return d & one && d & other; });
  };
  for (unsigned from = axes.size(); from-- > 0;)
    for (unsigned to = 0; to < axes.size(); ++to) {
      if (!isFree(from, to) || axes[from].extent != axes[to].extent || !liesSideBySide(axes[from]) || !liesSideBySide(axes[to]))
        continue;
      for (auto &[op, key, e] : exprs)
        e = e.substitute({{axes[from].name, Expr::symbol(axes[to].name)}});
      for (auto &[op, names] : reductions)
        if (names.erase(axes[from].name))
          names.insert(axes[to].name);
      axes.erase(axes.begin() + from);
      return;
    }
}

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

bool Collapser::mergeOnePair(const std::set<std::string> *names) {
  auto among = [&](unsigned i) { return !names || names->count(axes[i].name); };
  for (unsigned i = 0; i < axes.size(); ++i)
    for (unsigned j = 0; j < axes.size(); ++j)
      if (i != j && among(i) && among(j) && keepsOrder(i, j) && canMerge(axes[i], axes[j])) {
        merge(i, j);
        return true;
      }
  return false;
}

void Collapser::mergeAxes(const std::set<std::string> *names) {
  while (mergeOnePair(names))
    ;
}

void lower::collapseAxes(kernel::GenericOp kernel) {
  using lathe::kernel::KernelClass;
  if (kernel.getKernelClass() != KernelClass::Contraction && kernel.getKernelClass() != KernelClass::Attention) {
    Collapser collapser(kernel);
    if (kernel.getKernelClass() == KernelClass::Reduction)
      collapser.shareReducedAxes();
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

void lower::mergeAxes(kernel::GenericOp kernel, const std::set<std::string> &names) {
  Collapser collapser(kernel);
  collapser.mergeAxes(&names);
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
