//===- EmitObject.cpp - LLVM IR to machine code ----------------------------===//

#include "EmitObject.h"
#include "HalvesAsFloats.h"
#include "MaskInstructions.h"
#include "OptimizeModule.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
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

static llvm::CodeGenOptLevel codeLevelOf(unsigned effort) {
  using Level = llvm::CodeGenOptLevel;
  const Level levels[] = {Level::None, Level::Less, Level::Aggressive, Level::Aggressive};
  return levels[std::min(effort, 3u)];
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

namespace {
/// Spare code does without the search for the cheapest addresses of loops, a third of the time that machine code takes.
struct NoAddressSearch : llvm::OptPassGate {
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override { return pass != "Loop Strength Reduction"; }
  bool isEnabled() const override { return true; }
};
} // namespace

llvm::Expected<std::string> cpu::emitCode(llvm::Module &module, const Isa &isa, const CpuOptions &options) {
  auto machine = makeMachine(isa, codeLevelOf(options.effort));
  if (!machine)
    return machine.takeError();
  module.setTargetTriple(isa.triple);
  module.setDataLayout((*machine)->createDataLayout());
  if (llvm::Error e = optimizeModule(module, **machine, options.effort, options.isSpare))
    return std::move(e);
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
  NoAddressSearch noSearch; // lives as long as its context asks it: no pass runs behind these
  if (options.isSpare)
    module.getContext().setOptPassGate(noSearch);
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}
