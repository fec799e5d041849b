//===- BuildModule.cpp - A kernel's functions ------------------------------===//
//
//     void NAME(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end, void *scratch)
// unpacks its arguments and calls NAME.body, whose pointer arguments are known not to alias: that is what lets LLVM keep
// values in registers across stores. A kernel that runs in several ways has a body for each, NAME.way1.body and so on; NAME and NAME_plan
// choose by the same conditions on sizes.
//
//===----------------------------------------------------------------------===//

#include "BuildModule.h"
#include "CpuHooks.h"
#include "KernelEmitters.h"
#include "Rows/Softmax.h"
#include "Contraction/UnpackedProduct.h"
#include "lathe/Lower/CollapseAxes.h"
#include "lathe/Lower/NarrowIndices.h"
#include "lathe/Lower/SizeTests.h"
#include "lathe/Lower/PlainKernel.h"
#include "lathe/Lower/SplitAxes.h"
#include "lathe/Schedule/Choose.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using kernel::KernelClass;
using lower::BodyInfo;
using shape::Expr;

static Value loadAt(OpBuilder &b, Location loc, Value array, Type type, int64_t index) {
  Value p = b.create<LLVM::GEPOp>(loc, array.getType(), type, array, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  return b.create<LLVM::LoadOp>(loc, type, p);
}

static func::FuncOp addFunction(OpBuilder &b, Location loc, ModuleOp module, const Twine &name, ArrayRef<Type> arguments) {
  b.setInsertionPointToEnd(module.getBody());
  auto fn = b.create<func::FuncOp>(loc, name.str(), b.getFunctionType(arguments, {}));
  b.setInsertionPointToStart(fn.addEntryBlock());
  return fn;
}

/// NAME.body's frame; pointer arguments do not alias, but for a result that lies where an operand lies; operands are only read.
static func::FuncOp addBody(OpBuilder &b, kernel::GenericOp kernel, ModuleOp module, StringRef name, unsigned sizes) {
  Location loc = kernel.getLoc();
  unsigned inputs = kernel.getInputs().size(), refs = inputs + kernel.getOutputs().size();
  auto replaced = kernel->getAttrOfType<IntegerAttr>("in_place");
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  SmallVector<Type> types(refs, pointer);
  types.append(sizes + std::size(runFacts) + 2, i64);
  types.push_back(pointer);
  func::FuncOp fn = addFunction(b, loc, module, name + ".body", types);
  fn.setPrivate();
  for (unsigned i = 0; i < types.size(); ++i)
    if (types[i] == pointer) {
      if (replaced && (i == replaced.getInt() || i == inputs))
        continue;
      fn.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
      if (i < inputs)
        fn.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
    }
  return fn;
}

static lower::SymbolValue valueOf(StringRef symbol, ArrayRef<std::string> sizes, ValueRange values, ValueRange run) {
  if (auto size = llvm::find(sizes, symbol); size != sizes.end())
    return {values[size - sizes.begin()], 0};
  auto fact = llvm::find(runFacts, symbol);
  size_t number = fact - std::begin(runFacts);
  return number < run.size() ? lower::SymbolValue{run[number], 0} : lower::SymbolValue{};
}

Value KernelFunction::emitExpr(const Expr &e) const {
  return lower::emitExpr(b, loc, e, [&](StringRef symbol) { return valueOf(symbol, info.sizes, sizes, run); });
}

namespace {
/// A case with its code.
struct EmittedCase {
  schedule::Predicate when;
  func::FuncOp body;
  KernelPlan plan;
};

/// Writes NAME and NAME_plan, which choose between cases.
class Chooser {
public:
  Chooser(OpBuilder &b, Location loc, ModuleOp module, StringRef name, const std::vector<std::string> &sizes,
          ArrayRef<EmittedCase> cases)
      : b(b), loc(loc), module(module), name(name), sizes(sizes), cases(cases), pointer(LLVM::LLVMPointerType::get(b.getContext())) {}
  void addEntry(unsigned refs);
  llvm::Error addPlan();

private:
  Value emit(const Expr &e) {
    return lower::emitExpr(b, loc, e, [&](StringRef symbol) -> lower::SymbolValue {
      return valueOf(symbol, sizes, values, ArrayRef(values).drop_front(sizes.size()));
    });
  }
  void loadSizes(Value array);
  Value holds(const schedule::Predicate &when);
  void choose(size_t first, llvm::function_ref<void(const EmittedCase &)> emitCase);
  void storeAnswers(Value to, const KernelPlan &plan);

  OpBuilder &b;
  Location loc;
  ModuleOp module;
  StringRef name;
  const std::vector<std::string> &sizes;
  ArrayRef<EmittedCase> cases;
  Type pointer;
  SmallVector<Value> values; ///< of the sizes, and of runFacts behind them
  std::string unknown;       ///< an expression that mentions what is no size
};
} // namespace

void Chooser::loadSizes(Value array) {
  values.clear();
  for (unsigned i = 0; i < sizes.size() + std::size(runFacts); ++i)
    values.push_back(loadAt(b, loc, array, b.getI64Type(), i));
}

Value Chooser::holds(const schedule::Predicate &when) {
  Value all;
  for (const schedule::Comparison &c : when.all()) {
    Value left = emit(c.left), right = emit(c.right);
    if (!left || !right) {
      unknown = when.str();
      left = right = lower::constantI64(b, loc, 0);
    }
    arith::CmpIPredicate kind = c.relation == schedule::Relation::Less        ? arith::CmpIPredicate::slt
                                : c.relation == schedule::Relation::LessEqual ? arith::CmpIPredicate::sle
                                                                              : arith::CmpIPredicate::eq;
    Value one = b.create<arith::CmpIOp>(loc, kind, left, right);
    all = all ? b.create<arith::AndIOp>(loc, all, one).getResult() : one;
  }
  return all;
}

void Chooser::choose(size_t first, llvm::function_ref<void(const EmittedCase &)> emitCase) {
  if (first + 1 == cases.size())
    return emitCase(cases[first]);
  auto branch = b.create<scf::IfOp>(loc, holds(cases[first].when), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitCase(cases[first]);
  b.setInsertionPointToStart(branch.elseBlock());
  choose(first + 1, emitCase);
}

void Chooser::addEntry(unsigned refs) {
  Type i64 = b.getI64Type();
  func::FuncOp fn = addFunction(b, loc, module, name, {pointer, pointer, i64, i64, pointer});
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < refs; ++i)
    arguments.push_back(loadAt(b, loc, fn.getArgument(0), pointer, i));
  loadSizes(fn.getArgument(1));
  arguments.append(values);
  arguments.append({fn.getArgument(2), fn.getArgument(3), fn.getArgument(4)});
  choose(0, [&](const EmittedCase &c) { b.create<func::CallOp>(loc, c.body, arguments); });
  b.setInsertionPointToEnd(&fn.getBody().front());
  b.create<func::ReturnOp>(loc);
}

void Chooser::storeAnswers(Value to, const KernelPlan &plan) {
  SmallVector<const Expr *> answers = {&plan.items, &plan.scratchBytes, &plan.cost, &plan.granularity, &plan.flags};
  if (!plan.stage.unit.isZero())
    llvm::append_range(answers, plan.stage.all());
  for (auto [i, e] : llvm::enumerate(answers)) {
    Value v = emit(*e);
    if (!v) {
      unknown = e->str();
      return;
    }
    Value p = b.create<LLVM::GEPOp>(loc, pointer, b.getI64Type(), to, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    b.create<LLVM::StoreOp>(loc, v, p);
  }
}

llvm::Error Chooser::addPlan() {
  func::FuncOp fn = addFunction(b, loc, module, name + "_plan", {pointer, pointer});
  loadSizes(fn.getArgument(0));
  choose(0, [&](const EmittedCase &c) { storeAnswers(fn.getArgument(1), c.plan); });
  b.setInsertionPointToEnd(&fn.getBody().front());
  b.create<func::ReturnOp>(loc);
  return unknown.empty() ? llvm::Error::success() : bug("plan of '{0}': '{1}' mentions what is no size", name, unknown);
}

/// On a copy of the kernel: plain reductions only, with axes collapsed.
static llvm::Error emitAsRows(KernelFunction &f, KernelPlan &plan, std::string &form) {
  OpBuilder copies(f.kernel);
  auto copy = cast<kernel::GenericOp>(copies.clone(*f.kernel));
  auto erase = llvm::make_scope_exit([&] { copy.erase(); });
  if (!lower::makePlain(copy))
    return bug("kernel '{0}': its operand is packed, but no emitter takes it", f.kernel.getName());
  lower::arrangeAxes(copy);
  simplifySoftmax(copy);
  BodyInfo info(copy);
  KernelFunction rows{copy, info, f.isa, f.hooks, f.b, f.loc, f.refs, {}, f.begin, f.end, f.scratch, f.schedule, f.facts, f.run};
  for (const std::string &s : info.sizes)
    rows.sizes.push_back(f.sizes[llvm::find(f.info.sizes, s) - f.info.sizes.begin()]);
  switch (copy.getKernelClass()) {
  case KernelClass::Scan:
    form = "scan";
    return emitScan(rows, plan);
  case KernelClass::Sort:
    form = "sort";
    return emitSort(rows, plan);
  case KernelClass::Transform:
    return userError("kernel '{0}': a CPU makes Fourier transforms of products (--lathe-expand-transforms)", f.kernel.getName());
  default:
    break;
  }
  llvm::Expected<bool> taken = emitPermutation(rows, plan);
  if (!taken)
    return taken.takeError();
  form = *taken ? "permutation" : "row program";
  return *taken ? llvm::Error::success() : emitRowProgram(rows, plan);
}

using Emitter = llvm::Expected<bool> (*)(KernelFunction &, KernelPlan &);

/// The emitters of a class, in the order in which they are asked, and what they make.
static ArrayRef<std::pair<Emitter, StringRef>> emittersOf(KernelClass c) {
  static const std::pair<Emitter, StringRef> contraction[] = {{emitContraction, "contraction in tiles"}},
                                             attention[] = {{emitAttention, "attention in blocks"}},
                                             scatter[] = {{emitScatter, "scatter"}},
                                             reduction[] = {{emitDepthwiseBytes, "depthwise convolution of bytes"},
                                                            {emitIntegerProduct, "product of bytes"},
                                                            {emitWinograd, "convolution by minimal filtering"},
                                                            {emitConvolution, "convolution in tiles"},
                                                            {emitGrouped, "convolution of groups"},
                                                            {emitDepthwise, "depthwise convolution"},
                                                            {emitUnpackedProduct, "product with unpacked weights"},
                                                            {emitProduct, "product in tiles"}};
  switch (c) {
  case KernelClass::Contraction:
    return contraction;
  case KernelClass::Attention:
    return attention;
  case KernelClass::Scatter:
    return scatter;
  case KernelClass::Reduction:
    return reduction;
  case KernelClass::Loop:
  case KernelClass::Scan:
  case KernelClass::Sort:
  case KernelClass::Transform:
    return {};
  }
  return {};
}

/// The class's own emitter, or the row program emitter for what it declines. Rows that are asked for of a contraction are a sum
/// of products.
static llvm::Error emitKernel(KernelFunction &f, KernelPlan &plan, std::string &form) {
  bool products = f.kernel.getKernelClass() == KernelClass::Contraction && isa_and_nonnull<schedule::RowsAttr>(f.schedule);
  if (products && schedule::isPacked(f.kernel))
    return userError("kernel '{0}': #schedule.rows: its second operand is packed for tiles", f.kernel.getName());
  if (products)
    return emitAsRows(f, plan, form);
  for (auto [emit, makes] : emittersOf(f.kernel.getKernelClass())) {
    llvm::Expected<bool> taken = emit(f, plan);
    if (!taken)
      return taken.takeError();
    if (*taken) {
      form = makes.str();
      return llvm::Error::success();
    }
  }
  return emitAsRows(f, plan, form);
}

/// What a fast emitter would have liked and did not take.
static std::string whyDeclined(kernel::GenericOp kernel, StringRef form) {
  if (form != "row program")
    return "";
  if (kernel.getKernelClass() == KernelClass::Attention)
    return "attention: not in blocks: products of other types, or operands that no stride describes; runs as its three passes";
  if (kernel.getKernelClass() != KernelClass::Contraction)
    return "";
  for (auto op : kernel.getBody().front().getOps<kernel::ContractOp>()) {
    if (schedule::tilingOf(BodyInfo(kernel), op) != schedule::Tiling::OtherTypes)
      return "";
    std::string why;
    llvm::raw_string_ostream os(why);
    os << "contraction: no tiles for " << op.getLhs().getType().getElementType() << " x " << op.getRhs().getType().getElementType()
       << " summed in " << op.getType() << ": runs as a sum of products";
    return why;
  }
  return "";
}

namespace {
/// The cases of one kernel, one after the other.
struct CaseEmitter {
  lower::DetachedKernel &detached;
  const Isa &isa;
  OpBuilder &b;
  ModuleOp module;
  StringRef name;

  llvm::Expected<EmittedCase> emit(const KernelCase &c, size_t number, std::string &form);
};
} // namespace

llvm::Expected<EmittedCase> CaseEmitter::emit(const KernelCase &c, size_t number, std::string &form) {
  OpBuilder copies(detached.kernel.getContext());
  auto kernel = cast<kernel::GenericOp>(copies.clone(*detached.kernel.getOperation()));
  auto erase = llvm::make_scope_exit([&] { kernel.erase(); });
  if (std::map<std::string, Expr> known = c.when.equalities(); !known.empty())
    lower::substituteSizes(kernel, known);
  shape::Facts facts = schedule::factsWhere(c.when);
  lower::narrowIndices(kernel, facts);
  lower::settleSizeTests(kernel, facts);
  Location loc = kernel.getLoc();
  BodyInfo info(kernel);
  unsigned refs = kernel.getInputs().size() + kernel.getOutputs().size();
  std::string symbol = number ? name.str() + ".way" + std::to_string(number) : name.str();
  EmittedCase out{c.when, addBody(b, kernel, module, symbol, detached.sizes.size()), {}};
  auto args = out.body.getArguments();
  CpuHooks hooks(isa);
  KernelFunction f{kernel, info, isa, hooks, b, loc, {}, {}, {}, {}, {}};
  f.refs.append(args.begin(), args.begin() + refs);
  for (const std::string &s : info.sizes)
    f.sizes.push_back(args[refs + (llvm::find(detached.sizes, s) - detached.sizes.begin())]);
  unsigned next = refs + detached.sizes.size();
  f.run.append(args.begin() + next, args.begin() + next + std::size(runFacts));
  next += std::size(runFacts);
  f.begin = args[next];
  f.end = args[next + 1];
  f.scratch = args[next + 2];
  f.schedule = c.schedule;
  f.facts = facts;
  if (llvm::Error e = emitKernel(f, out.plan, form))
    return std::move(e);
  b.create<func::ReturnOp>(loc);
  return out;
}

static bool isSamePlan(const KernelPlan &x, const KernelPlan &y) {
  auto isEqual = [](const Expr *a, const Expr *b) { return *a == *b; };
  return x.items == y.items && x.scratchBytes == y.scratchBytes && x.cost == y.cost && x.granularity == y.granularity && x.flags == y.flags &&
         llvm::equal(x.stage.all(), y.stage.all(), isEqual);
}

/// What is emitted alike for two cases is there once; cases in front of the general one that do the same are none.
static void mergeEqual(std::vector<EmittedCase> &cases) {
  for (size_t i = 1; i < cases.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      func::FuncOp mine = cases[i].body, other = cases[j].body;
      if (mine == other || !OperationEquivalence::isRegionEquivalentTo(&mine.getBody(), &other.getBody(), OperationEquivalence::IgnoreLocations))
        continue;
      cases[i].body = other;
      mine.erase();
      break;
    }
  while (cases.size() > 1) {
    EmittedCase &general = cases.back(), &before = cases[cases.size() - 2];
    if (general.body != before.body || !isSamePlan(general.plan, before.plan))
      break;
    general.when = {};
    cases.erase(cases.end() - 2);
  }
}

llvm::Expected<BuiltKernel> cpu::buildKernelModule(lower::DetachedKernel &detached, ArrayRef<KernelCase> cases, const Isa &isa,
                                                   StringRef name, bool sharesAll) {
  constexpr int64_t muchWork = 1 << 20; // of an item: more than another thread costs
  kernel::GenericOp kernel = detached.kernel;
  if (llvm::Error e = lower::checkAxes(kernel))
    return std::move(e);
  Location loc = kernel.getLoc();
  BuiltKernel built;
  built.module = ModuleOp::create(loc);
  OpBuilder b(kernel.getContext());
  std::vector<EmittedCase> emitted;
  CaseEmitter emitter{detached, isa, b, *built.module, name};
  for (auto [i, c] : llvm::enumerate(cases)) {
    llvm::Expected<EmittedCase> one = emitter.emit(c, i, built.forms.emplace_back());
    if (!one)
      return one.takeError();
    if (sharesAll)
      one->plan.cost = muchWork;
    emitted.push_back(std::move(*one));
  }
  if (std::string why = whyDeclined(kernel, built.forms.back()); !why.empty())
    built.remarks.push_back(why);
  mergeEqual(emitted);
  Chooser chooser(b, loc, *built.module, name, detached.sizes, emitted);
  chooser.addEntry(kernel.getInputs().size() + kernel.getOutputs().size());
  if (llvm::Error e = chooser.addPlan())
    return std::move(e);
  return std::move(built);
}
