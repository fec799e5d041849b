//===- PtxEmitter.cpp - Device MLIR to PTX, host MLIR to objects -----------===//

#include "PtxEmitter.h"
#include "Rows/Reciprocals.h"
#include "lathe/Schedule/Machine.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include <mutex>

using namespace lathe;
using namespace llvm;

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeAllTargetInfos();
    InitializeAllTargets();
    InitializeAllTargetMCs();
    InitializeAllAsmPrinters();
  });
}

static Expected<std::unique_ptr<TargetMachine>> machineFor(StringRef triple, StringRef cpu, StringRef features,
                                                           CodeGenOptLevel level) {
  initializeTargets();
  std::string text;
  const Target *target = TargetRegistry::lookupTarget(triple.str(), text);
  if (!target)
    return bug("{0}", text);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard; // where flags allow it, see lathe/Lower/FusedMultiplyAdd.h
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, cpu, features, options, Reloc::PIC_, std::nullopt, level));
  if (!machine)
    return bug("no code generator for {0}", triple);
  return machine;
}

static Expected<std::unique_ptr<TargetMachine>> deviceMachine(unsigned sm) {
  const schedule::Machine &machine = schedule::gpuOf(sm);
  return machineFor(machine.triple, machine.gpu.name(), "+ptx" + std::to_string(machine.gpu.ptx), CodeGenOptLevel::Default);
}

/// Barriers of blocks that are written as assembly meet other threads as the intrinsics do: LLVM must not copy them into branches that threads of a
/// warp take apart from one another. Those of a warp may be met anywhere, and loops around them are to be unrolled.
static void markBarriers(Module &module) {
  for (Function &f : module)
    for (Instruction &i : instructions(f)) {
      auto *call = dyn_cast<CallInst>(&i);
      auto *text = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
      StringRef name = text ? StringRef(text->getAsmString()) : StringRef();
      if (name.starts_with("bar.sync") || name.starts_with("bar.arrive"))
        call->setConvergent();
    }
}

Expected<std::unique_ptr<Module>> cuda::toPlainLlvm(mlir::ModuleOp module, LLVMContext &context) {
  mlir::MLIRContext &mlirContext = *module.getContext();
  mlir::registerBuiltinDialectTranslation(mlirContext);
  mlir::registerLLVMDialectTranslation(mlirContext);
  mlir::registerNVVMDialectTranslation(mlirContext);
  std::unique_ptr<Module> out = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!out)
    return bug("translation to LLVM IR fails");
  markBarriers(*out);
  return out;
}

/// For device code: what LLVM's -O3 does, without what finds nothing in code that is generated (calls to inline but libdevice's,
/// which must be; stack slots; loops to recognise) or what later passes and ptxas do again (most rounds of instcombine, GVN over
/// memory). Machine code of the same size, in two thirds of the time.
constexpr const char *devicePasses =
    "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg<speculate-blocks>,sccp,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate<header-duplication>,licm<allowspeculation>,simple-loop-unswitch<nontrivial;trivial>),"
    "simplifycfg,instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion,loop-unroll-full),"
    "sroa<modify-cfg>,early-cse<memssa>,reassociate,bdce,loop-unroll<O3>,instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm<allowspeculation>),simplifycfg<sink-common-insts>)";

/// Optimises with LLVM's passes of a level; with `instead`, with those behind the ones that a level always has (intrinsics of the
/// target, functions that must be inlined).
static llvm::Error optimise(Module &module, TargetMachine &machine, OptimizationLevel level, const char *instead = nullptr) {
  LoopAnalysisManager lam;
  FunctionAnalysisManager fam;
  CGSCCAnalysisManager cgam;
  ModuleAnalysisManager mam;
  PipelineTuningOptions tuning;
  tuning.SLPVectorization = false;
  tuning.LoopVectorization = false;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  ModulePassManager passes =
      level == OptimizationLevel::O0 ? builder.buildO0DefaultPipeline(level) : builder.buildPerModuleDefaultPipeline(level);
  if (instead)
    if (llvm::Error e = builder.parsePassPipeline(passes, instead))
      return e;
  passes.run(module, mam);
  return llvm::Error::success();
}

