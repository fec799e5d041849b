//===- CudaTarget.cpp - Kernels to NVIDIA machine code ---------------------===//

#include "lathe/Target/CudaTarget.h"
#include "Attention/Attention.h"
#include "DeviceJobs.h"
#include "Contraction/CodedProblem.h"
#include "Contraction/FewLines.h"
#include "Contraction/Gemm.h"
#include "Launch/LoopTracks.h"
#include "Rows/Permutation.h"
#include "Contraction/ProductChoice.h"
#include "PtxEmitter.h"
#include "Rows/RowProgram.h"
#include "Scatter/Scatter.h"
#include "Transform/Transform.h"
#include "Contraction/SplitGroups.h"
#include "lathe/Lower/CollapseAxes.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Schedule/Tuning.h"
#include "lathe/Support/CodeCache.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/ToldCases.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

void cuda::registerCudaDialects(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  math::MathDialect, scf::SCFDialect, vector::VectorDialect, kernel::KernelDialect, schedule::ScheduleDialect>();
}

void cuda::loadDialects(MLIRContext &context) {
  context.loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                      math::MathDialect, scf::SCFDialect, vector::VectorDialect, schedule::ScheduleDialect>();
}

/// In the order of preference; each says false when it does not take the kernel.
static llvm::Error generate(Generator &g) {
  if (alwaysFewLines(g)) {
    llvm::Expected<bool> taken = generateFewLines(g);
    return taken ? llvm::Error::success() : taken.takeError();
  }
  for (auto *generator : {generateScan, generateSort, generateTransform, generateScatter, generateCodedGemm, generateHopperGemm, generateTiledGemm,
                          generateHopperAttention, generateSimtAttention, generatePermutation}) {
    llvm::Expected<bool> taken = generator(g);
    if (!taken)
      return taken.takeError();
    if (*taken)
      return llvm::Error::success();
  }
  return generateRowProgram(g);
}

static llvm::Error verifyGenerated(ModuleOp module, StringRef kernel) {
  std::string text;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    text += (text.empty() ? "" : "; ") + d.str();
    return success();
  });
  if (failed(verify(module)))
    return bug("kernel '{0}': generated code does not verify: {1}", kernel, text);
  return llvm::Error::success();
}

/// Longer runs, fewer divisions; groups of channels as an axis.
void cuda::collapse(kernel::GenericOp kernel) {
  using kernel::KernelClass;
  splitGroups(kernel);
  if (llvm::is_contained({KernelClass::Loop, KernelClass::Reduction, KernelClass::Transform}, kernel.getKernelClass()))
    lower::collapseAxes(kernel);
  lower::collapseProductAxes(kernel);
}

/// Blocks that are launched early come to where there is room beside the kernel ahead: some multiprocessors get two while others get none, for all
/// of their time. That costs nothing where there are enough for all.
static void launchEarly(Generator &g) {
  constexpr int64_t blocksTogether = 2;
  DeviceBuilder &h = g.plan.d;
  Value early = g.plan.constant(LATHE_CUDA_DEPENDENT);
  if (g.computes) {
    Value all = h.mul(g.plan.processors(), blocksTogether), fills = h.compare(arith::CmpIPredicate::sle, all, g.plan.word(LATHE_CUDA_GRID));
    early = h.select(h.bitOr(fills, h.bitXor(g.computes, h.i1(true))), early, g.plan.constant(0));
  }
  g.plan.set(LATHE_CUDA_FLAGS, h.bitOr(g.plan.word(LATHE_CUDA_FLAGS), early));
}

/// `cases`: how it is to run; null: as its own cases say, or the templates.
static llvm::Expected<DeviceCode> generateNamed(kernel::GenericOp original, ArrayAttr cases, unsigned sm, const CudaOptions &options,
                                                StringRef planName) {
  if (llvm::Error e = lower::checkAxes(original))
    return std::move(e);
  loadDialects(*original.getContext());
  OpBuilder copies(original);
  auto kernel = cast<kernel::GenericOp>(copies.clone(*original));
  auto erase = llvm::make_scope_exit([&] { kernel.erase(); });
  if (cases)
    kernel->setAttr(schedule::casesName, cases);
  collapse(kernel);
  Location loc = UnknownLoc::get(kernel.getContext());
  DeviceCode code;
  code.device = ModuleOp::create(loc);
  code.host = ModuleOp::create(loc);
  lower::BodyInfo info(kernel);
  if (info.sizes != original.getSizeSymbols())
    return bug("kernel '{0}': its sizes changed with its axes", kernel.getName());
  PlanFunction plan(info, *code.host, planName);
  bool dependent = options.dependentLaunch && schedule::gpuOf(sm).gpu.dependentLaunch;
  Generator g{info, *code.device, plan, sm, dependent, {}};
  plan.set(LATHE_CUDA_FLAGS, 0);
  if (llvm::Error e = generate(g))
    return e;
  // Where sizes that are open may be those of few lines, the plan says so last.
  bool fewLines = alwaysFewLines(g);
  if (!fewLines) {
    llvm::Expected<bool> taken = generateFewLines(g);
    if (!taken)
      return taken.takeError();
    fewLines = *taken;
  }
  if (g.rowProgram && !fewLines)
    if (llvm::Error e = shareFewRows(g))
      return std::move(e);
  if (g.product)
    ProductChoice(g).tell();
  if (dependent)
    launchEarly(g);
  plan.finish();
  code.entries = g.entries;
  code.ways = std::move(g.ways);
  if (llvm::Error e = verifyGenerated(*code.device, kernel.getName()))
    return e;
  if (llvm::Error e = verifyGenerated(*code.host, kernel.getName()))
    return e;
  return code;
}

