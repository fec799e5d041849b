//===- CudaBackend.cpp - NVIDIA's GPUs among the backends ------------------===//

#include "PtxEmitter.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Schedule/Machine.h"
#include "lathe/Schedule/ScheduledKernel.h"
#include "lathe/Schedule/Tuning.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/CudaGroups.h"
#include "lathe/Target/CudaTarget.h"
#include "lathe/Target/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using llvm::Expected;

namespace {
/// What is compiled: loops and kernels that are one launch together, and the kernels that are launched alone, always or where they are large.
struct Work {
  std::vector<LoopGroup> loops;
  std::vector<KernelGroup> groups;
  std::vector<kernel::GenericOp> kernels;

  std::optional<schedule::Tuning> tuning;

  /// `file`: of measured schedules; empty: none.
  static Expected<Work> of(ArrayRef<ModuleOp> modules, const std::string &file) {
    if (file.empty())
      return Work(modules, std::nullopt);
    Expected<schedule::Tuning> read = schedule::Tuning::read(file, modules[0]->getContext());
    if (!read)
      return read.takeError();
    return Work(modules, std::move(*read));
  }

  Expected<CudaCode> compile(CudaOptions options) const {
    options.tuning = tuning ? &*tuning : nullptr;
    return compileForCuda(kernels, loops, groups, options);
  }

private:
  /// A schedule is of a whole launch: a kernel that has one, or that was measured, is one.
  bool standsAlone(kernel::GenericOp kernel) const {
    if (!schedule::casesOf(kernel).empty())
      return true;
    return tuning && tuning->mentions(schedule::ScheduledKernel(kernel).detached.canonical);
  }

  Work(ArrayRef<ModuleOp> modules, std::optional<schedule::Tuning> measured) : tuning(std::move(measured)) {
    llvm::DenseSet<Operation *> inside;
    for (ModuleOp module : modules) {
      llvm::append_range(loops, loopGroups(module));
      llvm::append_range(groups, kernelGroups(module, [&](kernel::GenericOp op) { return standsAlone(op); }));
    }
    for (const LoopGroup &group : loops)
      inside.insert(group.kernels.begin(), group.kernels.end());
    for (const KernelGroup &group : groups)
      if (group.apart.isZero())
        inside.insert(group.kernels.begin(), group.kernels.end());
    for (kernel::GenericOp op : lower::kernelsOf(modules))
      if (!inside.contains(op))
        kernels.push_back(op);
  }
};
} // namespace

static CudaOptions cudaOptions(const target::CodeOptions &options, Stage stage) {
  CudaOptions o;
  o.sms.clear();
  for (const std::string &v : options.target.variants) {
    if (v == "ptx")
      o.keepPtx = true;
    else
      o.sms.push_back(std::stoi(v.substr(2))); // sm75 and so on
  }
  if (o.sms.empty()) // PTX alone: of the oldest, which every later GPU takes
    o.sms = {75};
  o.cudaPath = options.toolkit;
  // Launches are planned on the artifact's CPU, which need not be this machine's.
  o.hostTriple = options.hostArch + "-unknown-linux-gnu";
  o.jobs = options.threads;
  o.finished = options.finished;
  o.cache = options.cache;
  o.stage = stage;
  return o;
}

static target::CompiledGroup describe(const LaunchGroup &group, StringRef kind, std::vector<Operation *> ops,
                                      unsigned launch) {
  return {kind.str(), group.kernels[0], std::move(ops), group.operands, group.results, group.sizes, launch, group.apart};
}

namespace {
constexpr llvm::StringLiteral devicePart = "device";

class CudaBackend final : public target::Backend {
public:
  StringRef name() const override { return "cuda"; }
  uint32_t deviceType() const override { return /*kDLCUDA=*/2; }
  void registerDialects(DialectRegistry &registry) const override { registerCudaDialects(registry); }

  const std::vector<target::Architecture> &architectures() const override {
    static const std::vector<target::Architecture> all = {{"cuda", {"sm75", "sm80", "sm90", "ptx"}, {"sm75", "sm90"}}};
    return all;
  }

  /// A loop is one launch, however short it is. Weights are unpacked in registers, whatever their scales are of.
  target::Preferences preferences() const override {
    return {/*unrolledSteps=*/2, /*multipliesBytes=*/false, /*packsImages=*/false,
            /*extendsRows=*/false, /*storesBothWays=*/false, /*hostTransforms=*/false, /*hostPositions=*/false, /*wholeTransforms=*/true, /*float8=*/true};
  }

