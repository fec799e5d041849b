//===- Compile.cpp - The compiler from top to bottom -----------------------===//
//
// A model file goes in, one shared object comes out. Each stage is one function below, in the order in which they run;
// what a stage may rely on is what the verifiers of the dialects it reads say.
//
//===----------------------------------------------------------------------===//

#include "lathe/Pipeline/Compile.h"
#include "HostProgram.h"
#include "Notes.h"
#include "Report.h"
#include "RunPasses.h"
#include "TargetCode.h"
#include "lathe/Artifact/ElfMachine.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Dialect/MlirDialects.h"
#include "lathe/Fuse/Passes.h"
#include "lathe/Import/Fx/ImportFx.h"
#include "lathe/Import/Onnx/OnnxImporter.h"
#include "lathe/Lower/BodyInfo.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Optimize/Passes.h"
#include "lathe/Pipeline/Stages.h"
#include "lathe/Schedule/ScheduleDialect.h"
#include "lathe/Support/CodeCache.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/Backend.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace mlir;
using namespace lathe;
using llvm::Error;
using llvm::Expected;
using Module = OwningOpRef<ModuleOp>;
using pipeline::runPasses;

void lathe::registerAllLatheDialects(DialectRegistry &registry) {
  registerMlirDialects(registry);
  registry.insert<ir::LatheDialect, kernel::KernelDialect, schedule::ScheduleDialect>();
  for (const target::Backend *backend : target::backends())
    backend->registerDialects(registry);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// What all targets' backends want of the stages in front of them.
static target::Preferences preferencesOf(const CompileOptions &options) {
  target::Preferences all;
  all.wholeTransforms = all.float8 = true;
  for (const TargetSpec &t : options.targets) {
    target::Preferences one = pipeline::backendOf(t).preferences();
    if (one.unrolledSteps)
      all.unrolledSteps = std::min(*one.unrolledSteps, all.unrolledSteps.value_or(*one.unrolledSteps));
    all.multipliesBytes &= one.multipliesBytes;
    all.packsImages &= one.packsImages;
    all.extendsRows &= one.extendsRows;
    all.storesBothWays &= one.storesBothWays;
    all.hostTransforms &= one.hostTransforms;
    all.hostPositions &= one.hostPositions;
    all.wholeTransforms &= one.wholeTransforms;
    all.float8 &= one.float8;
  }
  return all;
}

static bool isOnnx(StringRef model) {
  StringRef extension = llvm::sys::path::extension(model);
  return extension == ".onnx" || extension == ".textproto";
}

static bool isExport(StringRef model) {
  StringRef extension = llvm::sys::path::extension(model);
  return extension == ".pt2" || extension == ".json" || llvm::sys::fs::is_directory(model);
}

/// Model file -> lathe dialect.
static Expected<Module> importModel(const EntryPoint &entry, const CompileOptions &options,
                                    std::vector<std::string> &filesRead, MLIRContext &context) {
  ImportOptions import = entry.import;
  import.filesRead = &filesRead;
  target::Preferences wanted = preferencesOf(options);
  if (wanted.unrolledSteps)
    import.unrolledSteps = *wanted.unrolledSteps;
  import.hostTransforms = wanted.hostTransforms;
  import.hostPositions = wanted.hostPositions;
  if (isOnnx(entry.model))
    return importOnnx(entry.model, import, context);
  if (isExport(entry.model))
    return importFx(entry.model, import, context, entry.program);
  return userError("{0}: unknown kind of model; expected a file that ends in .onnx or .pt2", entry.model);
}

/// lathe -> lathe: constants folded, attention recognised, contractions merged.
Error pipeline::optimize(ModuleOp module, Observer *observer, const opt::PipelineOptions &options) {
  return runPasses(module, "optimize", observer,
                   [&](OpPassManager &pm) { opt::buildOptimizePipeline(pm, options); });
}

/// lathe -> kernels.
Error pipeline::formKernels(ModuleOp module, Observer *observer, const fuse::FormKernelsOptions &options) {
  return runPasses(module, "fuse", observer, [&](OpPassManager &pm) {
    pm.addPass(fuse::createGuardSizes());
    pm.addPass(fuse::createFormKernels(options));
    pm.addPass(kernel::createVerifyAccesses());
  });
}

/// Kernels in the form that the target's code generators want.
Error pipeline::prepare(ModuleOp module, const TargetSpec &target, const CompileOptions &options) {
  if (Error e = lower::checkAxes(lower::kernelsOf(module)))
    return e;
  const target::Backend &backend = backendOf(target);
  return runPasses(module, backend.name(), options.observer,
                   [&](OpPassManager &pm) { backend.addPasses(pm, codeOptions(target, options)); });
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// Writes text or bytes: a temporary beside the file first, then renamed.
static Error writeFile(StringRef path, StringRef bytes) {
  Expected<llvm::sys::fs::TempFile> temp = llvm::sys::fs::TempFile::create(path + ".%%%%%%");
  if (!temp)
    return userError("{0}: cannot write: {1}", path, llvm::toString(temp.takeError()));
  {
    llvm::raw_fd_ostream os(temp->FD, /*shouldClose=*/false);
    os << bytes;
    os.flush();
    if (os.has_error()) {
      std::string why = os.error().message();
      os.clear_error();
      llvm::consumeError(temp->discard());
      return userError("{0}: cannot write: {1}", path, why);
    }
  }
  if (Error e = temp->keep(path))
    return userError("{0}: cannot write: {1}", path, llvm::toString(std::move(e)));
  llvm::sys::fs::setPermissions(path, llvm::sys::fs::perms(0644));
  return Error::success();
}

static Error emitText(const CompileOptions &options, StringRef text) {
  if (!options.output.empty())
    return writeFile(options.output, text);
  llvm::outs() << text;
  return Error::success();
}

/// OUT: the models and their files of weights, for build systems.
static Error writeDepFile(const CompileOptions &options, ArrayRef<std::string> filesRead) {
  auto escape = [](StringRef path) {
    std::string out;
    for (char c : path)
      out += c == ' ' ? "\\ " : c == '$' ? "$$" : c == '#' ? "\\#" : std::string(1, c);
    return out;
  };
  std::string rule = escape(options.output) + ":";
  for (const std::string &file : filesRead)
    rule += " " + escape(file);
  return writeFile(options.depFile, rule + "\n");
}

//===----------------------------------------------------------------------===//
// The whole way
//===----------------------------------------------------------------------===//

/// Tells the observer of a stage while it runs; `size`: what there is behind it.
static Error observed(const CompileOptions &options, StringRef stage, llvm::function_ref<Error()> run,
                      llvm::function_ref<std::string()> size) {
  if (!options.observer)
    return run();
  options.observer->began(stage);
  auto start = std::chrono::steady_clock::now();
  if (Error e = run())
    return e;
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  options.observer->finished(stage, taken.count(), size());
  return Error::success();
}

static std::string countOf(ArrayRef<ModuleOp> modules) {
  unsigned kernels = 0, ops = 0;
  for (ModuleOp module : modules) {
    kernels += lower::kernelsOf(module).size();
    for (auto f : module.getOps<func::FuncOp>())
      ops += std::distance(f.getBody().getOps().begin(), f.getBody().getOps().end());
  }
  return std::to_string(ops) + " ops" + (kernels ? ", " + std::to_string(kernels) + " kernels" : "");
}

static std::optional<target::TextStage> textStageOf(EmitStage stage) {
  switch (stage) {
  case EmitStage::Llvm:
    return target::TextStage::Llvm;
  case EmitStage::Asm:
    return target::TextStage::Asm;
  case EmitStage::Ptx:
    return target::TextStage::Ptx;
  default:
    return std::nullopt;
  }
}

/// --emit llvm, asm or ptx: the code of the first target.
static Error emitCode(ModuleOp module, target::TextStage stage, const CompileOptions &options) {
  const TargetSpec &target = options.targets.front();
  if (Error e = pipeline::prepare(module, target, options))
    return e;
  Expected<std::string> text =
      pipeline::backendOf(target).print(module, stage, pipeline::codeOptions(target, options));
  return text ? emitText(options, *text) : text.takeError();
}

static artifact::ArtifactBuilder builderFor(const CompileOptions &options) {
  std::vector<std::string> names, files;
  for (const EntryPoint &entry : options.entries) {
    names.push_back(nameOf(entry));
    std::string file = llvm::sys::path::filename(entry.model).str();
    if (!llvm::is_contained(files, file))
      files.push_back(file);
  }
  artifact::Machine machine = artifact::findElfMachine(pipeline::hostArchOf(options.targets))->machine;
  return artifact::ArtifactBuilder(machine, llvm::join(files, ", "), names);
}

/// The modules in the form that a target's code generators want; what comes in stays as it is.
static Expected<std::vector<Module>> preparedFor(const TargetSpec &target, ArrayRef<ModuleOp> modules,
                                                 const CompileOptions &options) {
  std::vector<Module> out;
  for (ModuleOp module : modules) {
    out.emplace_back(module.clone()); // layouts and precision differ
    ModuleOp mine = *out.back();
    if (Error e = observed(
            options, target.arch, [&] { return pipeline::prepare(mine, target, options); }, [&] { return countOf(mine); }))
      return e;
  }
  return out;
}

Error pipeline::writeArtifact(ArrayRef<ModuleOp> modules, const CompileOptions &options) {
  artifact::ArtifactBuilder builder = builderFor(options);
  for (auto [i, module] : llvm::enumerate(modules)) {
    builder.select(i);
    if (Error e = pipeline::addSignature(builder, module))
      return e;
  }
  pipeline::addNotes(builder, options);
  llvm::json::Array reports;
  std::vector<std::vector<Module>> prepared; // constants are borrowed from them
  for (const TargetSpec &target : options.targets) {
    Expected<std::vector<Module>> made = preparedFor(target, modules, options);
    if (!made)
      return made.takeError();
    prepared.push_back(std::move(*made));
    std::vector<ModuleOp> mine;
    for (Module &module : prepared.back())
      mine.push_back(*module);
    reports.push_back(pipeline::reportOf(mine, target.arch, options));
    unsigned found = options.cache ? options.cache->found() : 0, missed = options.cache ? options.cache->missed() : 0;
    auto madeOrFound = [&] {
      if (!options.cache)
        return countOf(mine);
      found = options.cache->found() - found;
      return countOf(mine) + llvm::formatv(", {0} of {1} pieces of code from the cache", found,
                                           found + options.cache->missed() - missed)
                                 .str();
    };
    if (Error e = observed(
            options, target.arch + " code", [&] { return pipeline::addCode(builder, mine, target, options, reports.back()); },
            madeOrFound))
      return e;
  }
  artifact::ArtifactBuilder::Options write;
  write.prefix = options.prefix;
  write.externalData = options.externalWeights;
  write.threads = options.threads;
  auto link = [&] {
    return options.emit == EmitStage::Object ? builder.writeObject(options.output, write)
                                             : builder.write(options.output, write);
  };
  auto bytes = [&] {
    uint64_t size = 0;
    llvm::sys::fs::file_size(options.output, size);
    return std::to_string(size) + " bytes";
  };
  if (Error e = observed(options, "link", link, bytes))
    return e;
  return options.report.empty()
             ? Error::success()
             : writeFile(options.report, llvm::formatv("{0:2}\n", llvm::json::Value(std::move(reports))).str());
}

/// The stages up to kernels, of one model.
static Error formKernelsOf(ModuleOp module, const CompileOptions &options) {
  auto count = [&] { return countOf(module); };
  auto optimize = [&] {
    target::Preferences wanted = preferencesOf(options);
    return pipeline::optimize(module, options.observer, {wanted.multipliesBytes, wanted.wholeTransforms, wanted.float8});
  };
  if (Error e = observed(options, "optimize", optimize, count))
    return e;
  if (options.emit == EmitStage::Graph)
    return emitText(options, pipeline::textOf(module));

  target::Preferences wanted = preferencesOf(options);
  auto fuse = [&] { return pipeline::formKernels(module, options.observer, {wanted.packsImages, wanted.extendsRows, wanted.storesBothWays}); };
  if (Error e = observed(options, "fuse", fuse, count))
    return e;
  if (options.emit == EmitStage::Kernels)
    return emitText(options, pipeline::textOf(module));
  std::optional<target::TextStage> text = textStageOf(options.emit);
  return text ? emitCode(module, *text, options) : Error::success();
}

namespace {
/// With all dialects; passes run on one thread, code generation has threads of its own.
struct CompilerContext : MLIRContext {
  CompilerContext() : MLIRContext(allDialects(), Threading::DISABLED) { loadAllAvailableDialects(); }

private:
  static DialectRegistry allDialects() {
    DialectRegistry registry;
    registerAllLatheDialects(registry);
    return registry;
  }
};
} // namespace

Error lathe::checkStages(const CompileOptions &options) {
  CompilerContext context;
  std::vector<std::string> filesRead;
  artifact::ArtifactBuilder builder = builderFor(options);
  for (auto [i, entry] : llvm::enumerate(options.entries)) {
    Expected<Module> module = importModel(entry, options, filesRead, context);
    if (!module)
      return module.takeError();
    if (Error e = pipeline::optimize(**module))
      return e;
    if (Error e = pipeline::formKernels(**module))
      return e;
    builder.select(i);
    if (Error e = pipeline::addSignature(builder, **module))
      return e;
    if (Expected<std::vector<Module>> prepared = preparedFor(options.targets.front(), {**module}, options); !prepared)
      return prepared.takeError();
  }
  return Error::success();
}

/// Where nothing smaller shows a bug, the whole does.
static Error reproducible(Error error, ArrayRef<ModuleOp> modules, const CompileOptions &options) {
  auto whole = [&] {
    std::string text;
    for (ModuleOp module : modules)
      text += pipeline::textOf(module);
    return text;
  };
  return pipeline::writeReproducer(withForm(std::move(error), whole), options.output);
}

/// Imports, and adds the files that were read with the paths that they have for the caller.
static Error importInto(Module &module, const EntryPoint &entry, const CompileOptions &options,
                        std::vector<std::string> &filesRead, MLIRContext &context) {
  std::vector<std::string> beside;
  Expected<Module> imported = importModel(entry, options, beside, context);
  if (!imported)
    return imported.takeError();
  module = std::move(*imported);
  if (!llvm::is_contained(filesRead, entry.model))
    filesRead.push_back(entry.model);
  for (const std::string &file : beside) {
    llvm::SmallString<128> path(llvm::sys::path::parent_path(entry.model));
    llvm::sys::path::append(path, file);
    filesRead.push_back(path.str().str());
  }
  return Error::success();
}

Error lathe::compile(const CompileOptions &given) {
  CompileOptions options = given;
  std::unique_ptr<CodeCache> cache;
  if (!options.cacheFolder.empty()) {
    Expected<std::unique_ptr<CodeCache>> opened = CodeCache::open(options.cacheFolder, options.cacheBytes);
    if (!opened)
      return opened.takeError();
    cache = std::move(*opened);
    options.cache = cache.get();
  }
  auto prune = llvm::make_scope_exit([&] {
    if (cache)
      cache->prune();
  });
  CompilerContext context;
  std::vector<std::string> filesRead;
  std::vector<Module> modules; // each lives until the artifact is written: constants are borrowed
  std::vector<ModuleOp> formed;
  for (const EntryPoint &entry : options.entries) {
    modules.emplace_back();
    if (Error e = observed(
            options, "import", [&] { return importInto(modules.back(), entry, options, filesRead, context); },
            [&] { return countOf(*modules.back()); }))
      return e;
    formed.push_back(*modules.back());
    if (Error e = reproducible(formKernelsOf(formed.back(), options), formed, options))
      return e;
  }
  if (options.emit != EmitStage::Artifact && options.emit != EmitStage::Object)
    return Error::success();
  if (Error e = reproducible(pipeline::writeArtifact(formed, options), formed, options))
    return e;
  return options.depFile.empty() ? Error::success() : writeDepFile(options, filesRead);
}
