//===- DetachKernel.cpp - A kernel on its own, in canonical form -----------===//

#include "lathe/Lower/DetachKernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"
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
/// The attribute of a detached kernel that says how many elements its inputs have.
static constexpr StringRef elementsKey = "elements";
/// That of one whose inputs are read through indices, and have so few elements that 32 bits number them.
static constexpr StringRef shortKey = "short_places";

static std::string numbered(StringRef prefix, size_t i) {
  std::string digits = std::to_string(i);
  return prefix.str() + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits;
}

/// An element of a tensor keeps saying that it is one: unlike a size it may be negative.
static std::string sizeNamed(StringRef size, size_t i) {
  return numbered("s", i) + (shape::kindOf(size) == shape::SymbolKind::Element ? "[]" : "");
}

namespace {
/// Renames symbols in the attributes of a kernel.
class Renamer {
public:
  explicit Renamer(kernel::GenericOp op) {
    for (unsigned i = 0; i < op.getNumAxes(); ++i)
      names[op.getAxisName(i).str()] = numbered("i", i);
    for (auto [i, s] : llvm::enumerate(op.getSizeSymbols()))
      names[s] = sizeNamed(s, i);
    for (auto &[from, to] : names)
      with.emplace(from, Expr::symbol(to));
  }
  /// Sizes alone: from[i] becomes to[i].
  Renamer(ArrayRef<std::string> from, ArrayRef<std::string> to) {
    for (auto [f, t] : llvm::zip(from, to)) {
      names[f] = t;
      with.emplace(f, Expr::symbol(t));
    }
  }
  void renameKernel(kernel::GenericOp kernel) {
    kernel.setAxisNamesAttr(each(kernel.getAxisNames(), [&](StringAttr a) { return name(a); }));
    kernel.setAxisExtentsAttr(each(kernel.getAxisExtents(), [&](StringAttr a) { return expr(a); }));
    if (auto counts = kernel->getAttrOfType<ArrayAttr>(elementsKey))
      kernel->setAttr(elementsKey, each(counts, [&](StringAttr a) { return expr(a); }));
    kernel.getBody().walk([&](Operation *op) { rename(op); });
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

/// Whether all that is reduced is as short as a window.
static bool isWindow(kernel::GenericOp kernel, kernel::ReduceOp reduce) {
  return llvm::all_of(reduce.getAxes().getAsValueRange<StringAttr>(), [&](StringRef axis) {
    std::optional<Expr> extent = kernel.getExtent(axis);
    return extent && extent->constant().value_or(longestWindow + 1) <= longestWindow;
  });
}

/// Whether an element may be read at several points, or a place that is outside of an operand may be asked for: code for that counts elements.
static bool countsElements(kernel::GenericOp kernel) {
  if (kernel.getKernelClass() != kernel::KernelClass::Loop && kernel.getKernelClass() != kernel::KernelClass::Reduction)
    return false;
  llvm::DenseSet<Value> read;
  for (Operation &op : kernel.getBody().front()) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    auto reduce = dyn_cast<kernel::ReduceOp>(op);
    if ((reduce && isWindow(kernel, reduce)) || (load && (load.getPredicate() || !read.insert(load.getRef()).second)))
      return true;
  }
  return false;
}

/// How many elements operands have is part of what such a kernel is; other shapes are not. Where it is said already, in sizes that were written for
/// others, it stays.
static void keepCounts(kernel::GenericOp original, kernel::GenericOp kernel) {
  if (!countsElements(kernel) || kernel->hasAttr(elementsKey))
    return;
  SmallVector<Attribute> counts;
  for (Value v : original.getInputs())
    counts.push_back(StringAttr::get(kernel.getContext(), shape::product(ir::dimsOf(v)).str()));
  kernel->setAttr(elementsKey, ArrayAttr::get(kernel.getContext(), counts));
}

void lower::keepElements(kernel::GenericOp kernel) { keepCounts(kernel, kernel); }

Expr lower::elementsOf(kernel::GenericOp kernel, unsigned input) {
  if (auto counts = kernel->getAttrOfType<ArrayAttr>(elementsKey))
    return Expr::parsed(cast<StringAttr>(counts[input]).getValue());
  Expr count = shape::product(ir::dimsOf(kernel.getInputs()[input]));
  std::optional<int64_t> known = count.constant();
  return known && *known < 0 ? Expr::unknown() : count; // of a shape that was dropped
}

/// Whether 32 bits number the elements of each input that is read through indices is part of what a kernel is, since code that gathers asks for it.
static void keepShortPlaces(kernel::GenericOp original, kernel::GenericOp kernel) {
  SmallVector<kernel::LoadOp> loads;
  original.getBody().walk([&](kernel::LoadOp load) {
    if (!load.getIndices().empty())
      loads.push_back(load);
  });
  auto isShort = [&](kernel::LoadOp load) {
    unsigned number = cast<BlockArgument>(load.getRef()).getArgNumber();
    return number < original.getInputs().size() && elementsOf(original, number).constant().value_or(INT64_MAX) <= INT32_MAX;
  };
  if (!loads.empty() && llvm::all_of(loads, isShort))
    kernel->setAttr(shortKey, UnitAttr::get(kernel.getContext()));
}

bool lower::hasShortPlaces(kernel::LoadOp load) {
  auto kernel = load->getParentOfType<kernel::GenericOp>();
  return kernel && kernel->hasAttr(shortKey) && !load.getIndices().empty();
}

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().useLocalScope());
  return text;
}

