//===- CpuTarget.cpp - Kernels to objects of a CPU architecture ------------===//

#include "lathe/Target/CpuTarget.h"
#include "BuildModule.h"
#include "EmitObject.h"
#include "Contraction/HalfPairs.h"
#include "Convolution/Convolution.h"
#include "Integer/IntegerProduct.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Schedule/Tuning.h"
#include "lathe/Support/CodeCache.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/ToldCases.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/ThreadPool.h"
#include <atomic>
#include <chrono>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;

namespace {
/// One kernel for one variant. LLVM works on it in a thread of the pool.
struct Job {
  std::string label, name; ///< for people, and of its functions
  const Isa *isa;
  CpuOptions options; ///< of this variant
  std::string key; ///< of the cache; empty: none
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  StringRef form; ///< the kernel as text, for reports of bugs
  std::string code, error;
};
} // namespace

static llvm::Expected<std::vector<const Isa *>> isasOf(const CpuOptions &options) {
  std::vector<const Isa *> isas;
  for (const std::string &v : options.variants) {
    const Isa *isa = findIsa(options.arch, v);
    if (!isa)
      return userError("no variant '{0}' of architecture '{1}'", v, options.arch);
    isas.push_back(isa);
  }
  return isas;
}

/// Code for machines from before AVX2 beside code for others: hardly any run it, and so it is each kernel's general way, and takes LLVM little time.
static CpuOptions optionsFor(const Isa &isa, ArrayRef<const Isa *> asked, const CpuOptions &options) {
  CpuOptions mine = options;
  mine.isSpare = !isa.fma && llvm::any_of(asked, [](const Isa *other) { return other->fma; });
  if (mine.isSpare)
    mine.mostSchedules = 1;
  return mine;
}

static bool mayConvolveHalfTiles(const lower::BodyInfo &info) {
  std::optional<ConvolutionShape> shape = ConvolutionShape::of(info);
  return shape && shape->unitStep();
}

/// A kernel of products of bytes, or of half types, is also made for the variants that have them and their sum in one instruction, and for that
/// which multiplies tiles of them where it would.
static std::vector<const Isa *> isasFor(const lower::DetachedKernel &kernel, ArrayRef<const Isa *> asked) {
  std::vector<const Isa *> isas(asked.begin(), asked.end());
  lower::BodyInfo info(kernel.kernel);
  bool bytes = bool(lower::productOfBytes(info)), halves = HalfPairs::mayFit(info), byteTiles = bytes && mayMultiplyByteTiles(info);
  bool halfTiles = HalfPairs::mayFitTiles(info) || mayConvolveHalfTiles(info);
  for (const Isa *isa : asked) {
    if (const Isa *dots = refinementOf(*isa, [&](const Isa &r) { return (bytes && r.dotsBytes()) || (halves && r.dotsHalves()); }))
      isas.push_back(dots);
    if (const Isa *unit = refinementOf(*isa, [&](const Isa &r) { return (byteTiles && r.multipliesByteTiles()) || (halfTiles && r.multipliesHalfTiles()); }))
      isas.push_back(unit);
  }
  return isas;
}

/// The kernel's name for people, and in text that people read. The model's names may hold anything.
static std::string labelOf(StringRef name, unsigned number, StringRef variant) {
  std::string s = "lathe_k" + std::to_string(number) + "_";
  for (char c : name.take_front(48))
    s += isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return s + "_" + variant.str();
}

/// Objects are named by content: the code of equal kernels is equal, whatever model they are of.
static std::string symbolOf(StringRef kernel, StringRef variant) {
  llvm::SHA256 hash;
  hash.update(kernel);
  return "lathe_" + llvm::toHex(llvm::toStringRef(hash.final()).take_front(12), /*LowerCase=*/true) + "_" + variant.str();
}

/// All that an object depends on beside the compiler: what was built, with the choice of schedules in it, and for what.
static std::string keyOf(ModuleOp module, const Isa &isa, const CpuOptions &options) {
  std::string text, effort = std::to_string(options.effort) + (options.isSpare ? " spare" : "");
  llvm::raw_string_ostream os(text);
  module.print(os);
  return CodeCache::keyOf({"cpu", isa.triple, isa.name, isa.features, effort, text});
}

/// Whether what emitted the case goes by its schedule.
static bool follows(const CompiledCase &c) {
  StringRef schedule = c.schedule;
  if (schedule.starts_with("#schedule.winograd"))
    return c.form == "convolution by minimal filtering";
  if (schedule.starts_with("#schedule.attention"))
    return c.form == "attention in blocks";
  return schedule.starts_with("#schedule.rows") ? c.form == "row program"
                                                : !schedule.starts_with("#schedule.tiles") || c.form == "contraction in tiles";
}

