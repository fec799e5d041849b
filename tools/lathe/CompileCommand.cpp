//===- CompileCommand.cpp - lathe compile ----------------------------------===//
#include "Commands.h"
#include "CompileLog.h"
#include "lathe/Pipeline/Compile.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/Backend.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

namespace {
struct CompileFlags {
  CompileOptions options;
  std::string target = "host", emit = "so", weights = "embed", convolutions = "fast";
  std::vector<std::string> models, entries, dims, shapes, values, states;
  std::optional<uint32_t> seed;
  bool depFile = false;
  int verbosity = 0;
  const CLI::App *command = nullptr;
};
} // namespace

static Expected<EmitStage> parseEmit(StringRef text) {
  static const std::pair<StringRef, EmitStage> stages[] = {
      {"graph", EmitStage::Graph}, {"kernels", EmitStage::Kernels}, {"llvm", EmitStage::Llvm},  {"asm", EmitStage::Asm},
      {"ptx", EmitStage::Ptx},     {"obj", EmitStage::Object},      {"so", EmitStage::Artifact}};
  for (auto [name, stage] : stages)
    if (name == text)
      return stage;
  return userError("--emit {0}: expected graph, kernels, llvm, asm, ptx, obj or so", text);
}

static bool isIdentifier(StringRef text) {
  auto word = [](char c) { return isAlnum(c) || c == '_'; };
  return !text.empty() && !isDigit(text.front()) && all_of(text, word);
}

/// What a flag is for.
enum class Needs { File, Code, GpuCode, CpuCode };

/// A flag that says what the compilation does not do is refused.
static Error refuseIdleFlags(const CompileFlags &flags, const CompileOptions &options) {
  static const std::pair<const char *, Needs> all[] = {
      {"--report", Needs::File},           {"--MD", Needs::File},           {"--MF", Needs::File},
      {"--prefix", Needs::File},           {"--weights", Needs::File},      {"--cache-dir", Needs::File},
      {"--cache-size", Needs::File},       {"--precision", Needs::Code}, {"--tuning", Needs::Code},
      {"--max-schedules", Needs::CpuCode}, {"--convolutions", Needs::Code}, {"--cuda-path", Needs::GpuCode}};
  bool file = options.emit == EmitStage::Artifact || options.emit == EmitStage::Object;
  bool code = options.emit != EmitStage::Graph && options.emit != EmitStage::Kernels;
  auto isForCpu = [](const TargetSpec &t) { return target::findBackend(t.arch)->isHost(); };
  bool cpu = any_of(options.targets, isForCpu), gpu = !all_of(options.targets, isForCpu);
  for (auto [flag, needs] : all) {
    if (!flags.command->count(flag))
      continue;
    if (needs == Needs::File && !file)
      return userError("{0} does nothing with --emit {1}: it is about a finished model (so, obj)", flag, flags.emit);
    if (needs == Needs::GpuCode && !gpu)
      return userError("{0} does nothing without a CUDA target: it is about code for GPUs (--target cuda)", flag);
    if (needs == Needs::CpuCode && (!cpu || !code))
      return userError("{0} does nothing here: it is about code for CPUs", flag);
    if (needs == Needs::Code && !code)
      return userError("{0} does nothing with --emit {1}, which stops before there is code for a machine", flag, flags.emit);
    if (needs == Needs::GpuCode && !code)
      return userError("{0} does nothing with --emit {1}, which stops before there is code for GPUs", flag, flags.emit);
  }
  if (options.precision == "tf32" && !gpu)
    return userError("--precision tf32 does nothing without a CUDA target: CPUs have bf16 and f16");
  return Error::success();
}

/// The models, in the order of the artifact's entry points.
static Error parseEntries(const CompileFlags &flags, CompileOptions &options) {
  ImportOptions import;
  import.seed = flags.seed;
  for (const std::string &model : flags.models)
    options.entries.push_back({model, "", import});
  for (StringRef text : flags.entries) {
    auto [name, model] = text.split('=');
    if (name.empty() || model.empty())
      return userError("--entry {0}: expected NAME=MODEL", text);
    options.entries.push_back({model.str(), name.str(), import});
  }
  if (options.entries.empty())
    return userError("no model is given: lathe compile MODEL -o OUT.so");
  return expandEntries(options);
}

using ParseFlag = Error(StringRef, ImportOptions &);

/// What flags say of models' sizes and inputs: of all of them, or of one by ENTRY:FLAG.
static Error parseForModels(const std::vector<std::string> &texts, ParseFlag *parse, std::vector<EntryPoint> &entries) {
  for (StringRef text : texts) {
    auto [scope, rest] = text.split(':');
    bool scoped =
        any_of(entries, [&, scope = scope](const EntryPoint &e) { return nameOf(e) == scope; }) && !rest.empty();
    for (EntryPoint &entry : entries)
      if (!scoped || nameOf(entry) == scope)
        if (Error e = parse(scoped ? rest : text, entry.import))
          return e;
  }
  return Error::success();
}

