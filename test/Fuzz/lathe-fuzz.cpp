//===- lathe-fuzz.cpp - Random models through the compiler -----------------===//
//
// Each seed is one model, the same on every machine. It is generated, interpreted, compiled and run in a process of its
// own. One line for each failure, and a last one with counts; exit code 1 when there is a failure. docs/Fuzzing.md says
// more.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Process.h"
#include "Reduce.h"
#include "lathe/Pipeline/Compile.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include <unistd.h>

using namespace mlir;
using namespace lathe;
using namespace lathe::fuzz;
namespace cl = llvm::cl;

static cl::opt<uint64_t> first("first", cl::desc("The first seed"), cl::init(0));
static cl::opt<uint64_t> count("count", cl::desc("How many seeds"), cl::init(100));
static cl::opt<bool> open_("open", cl::desc("Every dimension of an input is a size of its own; run at three sizes"));
static cl::list<std::string>
    levels("levels", cl::desc("Levels of the code: baseline, avx2, avx512 (default: all that this machine has)"),
           cl::CommaSeparated);
static cl::opt<unsigned> effort("O", cl::desc("Effort for the code, 0 to 3 (default 1)"), cl::init(1));
static cl::opt<std::string> keep("keep", cl::desc("A folder for models that fail, with their inputs"));
static cl::opt<bool> reduce("reduce", cl::desc("Make models that fail smaller first"));
static cl::opt<std::string>
    writeOnly("write-only",
              cl::desc("Write the models, their inputs and what the interpreter gives to a folder, and do no more"));
static cl::opt<unsigned> jobs("jobs", cl::desc("Processes at a time"), cl::init(1));
static cl::opt<unsigned> timeout("timeout", cl::desc("Seconds for one model"), cl::init(60));
static cl::opt<bool> verbose("verbose", cl::desc("Also say what was unsure"));
static cl::opt<bool> show("show", cl::desc("Print the models"));
static cl::opt<bool> statistics("statistics", cl::desc("How often each operator was tried and taken"));
static cl::opt<bool> oneLevel("one-level", cl::desc("One level for each seed, in turn"));
static cl::opt<bool> emulate("emulate", cl::desc("Also generate the kernels for sm_75 or sm_90, in turn, and run them in "
                                                "the emulator (needs CUDA's libdevice)"));
static cl::list<int> devices("cuda-devices", cl::desc("Compile for sm_90 and run on these CUDA devices, in turn, instead of the CPU"),
                             cl::CommaSeparated);
static cl::opt<std::string> known(
    "known",
    cl::desc("A file of seeds that are known to fail, `SEED REASON` a line; one that does not fail is a failure"));
static cl::opt<bool> selfTest("self-test",
                              cl::desc("Change a number that each artifact gives: every seed must fail at emit"));
static cl::opt<std::string> replay("replay",
                                   cl::desc("Check a written model instead: FILE.onnx or FILE.pt2, with FILE.npz beside it. With --emulate of FILE.pt2 only the kernels for GPUs"));

static std::string work; ///< a folder for this run

