//===- TargetCode.cpp - Kernels to machine code in an artifact -------------===//

#include "TargetCode.h"
#include "HostProgram.h"
#include "ScheduleReport.h"
#include "lathe/Pipeline/Observer.h"

using namespace mlir;
using namespace lathe;
using llvm::Error;
using llvm::Expected;

const target::Backend &pipeline::backendOf(const TargetSpec &target) {
  const target::Backend *backend = target::findBackend(target.arch);
  assert(backend && "parseTargets gives architectures that a backend has");
  return *backend;
}

std::string pipeline::hostArchOf(ArrayRef<TargetSpec> targets) {
  for (const TargetSpec &t : targets)
    if (backendOf(t).isHost())
      return t.arch;
  return target::usualHost();
}

target::CodeOptions pipeline::codeOptions(const TargetSpec &target, const CompileOptions &options) {
  target::CodeOptions o;
  o.target = target;
  o.hostArch = hostArchOf(options.targets);
  o.threads = options.threads;
  o.effort = options.effort;
  o.mostSchedules = options.maxSchedules;
  o.directConvolutions = options.directConvolutions;
  o.sharesAll = options.sharesAll;
  o.precision = options.precision;
  o.toolkit = options.toolkit;
  o.cache = options.cache;
  o.tuning = options.tuning;
  if (options.observer)
    o.finished = [observer = options.observer](StringRef name, double seconds, unsigned total) {
      observer->finishedKernel(name, seconds, total);
    };
  return o;
}

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

/// Images and launches; gives the launches' numbers in the artifact.
static std::vector<uint32_t> addLaunches(artifact::ArtifactBuilder &builder, target::TargetCode &code) {
  std::vector<uint32_t> images, launches;
  for (target::DeviceImage &image : code.images)
    images.push_back(builder.addDeviceImage(image.capability, image.text, std::move(image.bytes)));
  for (std::vector<target::LaunchVariant> &variants : code.launches) {
    std::vector<artifact::DeviceVariantInfo> infos;
    for (target::LaunchVariant &v : variants)
      infos.push_back({v.capability, images[v.image], std::move(v.entries), std::move(v.plan)});
    launches.push_back(builder.addLaunch(std::move(infos)));
  }
  return launches;
}

static artifact::KernelInfo describe(const target::TargetCode &code, unsigned i, const target::Backend &backend,
                                     ArrayRef<uint32_t> launches) {
  artifact::KernelInfo info = describe(code.kernels[i]);
  if (!code.launchOf.empty())
    info.launch = launches[code.launchOf[i]];
  if (code.functions.empty())
    return info;
  const target::CompiledKernel &functions = code.functions[i];
  info.schedules = pipeline::linesOf(functions);
  for (const target::CompiledVariant &v : functions.variants)
    if (!v.fn.empty())
      info.variants.push_back({backend.levelOf(v.variant), v.fn, v.plan});
  return info;
}

Error pipeline::addCode(artifact::ArtifactBuilder &builder, ArrayRef<ModuleOp> modules, const TargetSpec &target,
                        const CompileOptions &options, llvm::json::Value &report) {
  const target::Backend &backend = backendOf(target);
  Expected<target::TargetCode> code = backend.compile(modules, codeOptions(target, options));
  if (!code)
    return code.takeError();
  for (const auto &[key, value] : code->notes)
    builder.addNote(key, value);
  std::vector<uint32_t> launches = addLaunches(builder, *code);
  for (std::string &object : code->objects)
    builder.addObject(std::move(object));

  llvm::DenseMap<Operation *, artifact::KernelId> ids;
  for (auto [i, op] : llvm::enumerate(code->kernels))
    ids[op] = builder.addKernel(describe(*code, i, backend, launches));
  std::vector<LaunchedTogether> together;
  for (target::CompiledGroup &group : code->groups) {
    artifact::KernelInfo info = describe(group.first);
    info.kernelClass = group.kind;
    info.launch = launches[group.launch];
    together.push_back({std::move(group.ops), std::move(group.operands), std::move(group.results),
                        std::move(group.sizes), builder.addKernel(std::move(info)), group.apart});
  }
  if (!code->functions.empty()) {
    addSchedules(report, modules, *code);
    adviseOfSlowKernels(code->kernels, code->functions, options);
  }
  for (auto [i, module] : llvm::enumerate(modules)) {
    builder.select(i);
    if (Error e = addProgram(builder, backend.deviceType(), module, ids, together))
      return e;
  }
  return Error::success();
}
