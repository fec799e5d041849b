//===- TargetCode.cpp - Kernels to machine code in an artifact -------------===//

#include "TargetCode.h"
#include "HostProgram.h"
#include "ScheduleReport.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Pipeline/Observer.h"
#include "lathe/Schedule/Tuning.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/CpuTarget.h"
#include "lathe/Target/CudaGroups.h"
#include "lathe/Target/CudaTarget.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace lathe;
using llvm::Error;
using llvm::Expected;

static std::vector<std::string> textsOf(std::optional<ArrayAttr> texts) {
  std::vector<std::string> out;
  if (texts)
    for (Attribute a : *texts)
      out.push_back(cast<StringAttr>(a).str());
  return out;
}

/// What the artifact tells of a kernel, without its code.
static artifact::KernelInfo describe(kernel::GenericOp op) {
  artifact::KernelInfo info;
  info.name = op.getName().str();
  info.kernelClass = kernel::stringifyKernelClass(op.getKernelClass()).str();
  info.nodes = textsOf(op.getNodes());
  info.unfused = textsOf(op.getUnfused());
  return info;
}

static std::function<void(StringRef, double, unsigned)> kernelsFinished(const CompileOptions &options) {
  if (!options.observer)
    return {};
  return [observer = options.observer](StringRef name, double seconds, unsigned total) {
    observer->finishedKernel(name, seconds, total);
  };
}

//===----------------------------------------------------------------------===//
// CPU
//===----------------------------------------------------------------------===//

static LatheLevel levelOf(StringRef variant) {
  return llvm::StringSwitch<LatheLevel>(variant)
      .Case("avx2", LATHE_LEVEL_AVX2)
      .Case("avx2vnni", LATHE_LEVEL_AVX2_VNNI)
      .Case("avx512", LATHE_LEVEL_AVX512)
      .Case("avx512vnni", LATHE_LEVEL_AVX512_VNNI)
      .Default(LATHE_LEVEL_BASELINE);
}

static cpu::CpuOptions cpuOptions(const TargetSpec &target, const CompileOptions &options) {
  cpu::CpuOptions o;
  o.arch = target.arch;
  o.variants = target.variants;
  o.threads = options.threads;
  o.effort = options.effort;
  o.mostSchedules = options.maxSchedules;
  o.finished = kernelsFinished(options);
  o.cache = options.cache;
  o.stage = options.emit == EmitStage::Llvm  ? cpu::CpuStage::Llvm
            : options.emit == EmitStage::Asm ? cpu::CpuStage::Asm
                                             : cpu::CpuStage::Object;
  return o;
}

/// The kernels of all modules, one module's after the other's: what is equal in them is compiled once.
static std::vector<kernel::GenericOp> allKernels(ArrayRef<ModuleOp> modules) {
  std::vector<kernel::GenericOp> all;
  for (ModuleOp module : modules)
    llvm::append_range(all, pipeline::kernelsOf(module));
  return all;
}

/// Each module's steps as the program of its entry point; `ids` and `together`: of all modules.
static Error addPrograms(artifact::ArtifactBuilder &builder, uint32_t deviceType, ArrayRef<ModuleOp> modules,
                         const llvm::DenseMap<Operation *, artifact::KernelId> &ids, const std::vector<pipeline::LaunchedTogether> &together = {}) {
  for (auto [i, module] : llvm::enumerate(modules)) {
    builder.select(i);
    if (Error e = pipeline::addProgram(builder, deviceType, module, ids, together))
      return e;
  }
  return Error::success();
}

static Expected<cpu::CompiledKernels> compileForCpu(ArrayRef<ModuleOp> modules, const TargetSpec &target,
                                                    const CompileOptions &options) {
  cpu::CpuOptions o = cpuOptions(target, options);
  schedule::Tuning tuning;
  if (!options.tuning.empty()) {
    Expected<schedule::Tuning> read = schedule::Tuning::read(options.tuning, modules[0]->getContext());
    if (!read)
      return read.takeError();
    tuning = std::move(*read);
    o.tuning = &tuning;
  }
  return cpu::compileCpuKernels(allKernels(modules), o);
}

Expected<std::string> pipeline::cpuText(ModuleOp module, const TargetSpec &target, const CompileOptions &options) {
  if (options.emit == EmitStage::Ptx)
    return userError("--emit ptx needs --target cuda");
  Expected<cpu::CompiledKernels> code = compileForCpu(module, target, options);
  if (!code)
    return code.takeError();
  return code->text;
}

Error pipeline::addCpu(artifact::ArtifactBuilder &builder, ArrayRef<ModuleOp> modules, const TargetSpec &target,
                       const CompileOptions &options, llvm::json::Value &report) {
  std::vector<kernel::GenericOp> kernels = allKernels(modules);
  Expected<cpu::CompiledKernels> code = compileForCpu(modules, target, options);
  if (!code)
    return code.takeError();
  for (std::string &object : code->objects)
    builder.addObject(std::move(object));
  llvm::DenseMap<Operation *, artifact::KernelId> ids;
  for (auto [op, compiled] : llvm::zip(kernels, code->kernels)) {
    artifact::KernelInfo info = describe(op);
    info.schedules = linesOf(compiled);
    for (const cpu::CompiledVariant &v : compiled.variants)
      info.variants.push_back({levelOf(v.variant), v.fn, v.plan});
    ids[op] = builder.addKernel(std::move(info));
  }
  addSchedules(report, code->kernels);
  adviseOfSlowKernels(kernels, code->kernels, options);
  return addPrograms(builder, /*CPU=*/1, modules, ids);
}