static std::vector<std::string> levelsHere() {
  std::vector<std::string> out{"baseline"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    out.push_back("avx2");
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    out.push_back("avx512");
  return out;
}

/// A process holds a device's context for all of its seeds: making one takes longer than most models.
static uint64_t seedsOfProcess() { return devices.empty() ? 1 : 50; }

static Settings settings(uint64_t seed) {
  Settings s;
  std::vector<std::string> here = levelsHere();
  if (levels.empty())
    s.levels = here;
  else
    llvm::erase_if(s.levels, [](const std::string &l) { return !llvm::is_contained(levels, l); });
  if (oneLevel)
    s.levels = {s.levels[seed % s.levels.size()]};
  s.emulatedSm = !emulate ? 0 : seed % 2 ? 90 : 75;
  if (!devices.empty())
    s.device = devices[seed / seedsOfProcess() % devices.size()];
  s.effort = effort;
  s.spoil = selfTest;
  s.folder = work;
  return s;
}

static std::string pathOf(uint64_t seed) { return work + "/" + std::to_string(seed); }

/// What a process does for one seed.
static Verdict runSeed(uint64_t seed, MLIRContext &context) {
  Graph g(seed, context);
  enter("generate");
  generate(g);
  if (!g.numNodes())
    return {Outcome::Unsure, "generate", "no node"};
  Case c{g.finish(open_), g.inputValues()};
  if (llvm::Error e = save(c.model, c.inputs, pathOf(seed)))
    return {Outcome::Crash, "generate", llvm::toString(std::move(e))};
  if (!writeOnly.empty())
    return {};
  return check(c.model, c.inputs, open_ ? 2 : 0, seed, settings(seed), context);
}

/// Reads the model that the seed's process has written.
static std::optional<Case> readCase(const std::string &path, MLIRContext &context) {
  llvm::Expected<Model> model = loadModel(path + ".onnx");
  if (!model) {
    llvm::consumeError(model.takeError());
    return std::nullopt;
  }
  llvm::Expected<Tensors> inputs = loadInputs(path + ".npz", &context);
  if (!inputs) {
    llvm::consumeError(inputs.takeError());
    return std::nullopt;
  }
  return Case{std::move(*model), std::move(*inputs)};
}

/// In a process of its own, and each try in one more: a crash ends neither.
static void reduceFile(const std::string &path, uint64_t seed, const Verdict &shown, MLIRContext &context) {
  isolated(
      [&]() -> Verdict {
        std::optional<Case> start = readCase(path, context);
        if (!start)
          return {};
        auto fails = [&](const Case &c) {
          Verdict v =
              isolated([&] { return check(c.model, c.inputs, open_ ? 2 : 0, seed, settings(seed), context); }, timeout);
          return v.isFailure() && v.stage == shown.stage &&
                 (v.outcome == Outcome::Crash) == (shown.outcome == Outcome::Crash);
        };
        Case small = reduceCase(std::move(*start), open_, 250, fails, context);
        llvm::consumeError(save(small.model, small.inputs, path));
        return {};
      },
      20.0 * timeout);
}

static void keepFiles(const std::string &path, const std::string &name) {
  if (keep.empty())
    return;
  llvm::sys::fs::create_directories(keep.getValue());
  for (const char *end : {".onnx", ".npz"})
    llvm::sys::fs::copy_file(path + end, keep + "/" + name + end);
}

static std::map<uint64_t, std::string> readKnown() {
  std::map<uint64_t, std::string> out;
  auto file = llvm::MemoryBuffer::getFile(known);
  if (!file)
    return out;
  for (llvm::StringRef line : llvm::split((*file)->getBuffer(), '\n')) {
    auto [number, reason] = line.trim().split(' ');
    uint64_t seed;
    if (!number.getAsInteger(10, seed) && seed >= first && seed < first + count)
      out[seed] = reason.str();
  }
  return out;
}

/// A failure that is known is none; where there is none any more, somebody must say so.
static void setAside(uint64_t seed, Verdict &v, std::map<uint64_t, std::string> &reasons) {
  auto it = reasons.find(seed);
  if (it == reasons.end())
    return;
  v = v.isFailure() ? Verdict{Outcome::Known, v.stage, it->second}
                    : Verdict{Outcome::Differs, "known", "does not fail any more: remove it from " + known};
}

static void tell(uint64_t seed, const Verdict &v, MLIRContext &context) {
  if (v.outcome == Outcome::Ok || (!v.isFailure() && v.outcome != Outcome::Refused && !verbose))
    return;
  llvm::outs() << "seed " << seed << ": " << nameOf(v.outcome) << " at " << v.stage << ": " << v.message << "\n";
  if (v.isFailure() && reduce)
    reduceFile(pathOf(seed), seed, v, context);
  if (v.isFailure())
    keepFiles(pathOf(seed), "seed" + std::to_string(seed));
  if ((reduce && v.isFailure()) || show) {
    if (auto model = loadModel(pathOf(seed) + ".onnx"))
      llvm::outs() << textOf(*model);
    else
      llvm::consumeError(model.takeError());
  }
  llvm::outs().flush();
}

static void removeFiles(const std::string &path) {
  for (const char *end : {".onnx", ".npz"})
    llvm::sys::fs::remove(path + end);
}

/// Writes beside each model what the interpreter makes of it, for a comparison with others.
static Verdict writeExpected(uint64_t seed, MLIRContext &context) {
  std::optional<Case> c = readCase(pathOf(seed), context);
  if (!c)
    return {Outcome::Unsure, "write", "no model"};
  llvm::Expected<Module> module = import(c->model, context);
  if (!module)
    return {Outcome::Refused, "import", llvm::toString(module.takeError())};
  llvm::Expected<std::vector<Tensor>> results = interpret::interpret(**module, ordered(**module, c->inputs));
  if (!results)
    return {Outcome::Fault, "import", llvm::toString(results.takeError())};
  Tensors named;
  for (auto [i, t] : llvm::enumerate(*results))
    named.emplace(c->model.graph().output(i).name(), t);
  std::string to = writeOnly + "/" + std::to_string(seed);
  if (llvm::Error e = save(c->model, c->inputs, to))
    return {Outcome::Crash, "write", llvm::toString(std::move(e))};
  Model none;
  if (llvm::Error e = save(none, named, to + "_want"))
    return {Outcome::Crash, "write", llvm::toString(std::move(e))};
  llvm::sys::fs::remove(to + "_want.onnx");
  return {};
}

static Verdict seedWork(uint64_t seed, MLIRContext &context) {
  Verdict v = runSeed(seed, context);
  return !writeOnly.empty() && v.outcome == Outcome::Ok ? writeExpected(seed, context) : v;
}

/// The last line, and the exit code.
static int printCounts(std::map<Outcome, unsigned> &counts) {
  unsigned failures = 0;
  llvm::outs() << count << " seeds:";
  for (Outcome o : {Outcome::Ok, Outcome::Refused, Outcome::Unsure, Outcome::Known, Outcome::Differs, Outcome::Fault,
                    Outcome::Crash}) {
    llvm::outs() << " " << counts[o] << " " << nameOf(o) << (o == Outcome::Crash ? "\n" : ",");
    failures += o >= Outcome::Differs ? counts[o] : 0;
  }
  return failures ? 1 : 0;
}

/// Whether the devices can be used, in processes of their own: one that has opened the driver cannot be forked.
static bool haveDevices() {
  for (int id : devices) {
    Verdict v = isolated(
        [&]() -> Verdict {
          llvm::Error e = holdDevice(id);
          return e ? Verdict{Outcome::Crash, "cuda", llvm::toString(std::move(e))} : Verdict();
        },
        timeout);
    if (v.isFailure()) {
      llvm::errs() << "error: --cuda-devices " << id << ": " << v.message << "\n";
      return false;
    }
  }
  return true;
}

static int runAll(MLIRContext &context) {
  if (!haveDevices())
    return 1;
  std::map<uint64_t, Verdict> done;
  std::vector<Child> running;
  std::map<Outcome, unsigned> counts;
  auto work = [&](uint64_t seed) { return seedWork(seed, context); };
  uint64_t next = first, end = first + count, told = first;
  std::map<uint64_t, std::string> reasons = known.empty() ? std::map<uint64_t, std::string>() : readKnown();
  while (told < end) {
    while (running.size() < std::max(1u, jobs.getValue()) && next < end) {
      uint64_t behind = std::min(end, (next / seedsOfProcess() + 1) * seedsOfProcess());
      running.push_back(Child::start({next, behind}, work));
      next = behind;
    }
    for (Child &child : running) {
      uint64_t seed = child.left().first;
      for (const Verdict &v : child.poll(timeout))
        done.emplace(seed++, v);
      if (Seeds left = child.left(); !child.isRunning() && left.first < left.end)
        child = Child::start(left, work); // a failure was the process's last
    }
    llvm::erase_if(running, [](const Child &child) { return !child.isRunning(); });
    for (; done.count(told); ++told) { // in the order of the seeds
      setAside(told, done[told], reasons);
      ++counts[done[told].outcome];
      tell(told, done[told], context);
      removeFiles(pathOf(told));
      done.erase(told);
    }
    if (!running.empty())
      usleep(500);
  }
  return printCounts(counts);
}

/// Generates alone, in this process.
static int printStatistics(MLIRContext &context) {
  std::map<std::string, std::pair<unsigned, unsigned>> all;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Graph g(seed, context);
    generate(g);
    for (const auto &[op, n] : g.tried)
      all[op].first += n.first, all[op].second += n.second;
    if (show)
      llvm::outs() << "seed " << seed << "\n" << textOf(g.finish(open_));
  }
  for (const auto &[op, n] : all)
    llvm::outs() << op << ": " << n.second << " of " << n.first << "\n";
  return 0;
}

