//===- RowLevels.cpp - In which order a row's values are computed ----------===//

#include "RowLevels.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyInfo;

bool cuda::isRowReduction(const BodyInfo &info, RowAxes axes, Operation *root) {
  auto r = dyn_cast<kernel::ReduceOp>(root);
  return r && !(info.axesOf(r.getResult()) & ~axes.rows);
}

static AxisSet innerOf(const BodyInfo &info, RowAxes axes, Operation *root) {
  AxisSet set = info.domainOf(root);
  if (auto r = dyn_cast<kernel::ReduceOp>(root))
    set |= info.axesOf(r.getAxes());
  return set & ~axes.rows;
}

std::vector<std::vector<RowPass>> cuda::rowLevels(const BodyInfo &info, RowAxes axes, ArrayRef<Operation *> roots) {
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

void cuda::addRowLoads(const BodyInfo &info, RowAxes axes, Operation *op, llvm::SmallPtrSetImpl<Operation *> &seen) {
  for (Value v : op->getOperands()) {
    Operation *def = v.getDefiningOp();
    if (!def || isRowReduction(info, axes, def) || !seen.insert(def).second)
      continue;
    addRowLoads(info, axes, def, seen);
  }
}

llvm::SmallVector<kernel::LoadOp> cuda::readAgain(const BodyInfo &info, RowAxes axes, ArrayRef<Operation *> roots) {
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
        addRowLoads(info, axes, root, seen);
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

unsigned cuda::bytesOfAccess(kernel::LoadOp load, unsigned width) { return width * load.getType().getIntOrFloatBitWidth() / 8; }
