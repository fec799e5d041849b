//===- BodyInfo.cpp - What a kernel's body depends on ----------------------===//

#include "lathe/Lower/BodyInfo.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

bool lower::isRootValue(Value value) {
  return isa_and_nonnull<kernel::ReduceOp, kernel::ContractOp, kernel::AttentionOp, kernel::ScanOp, kernel::SortOp, kernel::FftOp>(value.getDefiningOp());
}

llvm::Error lower::checkAxes(llvm::ArrayRef<kernel::GenericOp> kernels) {
  std::vector<std::string> items;
  for (kernel::GenericOp kernel : kernels)
    if (kernel.getNumAxes() > maxAxes)
      items.push_back(llvm::formatv("kernel '{0}': {1} axes, at most {2} are supported", kernel.getName(), kernel.getNumAxes(), maxAxes));
  return items.empty() ? llvm::Error::success() : llvm::make_error<UnsupportedError>(std::move(items));
}

BodyInfo::BodyInfo(kernel::GenericOp kernel) : kernel(kernel), sizes(kernel.getSizeSymbols()) {
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i) {
    axes.push_back(kernel.getAxisName(i).str());
    extents.push_back(kernel.getAxisExtent(i));
  }
  for (Operation &op : kernel.getBody().front())
    visit(&op);
}

std::optional<unsigned> BodyInfo::axisIndex(StringRef name) const {
  for (unsigned i = 0; i < axes.size(); ++i)
    if (axes[i] == name)
      return i;
  return std::nullopt;
}

AxisSet BodyInfo::axesOf(const Expr &e) const {
  AxisSet set = 0;
  for (const std::string &s : e.symbols())
    if (std::optional<unsigned> i = axisIndex(s))
      set |= AxisSet(1) << *i;
  return set;
}

AxisSet BodyInfo::axesOf(ArrayAttr names) const {
  AxisSet set = 0;
  for (Attribute a : names)
    if (std::optional<unsigned> i = axisIndex(cast<StringAttr>(a).getValue()))
      set |= AxisSet(1) << *i;
  return set;
}

const Expr &BodyInfo::exprOf(Operation *op) const {
  static const Expr zero(0);
  auto it = exprs.find(op);
  return it == exprs.end() ? zero : it->second;
}

AxisSet BodyInfo::domainOf(Operation *op) const {
  AxisSet set = exprs.count(op) ? axesOf(exprOf(op)) : 0;
  for (Value v : op->getOperands())
    set |= axesOf(v);
  return op->getNumResults() ? set | axesOf(op->getResult(0)) : set;
}

/// The axes that an op adds by itself, and those that it removes.
static std::pair<AxisSet, AxisSet> ownAxes(Operation *op, const BodyInfo &info) {
  auto bit = [&](StringRef name) {
    std::optional<unsigned> i = info.axisIndex(name);
    return i ? AxisSet(1) << *i : AxisSet(0);
  };
  auto text = [&](StringRef offset) { return info.axesOf(Expr::parsed(offset)); };
  if (auto r = dyn_cast<kernel::ReduceOp>(op))
    return {0, info.axesOf(r.getAxes())};
  if (auto c = dyn_cast<kernel::ContractOp>(op))
    return {text(c.getLhsOffset()) | text(c.getRhsOffset()), info.axesOf(c.getAxes())};
  if (auto a = dyn_cast<kernel::AttentionOp>(op))
    return {text(a.getQOffset()) | text(a.getKOffset()) | text(a.getVOffset()), bit(a.getKeyAxis()) | bit(a.getDepthAxis())};
  if (auto s = dyn_cast<kernel::ScanOp>(op))
    return {bit(s.getAxis()), 0};
  if (auto s = dyn_cast<kernel::SortOp>(op))
    return {bit(s.getRankAxis()), bit(s.getAxis())};
  if (auto t = dyn_cast<kernel::FftOp>(op)) {
    bool isReal = t.getKind() == kernel::TransformKind::C2R;
    AxisSet added = bit(t.getFrequencyAxis()) | (t.getTurnAxis() ? bit(*t.getTurnAxis()) : 0);
    return {added | (isReal ? 0 : bit(t.getParts())), bit(t.getAxis()) | (isReal ? bit(t.getParts()) : 0)};
  }
  return {info.axesOf(info.exprOf(op)), 0};
}

void BodyInfo::visit(Operation *op) {
  if (auto o = dyn_cast<kernel::LoadOp>(op))
    exprs[op] = o.getOffsetExpr();
  else if (auto o = dyn_cast<kernel::StoreOp>(op))
    exprs[op] = o.getOffsetExpr();
  else if (auto o = dyn_cast<kernel::IndexOp>(op))
    exprs[op] = o.getIndexExpr();
  auto [added, removed] = ownAxes(op, *this);
  AxisSet set = added;
  if (auto a = dyn_cast<kernel::AttentionOp>(op)) {
    std::optional<unsigned> value = axisIndex(a.getValueAxis()), depth = axisIndex(a.getDepthAxis());
    AxisSet score = added & ~(value ? AxisSet(1) << *value : 0) & ~(depth ? AxisSet(1) << *depth : 0);
    valueAxes[a.getScore().getArgument(0)] = score;
    for (Operation &inner : a.getScore().front()) {
      visit(&inner);
      for (Value v : inner.getOperands())
        set |= axesOf(v);
    }
  }
  for (Value v : op->getOperands())
    set |= axesOf(v);
  set &= ~removed;
  positions[op] = ops.size();
  ops.push_back(op);
  for (Value v : op->getResults())
    valueAxes[v] = set;
}
