//===- Check.cpp - One model through all stages ----------------------------===//
//
// The reference is the interpreter on the module as it was imported. The artifact must give the same at every level,
// with one thread and with two; the kernels, interpreted, must give the same and do nothing that they must not. What
// differs is looked for stage by stage.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "../../tools/lathe-opt/TensorFiles.h"
#include "../../tools/lathe/CudaTensors.h"
#include "../../tools/lathe/LoadedModel.h"
#include "CudaKernels.h"
#include "Graph.h"
#include "Process.h"
#include "lathe/Import/Fx/ImportFx.h"
#include "lathe/Pipeline/Stages.h"
#include "lathe/Support/Diagnostics.h"
#include <cmath>
#include <unistd.h>

using namespace mlir;
using namespace lathe;
using namespace lathe::fuzz;
using llvm::Error;
using llvm::Expected;
using Results = std::vector<Tensor>;

const char *fuzz::nameOf(Outcome outcome) {
  static const char *const names[] = {"ok", "refused", "unsure", "known", "differs", "fault", "crash"};
  return names[unsigned(outcome)];
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

std::optional<std::string> fuzz::difference(const std::string &name, const Tensor &got, const Tensor &want,
                                            double tolerance) {
  if (got.type != want.type)
    return llvm::formatv("{0}: is {1}, expected {2}", name, got.type, want.type).str();
  double most = 0;
  for (double v : want.floats)
    most = std::isfinite(v) ? std::max(most, std::fabs(v)) : most;
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < want.size(); ++i) {
    bool same = want.isFloat()
                    ? got.floats[i] == want.floats[i] || (std::isnan(got.floats[i]) && std::isnan(want.floats[i])) ||
                          std::fabs(got.floats[i] - want.floats[i]) <= tolerance * std::max(most, 0.05)
                    : got.ints[i] == want.ints[i];
    wrong += !same;
    first = same || first >= 0 ? first : i;
  }
  if (!wrong)
    return std::nullopt;
  return llvm::formatv("{0}: {1} of {2} elements, the first at {3}: {4}, expected {5}", name, wrong, want.size(), first,
                       interpret::elementText(got, first), interpret::elementText(want, first))
      .str();
}

/// The coarsest type of float that the module computes in says how much roundings may matter.
static double toleranceOf(ModuleOp module) {
  double most = 0;
  module.walk([&](Operation *op) {
    for (Type t : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(t);
          tensor && isa<FloatType>(tensor.getElementType()) && !isa<ir::ConstantOp>(op))
        most = std::max(most, roundingOf(tensor.getElementType()));
  });
  return most <= 1e-15 ? 1e-6 : most <= 1e-7 ? 1e-3 : 40 * most;
}

namespace {

class Checker {
public:
  Checker(const Settings &settings, MLIRContext &context) : settings(settings), context(context) {}
  Verdict run(const Model &model, const Tensors &inputs, unsigned extraSizes, uint64_t seed);
  Verdict runProgram(const std::string &path, const std::vector<Tensor> &inputs, const Results &expected);

private:
  Verdict prepare(Expected<Module> module);
  Verdict compileArtifact();
  Verdict compileForDevice(const Model &model, const Tensors &inputs);
  Verdict compareAll(const std::vector<Tensor> &inputs);
  std::optional<std::string> runArtifact(const std::vector<Tensor> &inputs, const Results &want);
  std::optional<std::string> runOnce(const std::vector<Tensor> &inputs, const Results &want, const LatheOptions &options);
  Verdict emulate(const std::vector<Tensor> &inputs);
  Verdict locate(const std::vector<Tensor> &inputs, const Results &want, std::string message);
  std::optional<std::string> compare(const Results &got, const Results &want);
  std::vector<std::vector<Tensor>> otherInputs(const Tensors &inputs, unsigned count, uint64_t seed);
  bool isStable(const std::vector<Tensor> &inputs, const Results &want, std::optional<uint64_t> roundings = std::nullopt);