/// FILE.pt2 and FILE.npz.
static int replayProgram(llvm::StringRef path, MLIRContext &context) {
  llvm::Expected<Tensors> inputs = loadInputs((path + ".npz").str(), &context);
  if (!inputs) {
    llvm::errs() << "error: " << path << ".npz cannot be read: " << llvm::toString(inputs.takeError()) << "\n";
    return 1;
  }
  std::string file = (path + ".pt2").str();
  auto work = [&] {
    return emulate ? emulateFile(file, *inputs, first % 2 ? 90 : 75, 1, context) : checkProgram(file, *inputs, settings(first), context);
  };
  Verdict v = isolated(work, timeout);
  llvm::outs() << nameOf(v.outcome) << " " << v.stage << " " << v.message << "\n";
  return v.isFailure();
}

static int replayFile(MLIRContext &context) {
  llvm::StringRef path = replay;
  if (path.consume_back(".pt2"))
    return replayProgram(path, context);
  path.consume_back(".onnx");
  std::optional<Case> c = readCase(path.str(), context);
  if (!c) {
    llvm::errs() << "error: " << path << ".onnx and .npz cannot be read\n";
    return 1;
  }
  Verdict v =
      isolated([&] { return check(c->model, c->inputs, open_ ? 2 : 0, first, settings(first), context); }, timeout);
  llvm::outs() << textOf(c->model) << nameOf(v.outcome) << " " << v.stage << " " << v.message << "\n";
  return v.outcome != Outcome::Ok;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Random models through the compiler\n");
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("lathe-fuzz", folder)) {
    llvm::errs() << "error: no temporary folder\n";
    return 1;
  }
  work = std::string(folder);
  if (!writeOnly.empty())
    llvm::sys::fs::create_directories(writeOnly.getValue());
  DialectRegistry registry;
  registerAllLatheDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  int code = statistics ? printStatistics(context) : replay.empty() ? runAll(context) : replayFile(context);
  llvm::outs().flush();
  llvm::sys::fs::remove_directories(work);
  return code;
}
