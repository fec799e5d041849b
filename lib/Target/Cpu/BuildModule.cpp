//===- BuildModule.cpp - A kernel's functions ------------------------------===//
//
//     void NAME(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end, void *scratch)
// unpacks its arguments and calls NAME.body, whose pointer arguments are known not to alias: that is what lets LLVM keep
// values in registers across stores.
//
//===----------------------------------------------------------------------===//

#include "BuildModule.h"
#include "CpuHooks.h"
#include "KernelEmitters.h"
#include "lathe/Lower/CollapseAxes.h"
#include "lathe/Lower/PlainKernel.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
  types.append(sizes + 2, i64);
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

static void addEntry(OpBuilder &b, Location loc, ModuleOp module, StringRef name, func::FuncOp body, unsigned refs,
                     unsigned sizes) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  func::FuncOp fn = addFunction(b, loc, module, name, {pointer, pointer, i64, i64, pointer});
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < refs; ++i)
    arguments.push_back(loadAt(b, loc, fn.getArgument(0), pointer, i));
  for (unsigned i = 0; i < sizes; ++i)
    arguments.push_back(loadAt(b, loc, fn.getArgument(1), i64, i));
  arguments.append({fn.getArgument(2), fn.getArgument(3), fn.getArgument(4)});
  b.create<func::CallOp>(loc, body, arguments);
  b.create<func::ReturnOp>(loc);
}

static llvm::Error addPlan(OpBuilder &b, Location loc, ModuleOp module, StringRef name,
                           const std::vector<std::string> &sizes, const KernelPlan &plan) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  func::FuncOp fn = addFunction(b, loc, module, name + "_plan", {pointer, pointer});
  SmallVector<Value> values;
  for (unsigned i = 0; i < sizes.size(); ++i)
    values.push_back(loadAt(b, loc, fn.getArgument(0), i64, i));
  auto lookup = [&](StringRef symbol) -> lower::SymbolValue {
    auto it = llvm::find(sizes, symbol);
    return it == sizes.end() ? lower::SymbolValue{} : lower::SymbolValue{values[it - sizes.begin()], 0};
  };
  const Expr *answers[] = {&plan.items, &plan.scratchBytes, &plan.cost, &plan.granularity, &plan.flags};
  for (auto [i, e] : llvm::enumerate(answers)) {
    Value v = lower::emitExpr(b, loc, *e, lookup);
    if (!v)
      return bug("plan of '{0}': '{1}' mentions what is no size", name, e->str());
    Value p = b.create<LLVM::GEPOp>(loc, pointer, i64, fn.getArgument(1), ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    b.create<LLVM::StoreOp>(loc, v, p);
  }
  b.create<func::ReturnOp>(loc);
  return llvm::Error::success();
}

/// On a copy of the kernel: plain reductions only, with axes collapsed.
static llvm::Error emitAsRows(KernelFunction &f, KernelPlan &plan) {
  OpBuilder copies(f.kernel);
  auto copy = cast<kernel::GenericOp>(copies.clone(*f.kernel));
  auto erase = llvm::make_scope_exit([&] { copy.erase(); });
  if (!lower::makePlain(copy))
    return bug("kernel '{0}': its operand is packed, but no emitter takes it", f.kernel.getName());
  lower::collapseAxes(copy);
  BodyInfo info(copy);
  KernelFunction rows{copy, info, f.isa, f.hooks, f.b, f.loc, f.refs, {}, f.begin, f.end, f.scratch};
  for (const std::string &s : info.sizes)
    rows.sizes.push_back(f.sizes[llvm::find(f.info.sizes, s) - f.info.sizes.begin()]);
  switch (copy.getKernelClass()) {
  case KernelClass::Scan:
    return emitScan(rows, plan);
  case KernelClass::Sort:
    return emitSort(rows, plan);
  default:
    break;
  }
  llvm::Expected<bool> taken = emitPermutation(rows, plan);
  if (!taken)
    return taken.takeError();
  return *taken ? llvm::Error::success() : emitRowProgram(rows, plan);
}

/// The class's own emitter, or the row program emitter for what it declines.
static llvm::Error emitKernel(KernelFunction &f, KernelPlan &plan) {
  auto emitClass = [&]() -> llvm::Expected<bool> {
    switch (f.kernel.getKernelClass()) {
    case KernelClass::Contraction:
      return emitContraction(f, plan);
    case KernelClass::Attention:
      return emitAttention(f, plan);
    case KernelClass::Scatter:
      return emitScatter(f, plan);
    case KernelClass::Reduction:
      for (auto emit : {emitIntegerProduct, emitConvolution, emitGrouped, emitDepthwise, emitProduct})
        if (llvm::Expected<bool> taken = emit(f, plan); !taken || *taken)
          return taken;
      return false;
    case KernelClass::Loop:
    case KernelClass::Scan:
    case KernelClass::Sort:
      return false;
    }
    return false;
  };
  llvm::Expected<bool> taken = emitClass();
  if (!taken)
    return taken.takeError();
  return *taken ? llvm::Error::success() : emitAsRows(f, plan);
}

llvm::Expected<OwningOpRef<ModuleOp>> cpu::buildKernelModule(lower::DetachedKernel &detached, const Isa &isa,
                                                             StringRef name) {
  kernel::GenericOp kernel = detached.kernel;
  if (llvm::Error e = lower::checkAxes(kernel))
    return std::move(e);
  Location loc = kernel.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder b(kernel.getContext());
  BodyInfo info(kernel);
  unsigned refs = kernel.getInputs().size() + kernel.getOutputs().size();
  func::FuncOp body = addBody(b, kernel, *module, name, detached.sizes.size());
  auto args = body.getArguments();
  CpuHooks hooks(isa);
  KernelFunction f{kernel, info, isa, hooks, b, loc, {}, {}, {}, {}, {}};
  f.refs.append(args.begin(), args.begin() + refs);
  f.sizes.append(args.begin() + refs, args.begin() + refs + detached.sizes.size());
  unsigned next = refs + detached.sizes.size();
  f.begin = args[next];
  f.end = args[next + 1];
  f.scratch = args[next + 2];
  KernelPlan plan;
  if (llvm::Error e = emitKernel(f, plan))
    return std::move(e);
  b.create<func::ReturnOp>(loc);
  addEntry(b, loc, *module, name, body, refs, detached.sizes.size());
  if (llvm::Error e = addPlan(b, loc, *module, name, detached.sizes, plan))
    return std::move(e);
  return std::move(module);
}
