//===- RunCommand.cpp - lathe run ------------------------------------------===//
#include "Commands.h"
#include "CudaTensors.h"
#include "MemoryLimit.h"
#include "NpyFile.h"
#include "RunBench.h"
#include "RunInputs.h"
#include "RunSteps.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

namespace {
struct RunFlags {
  std::string artifact, inputs, expect, outputDir, testData, device = "", profile, prefix = "lathe", entry;
  std::vector<std::string> input, random;
  bool useRandom = false, bench = false, steps = false;
  Tolerance tolerance;
  int threads = 0;
  unsigned level = 0;
  BenchOptions benchOptions;
};
} // namespace

static Error parseDevice(StringRef text, LatheOptions &options) {
  if (text.empty())
    return Error::success();
  auto [kind, number] = text.split(':');
  options.deviceType = kind == "cpu" ? kDLCPU : kind == "cuda" ? kDLCUDA : -1;
  if (options.deviceType < 0 || (!number.empty() && (number.getAsInteger(10, options.deviceId) || options.deviceId < 0)))
    return userError("--device {0}: expected cpu, cuda or cuda:N", text);
  return Error::success();
}

static Expected<std::vector<HostTensor>> gatherInputs(const LoadedModel &model, const RunFlags &flags) {
  int sources = !flags.inputs.empty() + !flags.input.empty() + flags.useRandom + !flags.testData.empty();
  if (sources > 1)
    return userError("give one of --inputs, --input, --random and --test-data");
  if (!flags.inputs.empty())
    return inputsFromNpz(model, flags.inputs);
  if (!flags.testData.empty())
    return inputsFromTestData(model, flags.testData);
  if (flags.useRandom)
    return inputsAtRandom(model, flags.random);
  if (model.inputs().empty() || !flags.input.empty())
    return inputsFromFiles(model, flags.input);
  return userError("the model has {0} inputs: give --inputs DATA.npz, --input NAME=X.npy, --random or --test-data DIR",
                   model.inputs().size());
}

/// A file name of an output's name.
static std::string fileName(StringRef name) {
  std::string safe = name.str();
  for (char &c : safe)
    if (c == '/' || c == '\0')
      c = '_';
  return safe == "." || safe == ".." || safe.empty() ? "output" : safe;
}

static Error saveOutputs(const LoadedModel &model, ArrayRef<DLTensor> outputs, const std::string &directory) {
  if (std::error_code error = sys::fs::create_directories(directory))
    return userError("cannot make the folder '{0}': {1}", directory, error.message());
  for (auto [info, tensor] : zip(model.outputs(), outputs))
    if (Error error = writeNpy(directory + "/" + fileName(info.name) + ".npy", tensor))
      return error;
  return Error::success();
}

static Error compareOutputs(const LoadedModel &model, ArrayRef<DLTensor> outputs, const RunFlags &flags) {
  if (flags.expect.empty() && flags.testData.empty())
    return Error::success();
  Expected<std::vector<Expectation>> all =
      flags.expect.empty() ? expectationsFromTestData(model, flags.testData) : expectationsFromNpz(model, flags.expect);
  if (!all)
    return all.takeError();
  for (const Expectation &one : *all)
    if (Error error = compare(model.outputs()[one.output].name, outputs[one.output], one.want, one.stride, flags.tolerance))
      return error;
  outs() << all->size() << (all->size() == 1 ? " output agrees\n" : " outputs agree\n");
  return Error::success();
}

static void printOutputs(const LoadedModel &model, ArrayRef<DLTensor> outputs) {
  for (auto [info, tensor] : zip(model.outputs(), outputs)) {
    ArrayRef<int64_t> shape(tensor.shape, tensor.ndim);
    outs() << info.name << ": " << dtypeName(tensor.dtype) << " " << shapeText(shape) << " [";
    uint64_t count = *countElements(shape);
    for (uint64_t i = 0; i < std::min<uint64_t>(count, 6); ++i)
      outs() << (i ? ", " : "") << formatv("{0}", elementAt(tensor, i).number.real());
    outs() << (count > 6 ? ", ...]\n" : "]\n");
  }
}

namespace {
/// The tensors of a run: where the caller of the model would have them.
struct RunTensors {
  std::vector<HostTensor> hostInputs, hostOutputs;
  std::unique_ptr<CudaTensors> cuda;
  std::vector<DLTensor> inputs, outputs;
};
} // namespace