llvm::Expected<DeviceCode> cuda::generateDeviceCode(kernel::GenericOp kernel, unsigned sm, const CudaOptions &options) {
  return generateNamed(kernel, /*cases=*/{}, sm, options, "plan");
}

llvm::Expected<std::unique_ptr<llvm::Module>> cuda::deviceLlvm(ModuleOp device, unsigned sm, llvm::LLVMContext &context,
                                                               const CudaOptions &options) {
  llvm::Expected<Toolchain> toolchain = findToolchain(options.cudaPath);
  if (!toolchain)
    return toolchain.takeError();
  if (llvm::Error e = lowerToLlvmDialect(device, &schedule::gpuOf(sm)))
    return e;
  auto module = toPlainLlvm(device, context);
  if (!module)
    return module.takeError();
  if (llvm::Error e = optimiseForDevice(**module, sm, toolchain->libdevice))
    return std::move(e);
  return module;
}

llvm::Expected<std::unique_ptr<llvm::Module>> cuda::planLlvm(ModuleOp host, llvm::LLVMContext &context) {
  if (llvm::Error e = lowerToLlvmDialect(host, /*device=*/nullptr))
    return e;
  return toPlainLlvm(host, context);
}

llvm::Expected<std::string> cuda::ptxOf(llvm::Module &module, unsigned sm) { return toPtx(module, sm); }

llvm::Expected<std::string> cuda::cubinOf(StringRef ptx, unsigned sm, const CudaOptions &options) {
  llvm::Expected<Toolchain> toolchain = findToolchain(options.cudaPath);
  if (!toolchain)
    return toolchain.takeError();
  return assemble(ptx, sm, *toolchain);
}

/// All that a cubin depends on beside the compiler: the device code, as it is generated, the machine, and the toolkit. Code that was made
/// before is not lowered again.
static std::string keyOf(ModuleOp device, unsigned number, StringRef toolkit) {
  std::string text, sm = std::to_string(number);
  llvm::raw_string_ostream os(text);
  device->print(os);
  return CodeCache::keyOf({"cuda", sm, toolkit, text});
}

static std::string identityOf(const Toolchain &toolchain, StringRef version) {
  auto libdevice = llvm::MemoryBuffer::getFile(toolchain.libdevice);
  return CodeCache::keyOf({version, libdevice ? (*libdevice)->getBuffer() : StringRef()});
}

/// PTX for later GPUs is that of the newest architecture which has no instructions of its own (sm_90a's runs nowhere else), or of
/// the oldest one.
static unsigned textOf(const CudaOptions &options) {
  unsigned text = 75;
  for (unsigned sm : options.sms)
    if (!*schedule::gpuOf(sm).gpu.suffix)
      text = std::max(text, sm);
  return text;
}

namespace {
/// Generates what is to be compiled, and hands it on.
struct Collector {
  const CudaOptions &options;
  const std::string &toolkit; ///< where there is a cache
  bool cached;
  CudaCode &out;
  DeviceJobs jobs;
  OwningOpRef<ModuleOp> host;

  using Generate = llvm::function_ref<llvm::Expected<DeviceCode>(unsigned sm, StringRef plan)>;
  /// One more launch; `form`: the kernel as text.
  llvm::Error add(MLIRContext *context, StringRef name, Generate generate, llvm::function_ref<std::string()> form);
  /// Likewise, of kernels or loops that are one launch together.
  llvm::Error addGroup(const LaunchGroup &group, Generate generate);
};
} // namespace

/// The architectures that there is code for.
static std::vector<unsigned> architecturesOf(const CudaOptions &options) {
  std::vector<unsigned> sms = options.sms;
  if (options.keepPtx && !llvm::is_contained(sms, textOf(options)))
    sms.push_back(textOf(options));
  return sms;
}

