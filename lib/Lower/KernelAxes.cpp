//===- KernelAxes.cpp - A kernel's axes, taken out of it to be changed -----===//

#include "KernelAxes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;

static std::set<std::string> namesOf(ArrayAttr axes) {
  std::set<std::string> names;
  for (Attribute a : axes)
    names.insert(cast<StringAttr>(a).str());
  return names;
}

KernelAxes::KernelAxes(kernel::GenericOp kernel) : kernel(kernel) {
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
    else if (auto t = dyn_cast<kernel::FftOp>(op))
      ordered.insert({t.getAxis().str(), t.getFrequencyAxis().str(), t.getParts().str(), t.getTurnAxis().value_or(t.getAxis()).str()});
    else if (auto r = dyn_cast<kernel::ReduceOp>(op))
      reductions.push_back({&op, namesOf(r.getAxes())});
    else if (auto c = dyn_cast<kernel::ContractOp>(op)) {
      exprs.push_back({&op, "lhsOffset", c.getLhsExpr()});
      exprs.push_back({&op, "rhsOffset", c.getRhsExpr()});
      reductions.push_back({&op, namesOf(c.getAxes())});
    }
  }
}

void KernelAxes::writeBack() {
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