  const Settings &settings;
  MLIRContext &context;
  Module imported, optimized, fused, prepared, onGpu;
  std::string path;
  double tolerance = 1e-3;
};

} // namespace

static std::string text(Error e) { return llvm::toString(std::move(e)); }

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// A model may be refused as it is read; behind that only what is unsupported may be.
static Verdict failed(StringRef stage, Error e) {
  bool refused = stage == "import" ? !e.isA<BugError>() : e.isA<UnsupportedError>();
  return {refused ? Outcome::Refused : Outcome::Crash, stage.str(), text(std::move(e))};
}

Verdict Checker::prepare(Expected<Module> module) {
  if (!module)
    return failed("import", module.takeError());
  imported = std::move(*module);
  tolerance = toleranceOf(*imported);
  enter("optimize");
  optimized = imported->clone();
  if (Error e = pipeline::optimize(*optimized))
    return failed("optimize", std::move(e));
  enter("fuse");
  fused = optimized->clone();
  if (Error e = pipeline::formKernels(*fused))
    return failed("fuse", std::move(e));
  enter("prepare");
  prepared = fused->clone();
  if (Error e = pipeline::prepare(*prepared, {"x86_64", {}}))
    return failed("prepare", std::move(e));
  if (!settings.emulatedSm)
    return {};
  onGpu = imported->clone();
  if (Error e = pipeline::optimize(*onGpu, /*observer=*/nullptr, {/*multipliesBytes=*/true, /*wholeTransforms=*/true, /*float8=*/true}))
    return failed("cuda", std::move(e));
  if (Error e = pipeline::formKernels(*onGpu))
    return failed("cuda", std::move(e));
  if (Error e = pipeline::prepare(*onGpu, {"cuda", {}}))
    return failed("cuda", std::move(e));
  return {};
}

/// As the command line would: what GPUs want of the stages in front of the kernels differs from what CPUs do.
Verdict Checker::compileForDevice(const Model &model, const Tensors &inputs) {
  enter("cuda");
  std::string base = settings.folder + "/" + std::to_string(getpid());
  if (Error e = save(model, inputs, base))
    return failed("cuda", std::move(e));
  CompileOptions options;
  options.entries = {{base + ".onnx", "", {}}};
  options.output = path;
  options.targets = {{"cuda", {"sm90"}}};
  options.effort = settings.effort;
  options.threads = 1;
  Error e = compile(options);
  for (const char *end : {".onnx", ".npz"})
    unlink((base + end).c_str());
  return e ? failed("cuda", std::move(e)) : Verdict();
}

Verdict Checker::compileArtifact() {
  enter("emit");
  CompileOptions options;
  options.entries = {{"model.onnx", "", {}}};
  options.output = path;
  options.targets = {{"x86_64", settings.levels}};
  options.effort = settings.effort;
  options.threads = 1;
  options.sharesAll = true; // the tensors are small, and what several threads share has borders of its own
  if (Error e = pipeline::writeArtifact({*fused}, options))
    return failed("emit", std::move(e));
  return {};
}

