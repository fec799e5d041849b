//===- CollapseAxes.cpp - Fewer, longer axes -------------------------------===//

#include "lathe/Lower/CollapseAxes.h"
#include "lathe/Lower/Passes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using shape::Expr;

namespace lathe::lower {
#define GEN_PASS_DEF_COLLAPSEAXES
#include "lathe/Lower/Passes.h.inc"
} // namespace lathe::lower

namespace {
struct Axis {
  std::string name;
  Expr extent;
};

/// An expression over the axes and the attribute that holds it.
struct Indexing {
  Operation *op;
  StringRef key;
  Expr expr;
};

/// The kernel's axes, expressions and reductions, rewritten here and written back at the end.
class Collapser {
public:
  explicit Collapser(kernel::GenericOp kernel);
  void dropUnitAxes();
  void mergeAxes();
  void writeBack();

private:
  bool mergeOnePair();
  /// Updates of a scatter stay in their order where the axes do.
  bool keepsOrder(unsigned outer, unsigned inner) {
    return kernel.getKernelClass() != kernel::KernelClass::Scatter || inner == outer + 1;
  }
  bool canMerge(const Axis &outer, const Axis &inner) const;
  void merge(unsigned outer, unsigned inner);

  kernel::GenericOp kernel;
  std::vector<Axis> axes;
  std::vector<Indexing> exprs;
  std::vector<std::pair<Operation *, std::set<std::string>>> reductions; ///< reduce and contract ops with the axes they sum over
  std::set<std::string> ordered; ///< axes that a scan or a sort goes along: they stay as they are
};
} // namespace

static std::set<std::string> namesOf(ArrayAttr axes) {
  std::set<std::string> names;
  for (Attribute a : axes)
    names.insert(cast<StringAttr>(a).str());
  return names;
}

Collapser::Collapser(kernel::GenericOp kernel) : kernel(kernel) {
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
    axes.push_back({kernel.getAxisName(i).str(), kernel.getAxisExtent(i)});
  for (Operation &op : kernel.getBody().front()) {
    if (auto o = dyn_cast<kernel::LoadOp>(op))
      exprs.push_back({&op, "offset", o.getOffsetExpr()});
    else if (auto o = dyn_cast<kernel::StoreOp>(op))
      exprs.push_back({&op, "offset", o.getOffsetExpr()});
    else if (auto o = dyn_cast<kernel::IndexOp>(op))
      exprs.push_back({&op, "expr", o.getIndexExpr()});
    else if (auto s = dyn_cast<kernel::ScanOp>(op))
      ordered.insert(s.getAxis().str());
    else if (auto s = dyn_cast<kernel::SortOp>(op))
      ordered.insert({s.getAxis().str(), s.getRankAxis().str()});
    else if (auto r = dyn_cast<kernel::ReduceOp>(op))
      reductions.push_back({&op, namesOf(r.getAxes())});
    else if (auto c = dyn_cast<kernel::ContractOp>(op)) {
      exprs.push_back({&op, "lhsOffset", c.getLhsExpr()});
      exprs.push_back({&op, "rhsOffset", c.getRhsExpr()});
      reductions.push_back({&op, namesOf(c.getAxes())});
    }
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

bool Collapser::mergeOnePair() {
  for (unsigned i = 0; i < axes.size(); ++i)
    for (unsigned j = 0; j < axes.size(); ++j)
      if (i != j && keepsOrder(i, j) && canMerge(axes[i], axes[j])) {
        merge(i, j);
        return true;
      }
  return false;
}

void Collapser::writeBack() {
  Builder b(kernel.getContext());
  SmallVector<Attribute> names, extents;
  for (const Axis &a : axes) {
    names.push_back(b.getStringAttr(a.name));
    extents.push_back(b.getStringAttr(a.extent.str()));
  }
  kernel.setAxisNamesAttr(b.getArrayAttr(names));
  kernel.setAxisExtentsAttr(b.getArrayAttr(extents));
  for (auto &[op, key, e] : exprs)
    op->setAttr(key, b.getStringAttr(e.str()));
  for (auto &[op, axisNames] : reductions) {
    if (auto reduce = dyn_cast<kernel::ReduceOp>(op); reduce && axisNames.empty()) { // over axes of extent 1
      reduce.replaceAllUsesWith(reduce.getValue());
      reduce.erase();
      continue;
    }
    SmallVector<StringRef> list(axisNames.begin(), axisNames.end());
    op->setAttr("axes", b.getStrArrayAttr(list));
  }
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