static Expected<CompileOptions> optionsOf(const CompileFlags &flags) {
  CompileOptions options = flags.options;
  Expected<std::vector<TargetSpec>> targets = parseTargets(flags.target);
  if (!targets)
    return targets.takeError();
  options.targets = *targets;
  Expected<EmitStage> emit = parseEmit(flags.emit);
  if (!emit)
    return emit.takeError();
  options.emit = *emit;
  if (Error e = parseEntries(flags, options))
    return e;
  const std::pair<const std::vector<std::string> *, ParseFlag *> perModel[] = {
      {&flags.dims, parseDim}, {&flags.shapes, parseShape}, {&flags.values, parseValue}, {&flags.states, parseStates}};
  for (auto [texts, parse] : perModel)
    if (Error e = parseForModels(*texts, parse, options.entries))
      return e;
  if (flags.weights != "embed" && flags.weights != "external")
    return userError("--weights {0}: expected embed or external", flags.weights);
  options.externalWeights = flags.weights == "external";
  if (flags.convolutions != "fast" && flags.convolutions != "direct")
    return userError("--convolutions {0}: expected fast or direct", flags.convolutions);
  options.directConvolutions = flags.convolutions == "direct";
  static const StringRef precisions[] = {"", "f32", "tf32", "bf16", "f16"};
  if (!is_contained(precisions, StringRef(options.precision)))
    return userError("--precision {0}: expected f32, tf32, bf16 or f16", options.precision);
  bool object = options.emit == EmitStage::Object;
  if (options.entries.size() > 1 && !object && options.emit != EmitStage::Artifact)
    return userError("--emit {0}: of one model only; several make one artifact (so, obj)", flags.emit);
  bool file = object || options.emit == EmitStage::Artifact;
  if (file && options.output == "-")
    return userError("-o -: code is written to a file, OUT.{0}", object ? "o" : "so");
  if (options.output == "-")
    options.output.clear();
  if (file && options.output.empty())
    return userError("-o OUT.{0} is missing", object ? "o" : "so");
  if (Error e = refuseIdleFlags(flags, options))
    return e;
  if (object && options.externalWeights)
    return userError("--weights external: an object carries its weights; leave it out or use --emit so");
  if (!isIdentifier(options.prefix))
    return userError("--prefix {0}: expected a C identifier", options.prefix);
  if (flags.depFile && options.depFile.empty())
    options.depFile = options.output + ".d";
  return options;
}

void lathe::tool::addCompileCommand(CLI::App &app, Action &action) {
  CLI::App *command = app.add_subcommand("compile", "Compile a model (.onnx, .pt2), or several, to one shared object");
  auto flags = std::make_shared<CompileFlags>();
  flags->command = command;
  CompileOptions &o = flags->options;
  command->add_option("MODEL", flags->models,
                      "The model file; of several each is an entry point, called after its file");
  command->add_option("--entry", flags->entries, "NAME=MODEL: a model, and what the artifact calls it")
      ->allow_extra_args(false);
  command->add_flag("--share-weights", "Weights of equal contents are stored once; they always are");
  command->add_option("-o,--output", o.output, "The file to write; text goes to standard output without it, or with -");
  command->add_option(
      "--target", flags->target,
      "host, x86_64[:baseline+avx2+avx512], aarch64[:neon], riscv64[:rvv], cuda[:sm75+sm80+sm90+ptx]; comma separated");
  command->add_option(
      "--dim", flags->dims,
      "NAME=MIN..MAX[@H1,H2,...]: range and expected sizes; NAME=N fixes it; ENTRY:NAME=... of one model of several");
  command->add_option("--shape", flags->shapes, "INPUT=1x3x224x224: fixes or names the dimensions of an input");
  command
      ->add_option("--value", flags->values,
                   "INPUT=16000: the value of an integer or boolean input, which runs are checked against")
      ->allow_extra_args(false);
  command
      ->add_option("--state", flags->states,
                   "INPUT=OUTPUT,...: inputs and outputs that are one tensor, kept from run to run")
      ->allow_extra_args(false);
  command->add_option("--emit", flags->emit, "Stop after a stage: graph, kernels, llvm, asm, ptx, obj, so");
  command->add_option("-O", o.effort, "Effort for CPU code: 0 to 3 (default 2)")->check(CLI::Range(0, 3));
  command->add_flag("-M,--MD", flags->depFile, "Write OUT.d: the files that the output depends on, as a make rule");
  command->add_option("--MF", o.depFile, "The same, to this file");
  command->add_option("--weights", flags->weights, "embed, or external: a file beside the artifact");
  command->add_option("--report", o.report, "Write what became of the model's nodes, as JSON");
  command->add_option("--prefix", o.prefix, "Of the artifact's entry points: PREFIX_create, ...");
  command->add_option("--precision", o.precision, "Of contractions and convolutions: f32, bf16, f16 (on CPUs of their weights), on GPUs also tf32");
  command->add_option("--seed", flags->seed,
                      "Accept random numbers, drawn when compiling; for operators that say no seed");
  command->add_option("--cuda-path", o.toolkit, "CUDA toolkit with ptxas and libdevice");
  command
      ->add_option("--max-schedules", o.maxSchedules,
                   "Ways that one kernel may run in, by its sizes, on CPUs (default " + std::to_string(schedule::usualSchedules) + ")")
      ->check(CLI::Range(1, 32));
  command->add_option("--convolutions", flags->convolutions,
                      "fast: by fewer products on CPUs, narrow groups together on GPUs, where that pays (the default); direct: as defined");
  command->add_option("--tuning", o.tuning, "Measured schedules for CPUs that take the place of the compiler's");
  command->add_option("--jobs", o.threads, "Threads that generate code and pack constants")->check(CLI::Range(1, 64));
  CLI::Option *cache = command->add_option("--cache-dir", o.cacheFolder,
                                           "Keep the code of kernels in this folder, and take it from there");
  command->add_option("--cache-size", o.cacheBytes, "Of that folder: 500MB, 2GiB (default 1 GiB); 0 for no bound")
      ->transform(CLI::AsSizeValue(false))
      ->needs(cache);
  command->add_flag("-v,--verbose", flags->verbosity,
                    "Say how long each stage takes; -vv: each pass and each kernel, too");
  command->callback([flags, &action] {
    action = [flags]() -> Error {
      Expected<CompileOptions> options = optionsOf(*flags);
      if (!options)
        return options.takeError();
      CompileLog log(flags->verbosity);
      options->observer = &log;
      return compile(*options);
    };
  });
}