std::optional<std::string> Checker::compare(const Results &got, const Results &want) {
  for (auto [i, pair] : llvm::enumerate(llvm::zip(got, want)))
    if (auto d = difference("result " + std::to_string(i), std::get<0>(pair), std::get<1>(pair), tolerance))
      return d;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The artifact
//===----------------------------------------------------------------------===//

std::optional<std::string> Checker::runOnce(const std::vector<Tensor> &inputs, const Results &want,
                                            const LatheOptions &options) {
  Expected<tool::LoadedModel> model = tool::LoadedModel::open(path, "lathe", options);
  if (!model)
    return text(model.takeError());
  std::vector<std::vector<char>> bytes;
  std::vector<DLTensor> tensors(inputs.size()), outputs(want.size());
  std::vector<DLTensor *> in, out;
  for (auto [i, t] : llvm::enumerate(inputs)) {
    bytes.push_back(interpret::toBytes(t));
    tensors[i] = {bytes.back().data(),
                  {kDLCPU, 0},
                  int32_t(t.shape().size()),
                  tool::dtypeOf(t.type.getElementType()),
                  const_cast<int64_t *>(t.shape().data()),
                  nullptr,
                  0};
    in.push_back(&tensors[i]);
  }
  for (DLTensor &t : outputs)
    out.push_back(&t);
  if (Error e = model->run(in, out))
    return text(std::move(e));
  Results got;
  for (auto [i, t] : llvm::enumerate(outputs)) {
    auto type = RankedTensorType::get(ArrayRef(t.shape, t.ndim), want[i].type.getElementType());
    got.push_back(interpret::fromBytes(type, static_cast<char *>(t.data) + t.byte_offset));
  }
  if (settings.spoil && !got.empty() && got[0].size())
    got[0].isFloat() ? got[0].floats.back() += 1 + std::fabs(got[0].floats.back()) : got[0].ints.back() ^= 1;
  return compare(got, want);
}

std::optional<std::string> Checker::runArtifact(const std::vector<Tensor> &inputs, const Results &want) {
  static const std::vector<std::string> all = {"baseline", "avx2", "avx512"};
  LatheOptions options = {};
  options.size = sizeof options;
  if (settings.device) {
    options.deviceType = kDLCUDA;
    options.deviceId = *settings.device;
    return runOnce(inputs, want, options);
  }
  for (const std::string &level : settings.levels)
    for (int threads : {1, 2}) {
      options.threads = threads;
      options.maxLevel = 1 + (llvm::find(all, level) - all.begin());
      if (auto d = runOnce(inputs, want, options))
        return llvm::formatv("{0}, {1} thread{2}: {3}", level, threads, threads > 1 ? "s" : "", *d).str();
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Where
//===----------------------------------------------------------------------===//

/// The first stage that does not compute what was imported. A device's artifact has stages of its own.
Verdict Checker::locate(const std::vector<Tensor> &inputs, const Results &want, std::string message) {
  if (settings.device)
    return message.empty() ? Verdict() : Verdict{Outcome::Differs, "cuda", message};
  for (auto [stage, module] :
       {std::pair("optimize", *optimized), std::pair("fuse", *fused), std::pair("prepare", *prepared)}) {
    Expected<Results> got = interpret::interpret(module, inputs);
    if (!got)
      return {Outcome::Fault, stage, text(got.takeError()) + (message.empty() ? "" : "; artifact: " + message)};
    if (auto d = compare(*got, want))
      return {Outcome::Differs, stage, *d + (message.empty() ? "; not seen in the artifact" : "")};
  }
  return message.empty() ? Verdict() : Verdict{Outcome::Differs, "emit", message};
}

/// The kernels as they are generated for a GPU.
Verdict Checker::emulate(const std::vector<Tensor> &inputs) {
  enter("cuda");
  bool differs = false;
  auto compareKernel = [&](const Results &got, ArrayRef<Tensor> want) -> Error {
    std::optional<std::string> d = compare(got, Results(want));
    differs = d.has_value();
    return d ? bug("sm_{0}: {1}", settings.emulatedSm, *d) : Error::success();
  };
  Expected<Results> got = interpret::interpret(*onGpu, inputs, checkCudaKernels(settings.emulatedSm, compareKernel));
  if (got)
    return {};
  Verdict v = failed("cuda", got.takeError());
  if (differs)
    v.outcome = Outcome::Differs;
  return v;
}

/// Inputs that differ by some rounding errors.
static std::vector<Tensor> disturbed(std::vector<Tensor> inputs, unsigned seed) {
  Rng rng(seed);
  for (Tensor &t : inputs)
    for (double &v : t.floats)
      v = ir::roundTo(v * (1 + (rng.chance(0.5) ? 10 : -10) * roundingOf(t.type.getElementType())),
                      t.type.getElementType());
  return inputs;
}

Verdict Checker::compareAll(const std::vector<Tensor> &inputs) {
  enter("interpret");
  Expected<Results> want = interpret::interpret(*imported, inputs);
  if (!want) { // the model was made for these sizes, or has been interpreted at them
    bool refused = !want.errorIsA<BugError>();
    return {refused ? Outcome::Refused : Outcome::Fault, "interpret", text(want.takeError())};
  }
  const Verdict unsure{Outcome::Unsure, "import", "a result depends on how one rounds"};
  if (!isStable(disturbed(inputs, 7), *want))
    return unsure;
  enter("run");
  std::optional<std::string> d = runArtifact(inputs, *want);
  Verdict v = locate(inputs, *want, d.value_or(""));
  if (!v.isFailure() && settings.emulatedSm)
    v = emulate(inputs);
  // One element of thousands may lie so that few roundings show it, or only those inside the model do: a difference is
  // looked at more closely.
  for (unsigned seed = 8; v.outcome == Outcome::Differs && seed < 24; ++seed)
    if (!isStable(disturbed(inputs, seed), *want) || !isStable(inputs, *want, seed))
      return unsure;
  return v;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Whether these inputs, with operators that round otherwise where that is asked for, give nearly the same.
bool Checker::isStable(const std::vector<Tensor> &inputs, const Results &want, std::optional<uint64_t> roundings) {
  Expected<Results> got = interpret::interpret(*imported, inputs, {}, roundings);
  if (!got) {
    llvm::consumeError(got.takeError());
    return false;
  }
  for (const Tensor &t : want)
    if (llvm::any_of(t.floats, [](double v) { return !std::isfinite(v) || std::fabs(v) > 1e4; }))
      return false;
  return !compare(*got, want);
}

/// The same ranks with other sizes: dimensions that are equal stay equal.
std::vector<std::vector<Tensor>> Checker::otherInputs(const Tensors &inputs, unsigned count, uint64_t seed) {
  std::vector<std::vector<Tensor>> out;
  Rng rng(seed);
  for (unsigned tries = 0; tries < 10 && out.size() < count; ++tries) {
    std::map<int64_t, int64_t> sizes{{1, 1}};
    Tensors changed;
    for (const auto &[name, t] : inputs) {
      Shape shape(t.shape());
      for (int64_t &d : shape) {
        if (!sizes.count(d))
          sizes[d] = rng.chance(tries < 5 ? 0.5 : 0.8) ? d : rng.range(1, d + 4);
        d = sizes[d];
      }
      Tensor other(RankedTensorType::get(shape, t.type.getElementType()));
      for (double &v : other.floats)
        v = ir::roundTo(rng.normal(), t.type.getElementType());
      for (int64_t &v : other.ints)
        v = t.ints.empty() ? 0 : t.ints[rng.next() % t.ints.size()];
      changed.emplace(name, std::move(other));
    }
    std::vector<Tensor> candidate = ordered(*imported, changed);
    Expected<Results> want = interpret::interpret(*imported, candidate);
    if (want)
      out.push_back(std::move(candidate));
    else
      llvm::consumeError(want.takeError());
  }
  return out;
}

Verdict Checker::run(const Model &model, const Tensors &inputs, unsigned extraSizes, uint64_t seed) {
  enter("import");
  if (Verdict v = prepare(import(model, context)); v.outcome != Outcome::Ok)
    return v;
  path = settings.folder + "/" + std::to_string(getpid()) + ".so";
  if (Verdict v = settings.device ? compileForDevice(model, inputs) : compileArtifact(); v.outcome != Outcome::Ok)
    return v;
  Verdict first = compareAll(ordered(*imported, inputs));
  for (const std::vector<Tensor> &other : first.outcome == Outcome::Ok && extraSizes
                                              ? otherInputs(inputs, extraSizes, seed)
                                              : std::vector<std::vector<Tensor>>())
    if (Verdict v = compareAll(other); v.isFailure()) {
      first = v;
      first.message += " (at sizes";
      for (const Tensor &t : other) {
        first.message += " ";
        for (auto [i, d] : llvm::enumerate(t.shape()))
          first.message += (i ? "x" : "") + std::to_string(d);
      }
      first.message += ")";
      break;
    }
  unlink(path.c_str());
  return first;
}

/// What PyTorch computed is the reference of the importer, the imported module that of all others.
Verdict Checker::runProgram(const std::string &file, const std::vector<Tensor> &inputs, const Results &expected) {
  enter("import");
  if (Verdict v = prepare(importFx(file, ImportOptions(), context)); v.outcome != Outcome::Ok)
    return v;
  path = settings.folder + "/" + std::to_string(getpid()) + ".so";
  if (Verdict v = compileArtifact(); v.outcome != Outcome::Ok)
    return v;
  enter("interpret");
  Expected<Results> got = interpret::interpret(*imported, inputs);
  if (!got)
    return failed("import", got.takeError());
  if (!expected.empty())
    if (auto d = compare(*got, expected))
      return {Outcome::Differs, "import", *d};
  Verdict v = compareAll(inputs);
  unlink(path.c_str());
  return v;
}

Error fuzz::holdDevice(int id) {
  static Expected<std::unique_ptr<tool::CudaTensors>> held = tool::CudaTensors::open(id);
  return held ? Error::success() : held.takeError();
}

Verdict fuzz::check(const Model &model, const Tensors &inputs, unsigned extraSizes, uint64_t seed,
                    const Settings &settings, MLIRContext &context) {
  if (settings.device)
    if (Error e = holdDevice(*settings.device))
      return {Outcome::Crash, "cuda", text(std::move(e))};
  return Checker(settings, context).run(model, inputs, extraSizes, seed);
}

/// Those named in0, in1, ..., or out0, out1, ...
static std::vector<Tensor> positioned(const Tensors &tensors, const std::string &way) {
  std::vector<Tensor> out;
  for (auto it = tensors.find(way + "0"); it != tensors.end(); it = tensors.find(way + std::to_string(out.size())))
    out.push_back(it->second);
  return out;
}

Verdict fuzz::checkProgram(const std::string &path, const Tensors &tensors, const Settings &settings, MLIRContext &context) {
  return Checker(settings, context).runProgram(path, positioned(tensors, "in"), positioned(tensors, "out"));
}

Verdict fuzz::emulateFile(const std::string &path, const Tensors &inputs, unsigned sm, uint32_t seed, MLIRContext &context) {
  enter("import");
  ImportOptions options;
  options.seed = seed;
  Expected<Module> module = importFx(path, options, context);
  if (!module)
    return failed("import", module.takeError());
  enter("optimize");
  double tolerance = toleranceOf(**module);
  if (Error e = pipeline::optimize(**module, /*observer=*/nullptr, {/*multipliesBytes=*/true, /*wholeTransforms=*/true, /*float8=*/true}))
    return failed("optimize", std::move(e));
  if (Error e = pipeline::formKernels(**module))
    return failed("fuse", std::move(e));
  enter("cuda");
  if (Error e = pipeline::prepare(**module, {"cuda", {}}))
    return failed("cuda", std::move(e));
  bool differs = false;
  auto compareKernel = [&](const Results &got, ArrayRef<Tensor> want) -> Error {
    for (auto [i, pair] : llvm::enumerate(llvm::zip(got, want)))
      if (auto d = difference("result " + std::to_string(i), std::get<0>(pair), std::get<1>(pair), tolerance)) {
        differs = true;
        return bug("sm_{0}: {1}", sm, *d);
      }
    return Error::success();
  };
  Expected<Results> got = interpret::interpret(**module, positioned(inputs, "in"), checkCudaKernels(sm, compareKernel));
  if (got)
    return {};
  bool refused = !got.errorIsA<BugError>();
  return {differs ? Outcome::Differs : refused ? Outcome::Refused : Outcome::Crash, "cuda", text(got.takeError())};
}