/// What is told of the variant, in canonical names.
static void describe(CompiledVariant &v, const schedule::Choice &choice, const BuiltKernel &built) {
  for (auto [c, form] : llvm::zip(choice.cases, built.forms))
    v.cases.push_back(target::toldCase(choice, c, form));
  bool rows = built.forms.back() == "row program", asked = choice.tuned;
  if (rows || asked)
    v.remarks = choice.remarks;
  for (const CompiledCase &c : v.cases)
    if (asked && !follows(c))
      v.remarks.push_back(c.schedule + " was asked for, and does nothing: the kernel runs as " + c.form);
  v.remarks.insert(v.remarks.end(), built.remarks.begin(), built.remarks.end());
  bool reckoned = rows || built.forms.back() == "contraction in tiles";
  v.efficiency = reckoned ? choice.efficiency() : std::nullopt;
}

/// MLIR's part of the work, on the calling thread. With stage Mlir, `text` gets the module before lowering.
static llvm::Error prepare(Job &job, schedule::ScheduledKernel &kernel, CompiledVariant &variant) {
  const CpuOptions &options = job.options;
  schedule::Choice choice = kernel.choose(*job.isa, {options.mostSchedules, options.tuning});
  std::vector<KernelCase> cases;
  for (const schedule::Candidate &c : choice.cases)
    cases.push_back({c.when, c.schedule});
  llvm::Expected<BuiltKernel> built = buildKernelModule(kernel.detached, cases, *job.isa, job.name, options.sharesAll);
  if (!built)
    return built.takeError();
  describe(variant, choice, *built);
  OwningOpRef<ModuleOp> &module = built->module;
  if (options.stage == CpuStage::Mlir) {
    llvm::raw_string_ostream(job.code) << *module << "\n";
    return llvm::Error::success();
  }
  if (options.cache && options.stage == CpuStage::Object) {
    job.key = keyOf(*module, *job.isa, options);
    if (std::optional<std::string> code = options.cache->find(job.key)) {
      job.code = std::move(*code);
      return llvm::Error::success();
    }
  }
  if (llvm::Error e = lowerToLLVMDialect(*module, *job.isa))
    return e;
  job.context = std::make_unique<llvm::LLVMContext>();
  job.context->setDiscardValueNames(options.stage == CpuStage::Object); // names of values, which LLVM's passes make for whoever reads them
  auto ir = toLLVMIR(*module, *job.isa, *job.context);
  if (!ir)
    return ir.takeError();
  job.module = std::move(*ir);
  return llvm::Error::success();
}

static void generate(Job &job, const std::atomic<unsigned> &total) {
  const CpuOptions &options = job.options;
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<std::string> code = emitCode(*job.module, *job.isa, options);
  if (code)
    job.code = std::move(*code);
  else
    job.error = llvm::toString(code.takeError());
  job.module.reset();
  job.context.reset();
  if (!job.key.empty() && job.error.empty())
    options.cache->add(job.key, job.code);
  if (options.finished)
    options.finished(job.label, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), total);
}

llvm::Expected<CompiledKernels> cpu::compileCpuKernels(ArrayRef<kernel::GenericOp> kernels, const CpuOptions &options) {
  auto isas = isasOf(options);
  if (!isas)
    return isas.takeError();
  CompiledKernels result;
  std::map<std::string, CompiledKernel> known;
  std::vector<std::unique_ptr<Job>> jobs;
  llvm::Error errors = llvm::Error::success();
  std::atomic<unsigned> total = kernels.size() * isas->size(); // less those that are equal to another
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(std::max(1u, options.threads)));
    for (kernel::GenericOp kernel : kernels) {
      schedule::ScheduledKernel scheduled(kernel);
      const lower::DetachedKernel &detached = scheduled.detached;
      auto [it, fresh] = known.try_emplace(scheduled.key());
      CompiledKernel &compiled = it->second;
      compiled.hash = schedule::hashOf(detached.canonical);
      compiled.sizes = detached.ordered;
      std::vector<const Isa *> mine = fresh ? isasFor(detached, *isas) : std::vector<const Isa *>();
      total += mine.size();
      total -= isas->size();
      for (const Isa *isa : mine) {
        auto job = std::make_unique<Job>();
        job->label = labelOf(kernel.getName(), known.size() - 1, isa->name);
        job->name = options.stage == CpuStage::Object ? symbolOf(it->first, isa->name) : job->label;
        job->isa = isa;
        job->options = optionsFor(*isa, *isas, options);
        job->form = it->first;
        compiled.variants.push_back({isa->name.str(), job->name, job->name + "_plan", {}, {}, {}});
        if (llvm::Error e = prepare(*job, scheduled, compiled.variants.back())) {
          errors = llvm::joinErrors(std::move(errors), withForm(std::move(e), [&] { return detached.text; }));
          break;
        }
        if (!job->module)
          --total;
        else
          pool.async([job = job.get(), &total] { generate(*job, total); });
        jobs.push_back(std::move(job));
      }
      result.kernels.push_back(target::inOwnNames(compiled, scheduled));
    }
    pool.wait();
  }
  if (errors)
    return std::move(errors);
  for (std::unique_ptr<Job> &job : jobs) {
    if (!job->error.empty())
      return withForm(bug("{0}: {1}", job->label, job->error), [&] { return job->form.str(); });
    if (options.stage == CpuStage::Object)
      result.objects.push_back(std::move(job->code));
    else
      result.text += job->code;
  }
  return std::move(result);
}
