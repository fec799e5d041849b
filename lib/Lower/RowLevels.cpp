//===- RowLevels.cpp - In which order a row's values are computed ----------===//

#include "lathe/Lower/RowLevels.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

Expr lower::extentOf(const BodyInfo &info, AxisSet axes) {
  Expr e(1);
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (contains(axes, i))
      e = e * info.extents[i];
  return e;
}

/// Root values are reductions over some axes; what is left of an axis set after all of them is a row.
static AxisSet reducedBy(const BodyInfo &info, Operation *op) {
  if (auto r = dyn_cast<kernel::ReduceOp>(op))
    return info.axesOf(r.getAxes());
  return 0;
}

std::vector<RowSection> lower::rowSections(const BodyInfo &info) {
  bool reduces = llvm::any_of(info.ops, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  std::vector<RowSection> out;
  if (reduces) {
    RowSection all;
    for (Operation *op : info.ops) {
      if (!isa<kernel::ReduceOp, kernel::StoreOp>(op))
        continue;
      all.roots.push_back(op);
      all.axes.reduced |= reducedBy(info, op);
      all.axes.rows |= isa<kernel::StoreOp>(op) ? info.domainOf(op) : info.axesOf(op->getResult(0));
    }
    all.axes.rows &= ~all.axes.reduced;
    return {all};
  }
  // Without reductions every store stands for itself; those over the same axes share their rows.
  for (Operation *op : info.ops) {
    if (!isa<kernel::StoreOp>(op))
      continue;
    AxisSet rows = info.domainOf(op);
    auto same = llvm::find_if(out, [&](const RowSection &s) { return s.axes.rows == rows; });
    if (same == out.end())
      same = out.insert(same, RowSection{{rows, 0}, {}});
    same->roots.push_back(op);
  }
  return out;
}

bool lower::isRowReduction(const BodyInfo &info, RowAxes axes, Operation *root) {
  auto r = dyn_cast<kernel::ReduceOp>(root);
  return r && !(info.axesOf(r.getResult()) & ~axes.rows);
}

static AxisSet innerOf(const BodyInfo &info, RowAxes axes, Operation *root) {
  AxisSet set = info.domainOf(root);
  if (auto r = dyn_cast<kernel::ReduceOp>(root))
    set |= info.axesOf(r.getAxes());
  return set & ~axes.rows;
}

std::vector<std::vector<RowPass>> lower::rowLevels(const BodyInfo &info, RowAxes axes, ArrayRef<Operation *> roots) {
  // The level at which an op can run: after the reductions of rows that it depends on. Ops come in an order in which
  // operands are first.
  llvm::DenseMap<Operation *, unsigned> ready;
  for (Operation *op : info.ops) {
    unsigned level = 0;
    op->walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (Operation *def = v.getDefiningOp(); def && def != op)
          level = std::max(level, ready.lookup(def) + (isRowReduction(info, axes, def) ? 1 : 0));
    });
    ready[op] = level;
  }
  std::vector<std::vector<RowPass>> out;
  for (Operation *root : roots) {
    if (!isRowReduction(info, axes, root) && !isa<kernel::StoreOp>(root))
      continue;
    unsigned level = ready.lookup(root);
    if (out.size() <= level)
      out.resize(level + 1);
    AxisSet inner = innerOf(info, axes, root);
    auto same = llvm::find_if(out[level], [&](const RowPass &p) { return p.inner == inner; });
    if (same == out[level].end())
      same = out[level].insert(same, RowPass{inner, {}});
    same->roots.push_back(root);
  }
  return out;
}

void lower::addNeeded(const BodyInfo &info, RowAxes axes, Operation *op, llvm::SmallPtrSetImpl<Operation *> &seen) {
  for (Value v : op->getOperands()) {
    Operation *def = v.getDefiningOp();
    if (!def || isRowReduction(info, axes, def) || !seen.insert(def).second)
      continue;
    addNeeded(info, axes, def, seen);
  }
}

llvm::SmallVector<kernel::LoadOp> lower::readAgain(const BodyInfo &info, RowAxes axes, ArrayRef<Operation *> roots) {
  for (Operation *op : info.ops)
    if (op->getNumRegions() || (!isRowReduction(info, axes, op) && llvm::any_of(op->getResults(), lower::isRootValue)))
      return {};
  llvm::DenseMap<Operation *, unsigned> levelsOf;
  for (const std::vector<RowPass> &level : rowLevels(info, axes, roots)) {
    llvm::SmallPtrSet<Operation *, 16> seen;
    for (const RowPass &pass : level) {
      if (pass.inner && pass.inner != axes.reduced)
        return {};
      for (Operation *root : pass.roots)
        addNeeded(info, axes, root, seen);
    }
    for (Operation *op : seen)
      ++levelsOf[op];
  }
  SmallVector<kernel::LoadOp> out;
  for (Operation *op : info.ops)
    if (auto load = dyn_cast<kernel::LoadOp>(op);
        load && levelsOf.lookup(op) > 1 && info.axesOf(load.getResult()) & axes.reduced && !load.getType().isInteger(1))
      out.push_back(load);
  return out;
}

unsigned lower::bytesOfAccess(kernel::LoadOp load, unsigned width) { return width * load.getType().getIntOrFloatBitWidth() / 8; }