std::vector<Expr> lower::exprsOf(kernel::GenericOp kernel) {
  std::vector<Expr> all;
  auto add = [&](Attribute a) { all.push_back(Expr::parsed(cast<StringAttr>(a).getValue())); };
  llvm::for_each(kernel.getAxisExtents(), add);
  kernel.getBody().walk([&](Operation *op) {
    for (StringRef key : exprKeys)
      if (auto a = op->getAttrOfType<StringAttr>(key))
        add(a);
    if (auto a = op->getAttrOfType<ArrayAttr>(exprListKey))
      llvm::for_each(a, add);
  });
  return all;
}

/// The sizes by the first expression that mentions them. Of those that begin in one expression, the first is the one whose role reads
/// first, expression by expression: sizes in front of it by number, the others without distinction. (Where roles are equal, so is
/// the text.)
static std::vector<std::string> orderOf(kernel::GenericOp kernel, ArrayRef<std::string> sizes) {
  std::vector<std::string> left(sizes), ordered;
  std::vector<Expr> exprs = left.size() > 1 ? exprsOf(kernel) : std::vector<Expr>();
  auto roleOf = [&](const std::string &size) {
    std::map<std::string, Expr> names;
    for (const std::string &other : left)
      names.emplace(other, Expr::symbol(other == size ? "this" : "other"));
    for (auto [i, other] : llvm::enumerate(ordered))
      names.emplace(other, Expr::symbol("size" + std::to_string(i)));
    std::string role;
    for (auto [i, e] : llvm::enumerate(exprs))
      if (e.mentions(size))
        role += std::to_string(i) + ":" + e.substitute(names).str() + ";";
    return role;
  };
  while (left.size() > 1) {
    auto mentionsAny = [&](const Expr &e) { return llvm::any_of(left, [&](const std::string &s) { return e.mentions(s); }); };
    auto first = llvm::find_if(exprs, mentionsAny);
    std::vector<std::string> next = left;
    if (first != exprs.end())
      llvm::erase_if(next, [&](const std::string &s) { return !first->mentions(s); });
    std::string chosen = next.front();
    if (next.size() > 1) {
      std::vector<std::string> roles;
      llvm::transform(next, std::back_inserter(roles), roleOf);
      chosen = next[std::min_element(roles.begin(), roles.end()) - roles.begin()];
    }
    ordered.push_back(chosen);
    llvm::erase(left, chosen);
  }
  ordered.insert(ordered.end(), left.begin(), left.end());
  return ordered;
}

DetachedKernel lower::detachText(kernel::GenericOp original) {
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
  keepCounts(original, d.kernel);
  keepShortPlaces(original, d.kernel);
  d.kernel->setLoc(loc);
  for (Value v : d.kernel->getResults())
    v.setType(shapeless(v.getType()));
  renamer.renameKernel(d.kernel);
  for (Value v : d.kernel.getBody().getArguments())
    v.setLoc(loc);
  d.sizes = d.kernel.getSizeSymbols();
  d.text = textOf(*d.module);
  return d;
}

DetachedKernel lower::detachKernel(kernel::GenericOp original) {
  DetachedKernel d = detachText(original);
  d.ordered = orderOf(d.kernel, d.sizes);
  d.canonical = d.text;
  if (d.ordered != d.sizes) {
    OwningOpRef<ModuleOp> renamed(d.module->clone());
    std::vector<std::string> places;
    for (auto [i, size] : llvm::enumerate(d.ordered))
      places.push_back(sizeNamed(size, i));
    Renamer byPlace(d.ordered, places);
    renamed->walk([&](kernel::GenericOp kernel) { byPlace.renameKernel(kernel); });
    d.canonical = textOf(*renamed);
  }
  return d;
}

void lower::rewriteExprs(kernel::GenericOp kernel, llvm::function_ref<Expr(const Expr &)> rewrite) {
  auto rewritten = [&](Attribute a) {
    return StringAttr::get(a.getContext(), rewrite(Expr::parsed(cast<StringAttr>(a).getValue())).str());
  };
  auto rewriteAll = [&](ArrayAttr a) {
    SmallVector<Attribute> out;
    for (Attribute x : a)
      out.push_back(rewritten(x));
    return ArrayAttr::get(a.getContext(), out);
  };
  kernel.setAxisExtentsAttr(rewriteAll(kernel.getAxisExtents()));
  if (auto counts = kernel->getAttrOfType<ArrayAttr>(elementsKey))
    kernel->setAttr(elementsKey, rewriteAll(counts));
  kernel.getBody().walk([&](Operation *op) {
    for (StringRef key : exprKeys)
      if (auto a = op->getAttrOfType<StringAttr>(key))
        op->setAttr(key, rewritten(a));
    if (auto a = op->getAttrOfType<ArrayAttr>(exprListKey))
      op->setAttr(exprListKey, rewriteAll(a));
  });
}

void lower::substituteSizes(kernel::GenericOp kernel, const std::map<std::string, Expr> &with) {
  shape::Facts facts;
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
    facts.setAxis(kernel.getAxisName(i), facts.simplify(kernel.getAxisExtent(i).substitute(with)));
  rewriteExprs(kernel, [&](const Expr &e) { return facts.simplify(e.substitute(with)); });
}

std::vector<kernel::GenericOp> lower::kernelsOf(llvm::ArrayRef<ModuleOp> modules) {
  std::vector<kernel::GenericOp> kernels;
  for (ModuleOp module : modules)
    for (auto f : module.getOps<func::FuncOp>())
      f.walk([&](kernel::GenericOp op) { kernels.push_back(op); });
  return kernels;
}
