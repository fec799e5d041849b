//===- OptimizeModule.cpp - LLVM's passes over a kernel's functions --------===//
//
// LLVM's own list for level 2 is made for programs: it inlines, devirtualises, vectorises, makes calls of loops, and asks again and again what the
// steps before have left. A kernel's functions call nothing that could be inlined, and are vectorised as they should be. The list below is LLVM's,
// less the steps that changed none of some hundred kernels of detectors: the same machine code for most kernels, in 0.8 of the time.
//
//===----------------------------------------------------------------------===//

#include "OptimizeModule.h"
#include "LoopBases.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace lathe;
using namespace lathe::cpu;
using llvm::OptimizationLevel;

#define COMBINE "instcombine<no-verify-fixpoint>,"
#define BRANCHES "simplifycfg<switch-range-to-icmp>,"

/// From the functions as they come to loops that are written out, with what is computed twice computed once.
static constexpr llvm::StringLiteral simplification =
    "function<eager-inv>(simplifycfg,sroa,early-cse),"
    "ipsccp<no-func-spec>,globalopt," // sizes that a body is called with
    "function<eager-inv>(" COMBINE BRANCHES "no-op-function),"
    "require<globals-aa>,function(invalidate<aa>),"
    "cgscc(function-attrs<skip-non-recursive-function-attrs>,function<eager-inv>("
    "sroa,early-cse<memssa>,jump-threading,correlated-propagation," BRANCHES COMBINE "tailcallelim," BRANCHES "reassociate,"
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,loop-rotate,licm)," BRANCHES COMBINE
    "loop(indvars,loop-deletion,loop-unroll-full),"
    "sroa,vector-combine,mldst-motion,gvn," COMBINE "jump-threading,correlated-propagation,adce,dse,loop-mssa(licm),"
    "simplifycfg<switch-range-to-icmp;hoist-common-insts;sink-common-insts>," COMBINE "no-op-function),function-attrs),"
    "deadargelim,globalopt,globaldce";

/// Branches that become selects. Loops of an unknown number of trips stay as they are written: emitters write out what is worth it. LLVM's unrolling
/// of the rest took up to a quarter of a compilation, and made none of nine models faster (docs/Rationale/Schedules.md).
static constexpr llvm::StringLiteral finish =
    "function<eager-inv>(loop(loop-rotate,loop-deletion),"
    "simplifycfg<forward-switch-cond;switch-range-to-icmp;switch-to-lookup;no-keep-loops;hoist-common-insts;sink-common-insts>,"
    "sroa<preserve-cfg>,infer-alignment," COMBINE "loop-mssa(licm),instsimplify,div-rem-pairs,"
    "simplifycfg<switch-range-to-icmp;speculate-unpredictables>),"
    "globaldce,constmerge";

/// What loops take most from, once: addresses and masks that are computed in front of them.
static constexpr llvm::StringLiteral shortly =
    "function<eager-inv>(simplifycfg,sroa,early-cse<memssa>," COMBINE "simplifycfg,"
    "loop-mssa(loop-instsimplify,licm<no-allowspeculation>,loop-rotate,licm),simplifycfg," COMBINE
    "loop(indvars,loop-deletion,loop-unroll-full),sroa,gvn," COMBINE
    "simplifycfg<no-keep-loops;hoist-common-insts;sink-common-insts>),"
    "globaldce";

#undef COMBINE
#undef BRANCHES

/// Loops that copy or fill stay loops: what a row's vectors leave over is a trip or two, beside which a call takes long.
static llvm::TargetLibraryInfoImpl libraryOf(const llvm::Module &module) {
  llvm::TargetLibraryInfoImpl library{llvm::Triple(module.getTargetTriple())};
  for (llvm::LibFunc f : {llvm::LibFunc_memcpy, llvm::LibFunc_memmove, llvm::LibFunc_memset, llvm::LibFunc_memset_pattern16})
    library.setUnavailable(f);
  return library;
}

static llvm::Expected<llvm::ModulePassManager> passesOf(llvm::PassBuilder &builder, unsigned level, bool isSpare) {
  switch (level) {
  case 0:
    return builder.buildO0DefaultPipeline(OptimizationLevel::O0);
  case 1:
    return builder.buildPerModuleDefaultPipeline(OptimizationLevel::O1);
  case 2:
    break;
  default:
    return builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3);
  }
  llvm::ModulePassManager passes;
  std::vector<llvm::StringRef> parts = isSpare ? std::vector<llvm::StringRef>{shortly} : std::vector<llvm::StringRef>{simplification, finish};
  for (llvm::StringRef part : parts)
    if (llvm::Error e = builder.parsePassPipeline(passes, part))
      return std::move(e);
  return std::move(passes);
}

llvm::Error cpu::optimizeModule(llvm::Module &module, llvm::TargetMachine &machine, unsigned level, bool isSpare) {
  llvm::PipelineTuningOptions tuning; // kernels are vectorised as they should be: LLVM's vectorisers stay off
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  llvm::PassBuilder builder(&machine, tuning);
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
  llvm::Expected<llvm::ModulePassManager> passes = passesOf(builder, level, isSpare);
  if (!passes)
    return bug("LLVM has no such passes: {0}", llvm::toString(passes.takeError()));
  if (level > 0 && !isSpare) // whose loops no strength reduction writes anew
    passes->addPass(llvm::createModuleToFunctionPassAdaptor(KeepLoopBases()));
  passes->run(module, modules);
  return llvm::Error::success();
}