/// In front of what threads of their own can do: forms of one MLIR context.
static llvm::Error lowerInto(DeviceJob &job, ModuleOp device) {
  if (llvm::Error e = lowerToLlvmDialect(device, &schedule::gpuOf(job.sm)))
    return e;
  auto module = toPlainLlvm(device, *job.context);
  if (!module)
    return module.takeError();
  job.module = std::move(*module);
  return llvm::Error::success();
}

llvm::Error Collector::add(MLIRContext *context, StringRef name, Generate generate, llvm::function_ref<std::string()> form) {
  size_t number = out.launches.size();
  out.launches.emplace_back();
  for (unsigned sm : architecturesOf(options)) {
    std::string plan = "lathe_cuda_plan_" + std::to_string(number) + "_sm" + std::to_string(sm);
    auto code = generate(sm, plan);
    if (!code)
      return withForm(code.takeError(), form);
    if (!host)
      host = ModuleOp::create(UnknownLoc::get(context));
    for (Operation &op : llvm::make_early_inc_range(*code->host->getBody()))
      op.moveBefore(host->getBody(), host->getBody()->end());
    DeviceJob job{(name + " sm_" + llvm::Twine(sm)).str(), form(), sm, "", std::make_unique<llvm::LLVMContext>(), {}, {}, {}};
    if (cached)
      job.key = keyOf(*code->device, sm, toolkit);
    if (!cached || !takeCached(job, *options.cache))
      if (llvm::Error e = lowerInto(job, *code->device))
        return withForm(std::move(e), form);
    out.launches.back().push_back({sm, unsigned(jobs.size()), code->entries, plan});
    jobs.add(std::move(job));
  }
  return llvm::Error::success();
}

llvm::Error Collector::addGroup(const LaunchGroup &group, Generate generate) {
  out.launchOf.push_back(out.launches.size());
  kernel::GenericOp first = group.kernels[0];
  auto verified = [&](unsigned sm, StringRef plan) -> llvm::Expected<DeviceCode> {
    auto code = generate(sm, plan);
    if (!code)
      return code.takeError();
    for (ModuleOp module : {*code->device, *code->host})
      if (llvm::Error e = verifyGenerated(module, group.name))
        return std::move(e);
    return code;
  };
  return add(first.getContext(), group.name, verified, [&] { return lower::detachText(first).text; });
}

/// What a cubin depends on beside the kernel's text: whether operands are constant, and may be read ahead of time.
static std::string constancyOf(kernel::GenericOp kernel) {
  std::string text;
  for (unsigned i = 0; i < kernel.getInputs().size(); ++i)
    text += kernel.isConstant(kernel.getInputRef(i)) ? 'c' : 'v';
  return text;
}

/// What is told of a kernel's code for one architecture, in canonical names.
static target::CompiledVariant describe(unsigned sm, const schedule::Choice &choice, const DeviceCode &code, const schedule::ScheduledKernel &kernel) {
  target::CompiledVariant v{"sm" + std::to_string(sm), "", "", {}, {}, std::nullopt};
  std::map<std::string, shape::Expr> canonical = kernel.toCanonical();
  for (const Way &w : code.ways) {
    schedule::Candidate asked{w.when.substitute(canonical), w.schedule, shape::Expr::unknown()};
    auto chosen = llvm::find_if(choice.cases, [&](const schedule::Candidate &c) { return c.schedule == w.schedule && c.when.str() == asked.when.str(); });
    v.cases.push_back(target::toldCase(choice, chosen == choice.cases.end() ? asked : *chosen, w.entry));
    std::string &when = v.cases.back().when;
    when += (when.empty() || w.device.empty() ? "" : " and ") + w.device;
  }
  std::string forms = llvm::join(code.entries, ", ");
  if (code.ways.empty())
    v.cases.push_back({"", "#schedule.plain", forms, {}});
  for (const schedule::Candidate &c : choice.cases)
    if (choice.tuned && !isa<schedule::PlainAttr>(c.schedule) && llvm::none_of(code.ways, [&](const Way &w) { return w.schedule == c.schedule; }))
      llvm::raw_string_ostream(v.remarks.emplace_back()) << c.schedule << " was asked for, and does nothing: the kernel runs as " << forms;
  if (llvm::any_of(code.ways, [](const Way &w) { return isa<schedule::ThreadsAttr>(w.schedule); }))
    v.efficiency = choice.efficiency();
  if (choice.tuned)
    v.remarks.insert(v.remarks.begin(), choice.remarks.begin(), choice.remarks.end());
  return v;
}

