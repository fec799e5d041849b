//===- CpuBackend.cpp - CPUs among the backends ----------------------------===//

#include "BuildModule.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Schedule/ScheduledKernel.h"
#include "lathe/Schedule/Tuning.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/CpuTarget.h"
#include "lathe/Target/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using llvm::Expected;

namespace {
class CpuBackend final : public target::Backend {
public:
  StringRef name() const override { return "cpu"; }
  uint32_t deviceType() const override { return /*kDLCPU=*/1; }
  bool isHost() const override { return true; }

  const std::vector<target::Architecture> &architectures() const override {
    static const std::vector<target::Architecture> all = {
        {"x86_64", {"baseline", "avx2", "avx512"}, {"baseline", "avx2", "avx512"}},
        {"aarch64", {"neon"}, {"neon"}},
        {"riscv64", {"rvv"}, {"rvv"}},
    };
    return all;
  }

  LatheLevel levelOf(StringRef variant) const override {
    return llvm::StringSwitch<LatheLevel>(variant)
        .Case("avx2", LATHE_LEVEL_AVX2)
        .Case("avx2vnni", LATHE_LEVEL_AVX2_VNNI)
        .Case("avx512", LATHE_LEVEL_AVX512)
        .Case("avx512vnni", LATHE_LEVEL_AVX512_VNNI)
        .Case("avx512bf16", LATHE_LEVEL_AVX512_BF16)
        .Case("avx512amx", LATHE_LEVEL_AVX512_AMX)
        .Default(LATHE_LEVEL_BASELINE);
  }

  /// Layouts of images and constants, results in place.
  void addPasses(OpPassManager &pm, const target::CodeOptions &options) const override {
    pm.addPass(target::createWidenHalf());
    target::ChannelsLastOptions images;
    images.bytes = true;
    pm.addPass(target::createChannelsLast(images));
    target::PackFiltersOptions filters;
    filters.winograd = !options.directConvolutions;
    filters.precision = options.precision;
    pm.addPass(target::createPackFilters(filters));
    target::PackWeightsOptions weights;
    weights.precision = options.precision;
    pm.addPass(target::createPackWeights(weights));
    pm.addPass(target::createSplitReductions());
    pm.addPass(target::createSplitScatters());
    pm.addPass(target::createUpdateInPlace());
    pm.addPass(kernel::createVerifyAccesses());
    pm.addPass(target::createLimitFirst()); // while zero points are numbers
    pm.addPass(target::createShareSizes()); // what sizes have to do with one another is not known of them
    pm.addPass(target::createShareNumbers());
  }

  Expected<std::string> print(ModuleOp module, target::TextStage stage,
                              const target::CodeOptions &options) const override {
    if (stage == target::TextStage::Ptx)
      return userError("--emit ptx needs --target cuda");
    CpuStage last = stage == target::TextStage::Asm ? CpuStage::Asm : CpuStage::Llvm;
    Expected<CompiledKernels> code = generate(module.getContext(), lower::kernelsOf(module), options, last);
    if (!code)
      return code.takeError();
    return code->text;
  }

  Expected<target::TargetCode> compile(ArrayRef<ModuleOp> modules, const target::CodeOptions &options) const override {
    target::TargetCode out;
    out.kernels = lower::kernelsOf(modules);
    Expected<CompiledKernels> code = generate(ModuleOp(modules[0]).getContext(), out.kernels, options, CpuStage::Object);
    if (!code)
      return code.takeError();
    out.objects = std::move(code->objects);
    out.functions = std::move(code->kernels);
    return out;
  }

  Expected<std::vector<target::CodeModule>> emit(kernel::GenericOp kernel, const schedule::Machine &machine) const override {
    schedule::ScheduledKernel scheduled(kernel);
    std::vector<KernelCase> cases;
    for (const schedule::Candidate &c : scheduled.choose(machine, {}).cases)
      cases.push_back({c.when, c.schedule});
    Expected<BuiltKernel> built = buildKernelModule(scheduled.detached, cases, machine, kernel.getName());
    if (!built)
      return built.takeError();
    std::vector<target::CodeModule> out;
    out.push_back({"", std::move(built->module)});
    return std::move(out);
  }

  llvm::Error lower(ModuleOp module, StringRef, const schedule::Machine &machine) const override { return lowerToLLVMDialect(module, machine); }

private:
  static Expected<CompiledKernels> generate(MLIRContext *context, ArrayRef<kernel::GenericOp> kernels,
                                            const target::CodeOptions &options, CpuStage stage) {
    CpuOptions o;
    o.arch = options.target.arch;
    o.variants = options.target.variants;
    o.threads = options.threads;
    o.effort = options.effort;
    o.sharesAll = options.sharesAll;
    o.mostSchedules = options.mostSchedules;
    o.finished = options.finished;
    o.cache = options.cache;
    o.stage = stage;
    schedule::Tuning tuning;
    if (!options.tuning.empty()) {
      Expected<schedule::Tuning> read = schedule::Tuning::read(options.tuning, context);
      if (!read)
        return read.takeError();
      tuning = std::move(*read);
      o.tuning = &tuning;
    }
    return compileCpuKernels(kernels, o);
  }
};
} // namespace

const target::Backend &cpu::backend() {
  static const CpuBackend it;
  return it;
}
