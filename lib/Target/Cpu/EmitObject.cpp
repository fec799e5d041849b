//===- EmitObject.cpp - LLVM IR to machine code ----------------------------===//

#include "EmitObject.h"
#include "HalvesAsFloats.h"
#include "LoopBases.h"
#include "MaskInstructions.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace lathe;
using namespace lathe::cpu;

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTarget();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVAsmPrinter();
  });
}

namespace {
struct Effort {
  llvm::OptimizationLevel passes;
  llvm::CodeGenOptLevel code;
};
} // namespace

static Effort effortOf(unsigned level) {
  using Passes = llvm::OptimizationLevel;
  using Code = llvm::CodeGenOptLevel;
  const Effort efforts[] = {
      {Passes::O0, Code::None}, {Passes::O1, Code::Less}, {Passes::O2, Code::Aggressive}, {Passes::O3, Code::Aggressive}};
  return efforts[std::min(level, 3u)];
}

/// Products and sums become one operation where their flags allow it (lathe/Lower/FusedMultiplyAdd.h); no other fast-math.
static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine(const Isa &isa, llvm::CodeGenOptLevel level) {
  initializeTargets();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(isa.triple.str(), error);
  if (!target)
    return bug("no LLVM target for {0}: {1}", isa.triple, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(isa.triple, isa.cpu, isa.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, level));
  if (!machine)
    return bug("LLVM makes no machine for {0}", isa.triple);
  return std::move(machine);
}

/// Loops that copy or fill stay loops: what a row's vectors leave over is a trip or two, beside which a call takes long.
static llvm::TargetLibraryInfoImpl libraryOf(const llvm::Module &module) {
  llvm::TargetLibraryInfoImpl library{llvm::Triple(module.getTargetTriple())};
  for (llvm::LibFunc f : {llvm::LibFunc_memcpy, llvm::LibFunc_memmove, llvm::LibFunc_memset, llvm::LibFunc_memset_pattern16})
    library.setUnavailable(f);
  return library;
}

/// The kernels are vectorised and unrolled as they should be: LLVM's vectorisers stay off.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine, llvm::OptimizationLevel level) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager &passes, llvm::OptimizationLevel level) {
    if (level != llvm::OptimizationLevel::O0)
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(KeepLoopBases()));
  });
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(libraryOf(module)); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  bool isPlain = level == llvm::OptimizationLevel::O0;
  (isPlain ? builder.buildO0DefaultPipeline(level) : builder.buildPerModuleDefaultPipeline(level)).run(module, modules);
}

llvm::Expected<std::string> cpu::emitCode(llvm::Module &module, const Isa &isa, const CpuOptions &options) {
  Effort effort = effortOf(options.effort);
  auto machine = makeMachine(isa, effort.code);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple(isa.triple);
  module.setDataLayout((*machine)->createDataLayout());
  optimize(module, **machine, effort.passes);
  if (isa.arch == "x86_64" && isa.maskedMemory && !isa.maskedBytes)
    useMaskInstructions(module);
  if (isa.arch == "x86_64")
    computeHalvesAsFloats(module);
  if (options.stage == CpuStage::Llvm) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os, nullptr);
    return text;
  }
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  auto type = options.stage == CpuStage::Asm ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr, type))
    return bug("LLVM cannot emit code for {0}", isa.triple);
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}