/// One more launch, of a kernel that stands alone.
static llvm::Error addKernel(Collector &all, kernel::GenericOp kernel, const schedule::ScheduledKernel &scheduled, target::CompiledKernel &told) {
  told.hash = schedule::hashOf(scheduled.detached.canonical);
  told.sizes = scheduled.detached.ordered;
  std::map<std::string, shape::Expr> own = scheduled.toOwn();
  auto generate = [&](unsigned sm, StringRef plan) -> llvm::Expected<DeviceCode> {
    schedule::Choice choice = scheduled.choose(schedule::gpuOf(sm), {schedule::ChooseOptions().mostSchedules, all.options.tuning});
    schedule::Choice here = choice;
    for (schedule::Candidate &c : here.cases)
      c.when = c.when.substitute(own);
    llvm::Expected<DeviceCode> code = generateNamed(kernel, here.asCases(kernel.getContext()), sm, all.options, plan);
    if (code)
      told.variants.push_back(describe(sm, choice, *code, scheduled));
    return code;
  };
  return all.add(kernel.getContext(), kernel.getName(), generate, [&] { return scheduled.detached.text; });
}

/// All kernels, those that are equal once.
static llvm::Error addKernels(Collector &all, ArrayRef<kernel::GenericOp> kernels) {
  std::map<std::string, std::pair<unsigned, target::CompiledKernel>> known;
  for (kernel::GenericOp kernel : kernels) {
    loadDialects(*kernel.getContext());
    schedule::ScheduledKernel scheduled(kernel);
    auto [it, fresh] = known.try_emplace(scheduled.key() + constancyOf(kernel));
    auto &[launch, told] = it->second;
    if (fresh) {
      launch = all.out.launches.size();
      if (llvm::Error e = addKernel(all, kernel, scheduled, told))
        return e;
    } else {
      all.jobs.expectLess(architecturesOf(all.options).size());
    }
    all.out.launchOf.push_back(launch);
    all.out.told.push_back(target::inOwnNames(told, scheduled));
  }
  return llvm::Error::success();
}

/// The modules in the order of the jobs, then the texts for later GPUs.
static void takeModules(const DeviceJobs &jobs, const CudaOptions &options, CudaCode &out) {
  bool made = options.stage == Stage::Cubin;
  for (size_t i = 0; i < jobs.size(); ++i)
    out.modules.push_back({jobs[i].sm, !made, made ? jobs[i].cubin : jobs[i].ptx});
  for (std::vector<CudaVariant> &variants : out.launches)
    for (size_t i = 0, n = variants.size(); i < n && options.keepPtx && made; ++i) {
      CudaVariant text = variants[i];
      if (text.sm != textOf(options))
        continue;
      out.modules.push_back({text.sm, true, jobs[text.module].ptx});
      text.module = out.modules.size() - 1;
      variants.push_back(text);
    }
}

llvm::Expected<CudaCode> cuda::compileForCuda(ArrayRef<kernel::GenericOp> kernels, ArrayRef<LoopGroup> loops,
                                              ArrayRef<KernelGroup> groups, const CudaOptions &options) {
  llvm::Expected<Toolchain> toolchain = findToolchain(options.cudaPath);
  if (!toolchain)
    return toolchain.takeError();
  CudaCode out;
  if (options.stage == Stage::Cubin) {
    llvm::Expected<std::string> version = versionOf(*toolchain);
    if (!version)
      return version.takeError();
    out.toolkit = std::move(*version);
  }
  bool cached = options.cache && options.stage == Stage::Cubin;
  std::string toolkit = cached ? identityOf(*toolchain, out.toolkit) : "";
  size_t total = (kernels.size() + loops.size() + groups.size()) * architecturesOf(options).size();
  Collector all{options, toolkit, cached, out, {options, *toolchain, total}, {}};
  if (llvm::Error e = addKernels(all, kernels))
    return std::move(e);
  for (const LoopGroup &group : loops)
    if (llvm::Error e = all.addGroup(group, [&](unsigned sm, StringRef plan) { return generateLoopCode(group, sm, plan); }))
      return std::move(e);
  for (const KernelGroup &group : groups)
    if (llvm::Error e =
            all.addGroup(group, [&](unsigned sm, StringRef plan) { return generateGroupCode(group, sm, options, plan); }))
      return std::move(e);
  if (all.host) {
    if (llvm::Error e = lowerToLlvmDialect(*all.host, /*device=*/nullptr))
      return e;
    auto object = toHostObject(*all.host, options.hostTriple);
    if (!object)
      return object.takeError();
    out.hostObject = std::move(*object);
  }
  if (llvm::Error e = all.jobs.finish())
    return e;
  takeModules(all.jobs, options, out);
  return out;
}
