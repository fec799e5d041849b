//===- DetachKernel.cpp - A kernel on its own, in canonical form -----------===//

#include "lathe/Lower/DetachKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

/// The attributes of a body's ops that hold one expression, and those that hold a list of them.
static constexpr StringRef exprKeys[] = {"offset", "lhsOffset", "rhsOffset", "qOffset", "kOffset", "vOffset", "expr"};
static constexpr StringRef exprListKey = "slides";

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
    static constexpr StringRef axes[] = {"queryAxis", "keyAxis", "depthAxis", "valueAxis", "axis", "rankAxis"};
    for (StringRef key : exprKeys)
      if (auto a = op->getAttrOfType<StringAttr>(key))
        op->setAttr(key, expr(a));
    for (StringRef key : axes)
      if (auto a = op->getAttrOfType<StringAttr>(key))
        op->setAttr(key, name(a));
    if (auto a = op->getAttrOfType<ArrayAttr>("axes"))
      op->setAttr("axes", each(a, [&](StringAttr s) { return name(s); }));
    if (auto a = op->getAttrOfType<ArrayAttr>(exprListKey))
      op->setAttr(exprListKey, each(a, [&](StringAttr s) { return expr(s); }));
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
  for (NamedAttribute a : llvm::to_vector(d.kernel->getDiscardableAttrs())) // how it runs is no part of what it is
    if (a.getName().strref().starts_with("schedule."))
      d.kernel->removeAttr(a.getName());
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

void lower::substituteSizes(kernel::GenericOp kernel, const std::map<std::string, Expr> &with) {
  shape::Facts facts;
  auto rewritten = [&](Attribute a) {
    return StringAttr::get(a.getContext(), facts.simplify(Expr::parsed(cast<StringAttr>(a).getValue()).substitute(with)).str());
  };
  auto rewriteAll = [&](ArrayAttr a) {
    SmallVector<Attribute> out;
    for (Attribute x : a)
      out.push_back(rewritten(x));
    return ArrayAttr::get(a.getContext(), out);
  };
  kernel.setAxisExtentsAttr(rewriteAll(kernel.getAxisExtents()));
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
    facts.setAxis(kernel.getAxisName(i), kernel.getAxisExtent(i));
  kernel.getBody().walk([&](Operation *op) {
    for (StringRef key : exprKeys)
      if (auto a = op->getAttrOfType<StringAttr>(key))
        op->setAttr(key, rewritten(a));
    if (auto a = op->getAttrOfType<ArrayAttr>(exprListKey))
      op->setAttr(exprListKey, rewriteAll(a));
  });
}