/// Integer arithmetic of vectors, one element at a time. No instruction is lost but the packed ones of 16 bits, to which LLVM narrows
/// vectors of small indices: from such an addition with a constant (add.s16x2) ptxas 13.0 makes one of 0 on sm_90.
static void scalarizeIntegers(Module &module) {
  for (Function &f : module)
    for (Instruction &i : make_early_inc_range(instructions(f))) {
      auto *type = dyn_cast<FixedVectorType>(i.getType());
      auto *op = dyn_cast<BinaryOperator>(&i);
      if (!op || !type || !type->getElementType()->isIntegerTy())
        continue;
      IRBuilder<> b(op);
      Value *result = PoisonValue::get(type);
      for (unsigned n = 0; n < type->getNumElements(); ++n) {
        Value *x = b.CreateExtractElement(op->getOperand(0), n), *y = b.CreateExtractElement(op->getOperand(1), n);
        result = b.CreateInsertElement(result, b.CreateBinOp(op->getOpcode(), x, y), n);
      }
      op->replaceAllUsesWith(result);
      op->eraseFromParent();
    }
}

static llvm::Error linkLibdevice(Module &module, StringRef path) {
  bool needed = any_of(module, [](const Function &f) { return f.isDeclaration() && f.getName().starts_with("__nv_"); });
  if (!needed)
    return llvm::Error::success();
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> library = getLazyIRFileModule(path, diagnostic, module.getContext());
  if (!library)
    return userError("{0}: {1}", path, diagnostic.getMessage());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  auto hide = [](Module &m, const StringSet<> &names) {
    internalizeModule(m, [&](const GlobalValue &v) { return !v.hasName() || !names.count(v.getName()); });
  };
  if (Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded, hide))
    return bug("linking {0} fails", path);
  module.addModuleFlag(Module::Override, "nvvm-reflect-ftz", 0u);
  for (const Function &f : module)
    if (f.isDeclaration() && f.getName().starts_with("__nv_"))
      return bug("libdevice has no {0}", f.getName());
  return llvm::Error::success();
}

llvm::Error cuda::optimiseForDevice(Module &module, unsigned sm, StringRef libdevice) {
  auto machine = deviceMachine(sm);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple().str());
  module.setDataLayout((*machine)->createDataLayout());
  if (llvm::Error e = linkLibdevice(module, libdevice))
    return e;
  if (llvm::Error e = optimise(module, **machine, OptimizationLevel::O0, devicePasses))
    return e;
  scalarizeIntegers(module);
  if (!divideByReciprocals(module))
    return llvm::Error::success();
  return optimise(module, **machine, OptimizationLevel::O0, "function(early-cse)"); // quotients and remainders of the same
}

Expected<std::string> cuda::toPtx(Module &module, unsigned sm) {
  auto machine = deviceMachine(sm);
  if (!machine)
    return machine.takeError();
  SmallString<0> text;
  raw_svector_ostream os(text);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr, CodeGenFileType::AssemblyFile))
    return bug("NVPTX emits no text");
  passes.run(module);
  return text.str().str();
}

Expected<std::string> cuda::toHostObject(mlir::ModuleOp mlirModule, StringRef triple) {
  LLVMContext context;
  auto module = toPlainLlvm(mlirModule, context);
  std::string host = triple.empty() ? sys::getDefaultTargetTriple() : triple.str();
  auto machine = machineFor(host, StringRef(host).starts_with("x86_64") ? "x86-64" : "", "", CodeGenOptLevel::Default);
  if (!module || !machine)
    return joinErrors(module.takeError(), machine.takeError());
  (*module)->setTargetTriple(host);
  (*module)->setDataLayout((*machine)->createDataLayout());
  if (llvm::Error e = optimise(**module, **machine, OptimizationLevel::O1))
    return std::move(e);
  SmallString<0> bytes;
  raw_svector_ostream os(bytes);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr, CodeGenFileType::ObjectFile))
    return bug("no object emission for {0}", host);
  passes.run(**module);
  return bytes.str().str();
}