static std::vector<DLTensor *> pointersTo(std::vector<DLTensor> &tensors) {
  std::vector<DLTensor *> pointers;
  for (DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  return pointers;
}

/// Moves inputs and outputs to the device, so that a benchmark times no copies. The library provides the outputs there: their shapes may
/// not be known before a run.
static Error placeOnDevice(LoadedModel &model, int deviceId, RunTensors &tensors) {
  Expected<std::unique_ptr<CudaTensors>> cuda = CudaTensors::open(deviceId);
  if (!cuda)
    return cuda.takeError();
  tensors.cuda = std::move(*cuda);
  for (auto [host, view] : zip(tensors.hostInputs, tensors.inputs)) {
    Expected<DLTensor> made = tensors.cuda->upload(host);
    if (!made)
      return made.takeError();
    view = *made;
  }
  for (DLTensor &output : tensors.outputs)
    output.device = {kDLCUDA, deviceId};
  return Error::success();
}

static Error bringBack(RunTensors &tensors) {
  for (DLTensor &output : tensors.outputs) {
    Expected<HostTensor> host = tensors.cuda->download(output);
    if (!host)
      return host.takeError();
    tensors.hostOutputs.push_back(std::move(*host));
    output.data = tensors.hostOutputs.back().data();
    output.device = {kDLCPU, 0};
  }
  return Error::success();
}

static Error executeSteps(LoadedModel &model, RunTensors &tensors) {
  Expected<std::vector<HostTensor>> outputs = runSteps(model, tensors.hostInputs);
  if (!outputs)
    return outputs.takeError();
  tensors.hostOutputs = std::move(*outputs);
  for (HostTensor &output : tensors.hostOutputs)
    tensors.outputs.push_back(output.view());
  return Error::success();
}

static Error execute(LoadedModel &model, const RunFlags &flags, const LatheOptions &options, RunTensors &tensors) {
  if (flags.steps)
    return executeSteps(model, tensors);
  for (HostTensor &input : tensors.hostInputs)
    tensors.inputs.push_back(input.view());
  tensors.outputs.resize(model.outputs().size());
  if (!flags.bench)
    return model.run(pointersTo(tensors.inputs), pointersTo(tensors.outputs));
  if (options.deviceType == kDLCUDA)
    if (Error error = placeOnDevice(model, options.deviceId, tensors))
      return error;
  if (Error error = bench(model, pointersTo(tensors.inputs), pointersTo(tensors.outputs), flags.benchOptions))
    return error;
  return tensors.cuda ? bringBack(tensors) : Error::success();
}

static Error deliver(const LoadedModel &model, const RunFlags &flags, ArrayRef<DLTensor> outputs) {
  if (!flags.outputDir.empty())
    if (Error error = saveOutputs(model, outputs, flags.outputDir))
      return error;
  if (Error error = compareOutputs(model, outputs, flags))
    return error;
  if (flags.expect.empty() && flags.testData.empty() && flags.outputDir.empty() && !flags.bench)
    printOutputs(model, outputs);
  return Error::success();
}

static Error run(const RunFlags &flags) {
  if (flags.steps && (flags.bench || flags.useRandom || !flags.testData.empty()))
    return userError("--steps takes its inputs from --inputs or --input, and times nothing");
  Profile profile;
  LatheOptions options = {};
  options.size = sizeof options;
  options.threads = flags.threads;
  options.maxLevel = flags.level;
  if (!flags.profile.empty()) {
    options.profile = Profile::record;
    options.profileUser = &profile;
  }
  if (Error error = parseDevice(flags.device, options))
    return error;
  if (options.deviceType != kDLCUDA) // a driver reserves addresses as it likes
    limitMemory();
  Expected<LoadedModel> model = LoadedModel::open(flags.artifact, flags.prefix, options, flags.entry);
  if (!model)
    return model.takeError();
  RunTensors tensors;
  Expected<std::vector<HostTensor>> inputs = gatherInputs(*model, flags);
  if (!inputs)
    return inputs.takeError();
  tensors.hostInputs = std::move(*inputs);
  if (Error error = execute(*model, flags, options, tensors))
    return error;
  if (!flags.profile.empty())
    if (Error error = profile.write(flags.profile, flags.artifact, flags.entry, options.deviceType ? options.deviceType : kDLCPU))
      return error;
  return deliver(*model, flags, tensors.outputs);
}

void lathe::tool::addRunCommand(CLI::App &app, Action &action) {
  CLI::App *command = app.add_subcommand("run", "Run a compiled model on inputs from files, or made up");
  auto flags = std::make_shared<RunFlags>();
  command->add_option("ARTIFACT", flags->artifact, "The shared object that lathe compile wrote")->required();
  command->add_option("--inputs", flags->inputs, "An .npz whose keys are inputs' names, or in0, in1, ... by position");
  command->add_option("--input", flags->input, "NAME=FILE.npy, for each input")->allow_extra_args(false);
  CLI::Option *random = command->add_option("--random", flags->random, "Made-up inputs; NAME=2x128 sets an input's shape");
  random->expected(0, 1000);
  command->add_option("--test-data", flags->testData, "ONNX's convention: a folder with input_0.pb, ... and output_0.pb, ...");
  command->add_option("--expect", flags->expect, "An .npz whose keys are outputs' names, or out0, out1, ...; a key followed by "
                                                 ".everyK holds every K-th element of the flattened output");
  command->add_option("--rtol", flags->tolerance.rtol, "Relative tolerance (default 1e-3, more for narrow types)");
  command->add_option("--atol", flags->tolerance.atol, "Absolute tolerance (default 1e-5)");
  command->add_option("--output-dir", flags->outputDir, "A folder to write the outputs to, as NAME.npy");
  command->add_flag("--steps", flags->steps, "A run for each slice of the inputs along a dimension in front of their own");
  command->add_flag("--bench", flags->bench, "Run for a while and print the times");
  command->add_option("--threads", flags->threads, "Threads, the calling one included (default: the physical cores)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--warmup", flags->benchOptions.warmup, "Runs before the timed ones (default 3)");
  command->add_option("--duration", flags->benchOptions.seconds, "Seconds of timed runs (default 1)");
  command->add_flag("--json", flags->benchOptions.json, "Print the times as JSON");
  command->add_option("--device", flags->device, "cpu or cuda:N");
  command->add_option("--profile", flags->profile, "A file for the steps' times, in Chrome's trace format");
  command->add_option("--entry", flags->entry, "The entry point to run, of an artifact of several models (default: the first)");
  command->add_option("--prefix", flags->prefix, "The prefix of the artifact's functions, as when it was compiled");
  command->add_option("--max-level", flags->level, "Use no code above this level: 1 baseline, 2 AVX2, 3 AVX-512");
  command->callback([flags, random, &action] {
    flags->useRandom = random->count() > 0;
    erase(flags->random, ""); // what CLI11 makes of the flag alone
    action = [flags] { return run(*flags); };
  });
}