  /// Images with their channels last, scatters in place, operands of products in the type of --precision.
  void addPasses(OpPassManager &pm, const target::CodeOptions &options) const override {
    bool narrows = !options.precision.empty() && options.precision != "f32";
    target::CudaPrecisionOptions precision;
    precision.precision = options.precision;
    precision.windows = true;
    if (narrows)
      pm.addPass(target::createCudaPrecision(precision));
    if (!options.directConvolutions)
      pm.addPass(target::createDenseGroups());
    target::ChannelsLastOptions images;
    images.halves = images.bytes = images.copies = true;
    pm.addPass(target::createChannelsLast(images));
    target::PackFiltersOptions filters;
    filters.halves = true;
    filters.panel = 0;
    pm.addPass(target::createPackFilters(filters));
    target::PackWeightsOptions bytes;
    bytes.panel = 0;
    pm.addPass(target::createPackWeights(bytes));
    pm.addPass(target::createDotProducts());
    pm.addPass(target::createSplitScatters());
    pm.addPass(target::createOrderScatters());
    precision.windows = false;
    if (narrows)
      pm.addPass(target::createCudaPrecision(precision));
  }

  Expected<std::string> print(ModuleOp module, target::TextStage stage,
                              const target::CodeOptions &options) const override {
    if (stage != target::TextStage::Ptx)
      return userError("of a CUDA target, --emit ptx is what can be printed");
    Expected<Work> work = Work::of(module, options.tuning);
    if (!work)
      return work.takeError();
    Expected<CudaCode> code = work->compile(cudaOptions(options, Stage::Ptx));
    if (!code)
      return code.takeError();
    std::string text;
    for (const CudaModule &m : code->modules)
      text += m.bytes;
    return text;
  }

  Expected<std::vector<target::CodeModule>> emit(kernel::GenericOp kernel, const schedule::Machine &machine) const override {
    Expected<DeviceCode> code = generateDeviceCode(kernel, machine.gpu.capability, {});
    if (!code)
      return code.takeError();
    std::vector<target::CodeModule> out;
    out.push_back({devicePart.str(), std::move(code->device)});
    out.push_back({"plan", std::move(code->host)});
    return std::move(out);
  }

  llvm::Error lower(ModuleOp module, StringRef part, const schedule::Machine &machine) const override {
    return lowerToLlvmDialect(module, part == devicePart ? &machine : nullptr);
  }

  Expected<target::TargetCode> compile(ArrayRef<ModuleOp> modules, const target::CodeOptions &options) const override {
    Expected<Work> chosen = Work::of(modules, options.tuning);
    if (!chosen)
      return chosen.takeError();
    Work &work = *chosen;
    Expected<CudaCode> code = work.compile(cudaOptions(options, Stage::Cubin));
    if (!code)
      return code.takeError();
    target::TargetCode out;
    out.notes.push_back({"ptxas", code->toolkit});
    for (CudaModule &m : code->modules)
      out.images.push_back({m.sm, m.ptx, std::move(m.bytes)});
    for (std::vector<CudaVariant> &variants : code->launches) {
      out.launches.emplace_back();
      for (CudaVariant &v : variants)
        out.launches.back().push_back({v.sm, v.module, std::move(v.entries), std::move(v.plan)});
    }
    out.objects.push_back(std::move(code->hostObject));
    out.kernels = work.kernels;
    out.functions = std::move(code->told);
    ArrayRef<unsigned> launchOf = code->launchOf;
    out.launchOf = launchOf.take_front(work.kernels.size()).vec();
    launchOf = launchOf.drop_front(work.kernels.size());
    for (const LoopGroup &group : work.loops)
      out.groups.push_back(
          describe(group, "recurrence", {group.loops.begin(), group.loops.end()}, launchOf[out.groups.size()]));
    for (const KernelGroup &group : work.groups)
      out.groups.push_back(
          describe(group, "combination", {group.kernels.begin(), group.kernels.end()}, launchOf[out.groups.size()]));
    return out;
  }
};
} // namespace

const target::Backend &cuda::backend() {
  static const CudaBackend it;
  return it;
}