//===----------------------------------------------------------------------===//
// CUDA
//===----------------------------------------------------------------------===//

static cuda::CudaOptions cudaOptions(const TargetSpec &target, const CompileOptions &options) {
  cuda::CudaOptions o;
  o.sms.clear();
  for (const std::string &v : target.variants) {
    if (v == "ptx")
      o.keepPtx = true;
    else
      o.sms.push_back(std::stoi(v.substr(2))); // sm75 and so on
  }
  if (o.sms.empty()) // PTX alone: of the oldest, which every later GPU takes
    o.sms = {75};
  o.cudaPath = options.cudaPath;
  // Launches are planned on the artifact's CPU, which need not be this machine's.
  o.hostTriple = "x86_64-unknown-linux-gnu";
  for (const TargetSpec &t : options.targets)
    if (t.arch != "cuda")
      o.hostTriple = t.arch + "-unknown-linux-gnu";
  o.jobs = options.threads;
  o.finished = kernelsFinished(options);
  o.cache = options.cache;
  o.stage = options.emit == EmitStage::Ptx ? cuda::Stage::Ptx : cuda::Stage::Cubin;
  return o;
}

namespace {
/// What is compiled for a GPU: loops and kernels that are one launch together, and the other kernels.
struct CudaWork {
  std::vector<cuda::LoopGroup> loops;
  std::vector<cuda::KernelGroup> groups;
  std::vector<kernel::GenericOp> kernels;

  explicit CudaWork(ArrayRef<ModuleOp> modules) {
    llvm::DenseSet<Operation *> inside;
    for (ModuleOp module : modules) {
      llvm::append_range(loops, cuda::loopGroups(module));
      llvm::append_range(groups, cuda::kernelGroups(module));
    }
    for (const cuda::LoopGroup &group : loops)
      inside.insert(group.kernels.begin(), group.kernels.end());
    for (const cuda::KernelGroup &group : groups)
      inside.insert(group.kernels.begin(), group.kernels.end());
    for (kernel::GenericOp op : allKernels(modules))
      if (!inside.contains(op))
        kernels.push_back(op);
  }
};
} // namespace

Expected<std::string> pipeline::cudaText(ModuleOp module, const TargetSpec &target, const CompileOptions &options) {
  if (options.emit != EmitStage::Ptx)
    return userError("of a CUDA target, --emit ptx is what can be printed");
  CudaWork work(module);
  Expected<cuda::CudaCode> code = cuda::compileForCuda(work.kernels, work.loops, work.groups, cudaOptions(target, options));
  if (!code)
    return code.takeError();
  std::string text;
  for (const cuda::CudaModule &m : code->modules)
    text += m.bytes;
  return text;
}

Error pipeline::addCuda(artifact::ArtifactBuilder &builder, ArrayRef<ModuleOp> modules, const TargetSpec &target,
                        const CompileOptions &options, llvm::json::Value &) {
  CudaWork work(modules);
  Expected<cuda::CudaCode> code = cuda::compileForCuda(work.kernels, work.loops, work.groups, cudaOptions(target, options));
  if (!code)
    return code.takeError();
  builder.addNote("ptxas", code->toolkit);
  std::vector<uint32_t> images, launches;
  for (cuda::CudaModule &m : code->modules)
    images.push_back(builder.addCudaModule(m.sm, m.ptx, std::move(m.bytes)));
  for (const std::vector<cuda::CudaVariant> &variants : code->launches) {
    std::vector<artifact::CudaVariantInfo> infos;
    for (const cuda::CudaVariant &v : variants)
      infos.push_back({v.sm, images[v.module], v.entries, v.plan});
    launches.push_back(builder.addCudaLaunch(std::move(infos)));
  }
  builder.addObject(std::move(code->hostObject));
  llvm::DenseMap<Operation *, artifact::KernelId> ids;
  for (auto [op, launch] : llvm::zip(work.kernels, code->launchOf)) {
    artifact::KernelInfo info = describe(op);
    info.cuda = launches[launch];
    ids[op] = builder.addKernel(std::move(info));
  }
  std::vector<LaunchedTogether> together;
  ArrayRef<unsigned> launchOf = ArrayRef<unsigned>(code->launchOf).drop_front(work.kernels.size());
  auto addGroup = [&](const cuda::LaunchGroup &group, StringRef kind, std::vector<Operation *> ops) {
    artifact::KernelInfo info = describe(group.kernels[0]);
    info.kernelClass = kind.str();
    info.cuda = launches[launchOf.front()];
    launchOf = launchOf.drop_front();
    together.push_back({std::move(ops), group.operands, group.results, group.sizes, builder.addKernel(std::move(info))});
  };
  for (const cuda::LoopGroup &group : work.loops)
    addGroup(group, "recurrence", {group.loops.begin(), group.loops.end()});
  for (const cuda::KernelGroup &group : work.groups)
    addGroup(group, "combination", {group.kernels.begin(), group.kernels.end()});
  return addPrograms(builder, /*CUDA=*/2, modules, ids, together);
}
