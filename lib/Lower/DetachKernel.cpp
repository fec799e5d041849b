//===- DetachKernel.cpp - A kernel on its own, in canonical form -----------===//

#include "lathe/Lower/DetachKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

namespace {
/// Renames symbols in the attributes of a kernel.
class Renamer {
public:
  explicit Renamer(kernel::GenericOp op) {
    auto number = [](const char *prefix, size_t i) {
      std::string digits = std::to_string(i);
      return prefix + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits;
    };
    for (unsigned i = 0; i < op.getNumAxes(); ++i)
      names[op.getAxisName(i).str()] = number("i", i);
    for (auto [i, s] : llvm::enumerate(op.getSizeSymbols()))
      names[s] = number("s", i);
    for (auto &[from, to] : names)
      with.emplace(from, Expr::symbol(to));
  }
  void rename(Operation *op) {
    static constexpr StringRef exprs[] = {"offset", "lhsOffset", "rhsOffset", "qOffset", "kOffset", "vOffset", "expr"};
    static constexpr StringRef axes[] = {"queryAxis", "keyAxis", "depthAxis", "valueAxis", "axis", "rankAxis"};
    for (StringRef key : exprs)
      if (auto a = op->getAttrOfType<StringAttr>(key))
        op->setAttr(key, expr(a));
    for (StringRef key : axes)
      if (auto a = op->getAttrOfType<StringAttr>(key))
        op->setAttr(key, name(a));
    if (auto a = op->getAttrOfType<ArrayAttr>("axes"))
      op->setAttr("axes", each(a, [&](StringAttr s) { return name(s); }));
    if (auto a = op->getAttrOfType<ArrayAttr>("slides"))
      op->setAttr("slides", each(a, [&](StringAttr s) { return expr(s); }));
    op->setLoc(UnknownLoc::get(op->getContext()));
  }
  StringAttr expr(StringAttr a) const {
    return StringAttr::get(a.getContext(), Expr::parsed(a.getValue()).substitute(with).str());
  }
  StringAttr name(StringAttr a) const {
    auto it = names.find(a.str());
    return it == names.end() ? a : StringAttr::get(a.getContext(), it->second);
  }
  ArrayAttr each(ArrayAttr a, llvm::function_ref<StringAttr(StringAttr)> f) const {
    SmallVector<Attribute> out;
    for (Attribute x : a)
      out.push_back(f(cast<StringAttr>(x)));
    return ArrayAttr::get(a.getContext(), out);
  }

private:
  std::map<std::string, std::string> names;
  std::map<std::string, Expr> with;
};
} // namespace

static Type shapeless(Type t) {
  return RankedTensorType::get({ShapedType::kDynamic}, cast<RankedTensorType>(t).getElementType());
}

DetachedKernel lower::detachKernel(kernel::GenericOp original) {
  DetachedKernel d;
  Location loc = UnknownLoc::get(original.getContext());
  d.module = ModuleOp::create(loc);
  OpBuilder b(d.module->getBodyRegion());
  SmallVector<Type> operands;
  for (Value v : original.getInputs())
    operands.push_back(shapeless(v.getType()));
  auto holder = b.create<func::FuncOp>(loc, "kernel", b.getFunctionType(operands, {}));
  Block *block = holder.addEntryBlock();
  b.setInsertionPointToEnd(block);
  IRMapping mapping;
  for (auto [v, arg] : llvm::zip(original.getInputs(), block->getArguments()))
    mapping.map(v, arg);
  d.kernel = cast<kernel::GenericOp>(b.clone(*original.getOperation(), mapping));
  b.create<func::ReturnOp>(loc);
  Renamer renamer(original);
  d.kernel.setName("kernel");
  d.kernel.removeNodesAttr();
  d.kernel.removeUnfusedAttr();
  d.kernel->setLoc(loc);
  for (Value v : d.kernel->getResults())
    v.setType(shapeless(v.getType()));
  d.kernel.setAxisNamesAttr(renamer.each(original.getAxisNames(), [&](StringAttr a) { return renamer.name(a); }));
  d.kernel.setAxisExtentsAttr(renamer.each(original.getAxisExtents(), [&](StringAttr a) { return renamer.expr(a); }));
  d.kernel.getBody().walk([&](Operation *op) { renamer.rename(op); });
  for (Value v : d.kernel.getBody().getArguments())
    v.setLoc(loc);
  d.sizes = d.kernel.getSizeSymbols();
  llvm::raw_string_ostream os(d.text);
  d.module->print(os, OpPrintingFlags().useLocalScope());
  return d;
}
