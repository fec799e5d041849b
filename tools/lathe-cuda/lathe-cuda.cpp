//===- lathe-cuda.cpp - One kernel through the CUDA target -----------------===//
//
// A tool for tests: shows what the CUDA target makes of a kernel.generic, or of loops that are one launch (device MLIR, PTX, a cubin, the launch plan for
// given sizes) and runs it on the CPU (see Emulator.h).
//
//===----------------------------------------------------------------------===//

#include "RunKernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/CudaGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace lathe;
namespace cl = llvm::cl;

static cl::opt<std::string> inputFile(cl::Positional, cl::Required, cl::desc("FILE.mlir"));
static cl::opt<unsigned> sm("sm", cl::init(90), cl::desc("compute capability"));
static cl::opt<std::string> emit("emit", cl::init("ptx"), cl::desc("device, llvm, ptx, cubin, plan, entries or run"));
static cl::opt<std::string> kernelName("kernel", cl::desc("which kernel (default: the first)"));
static cl::opt<std::string> outputFile("o", cl::init("-"), cl::desc("output file"));
static cl::opt<std::string> cudaPath("cuda-path", cl::desc("CUDA toolkit"));
static cl::opt<bool> dependentLaunch("dependent-launch", cl::init(true));
static cl::opt<bool> together("together", cl::desc("the kernels that are one launch together"));
static cl::opt<int64_t> processors("processors", cl::init(emulator::usualProcessors),
                                   cl::desc("multiprocessors, for plan and run"));
static cl::opt<bool> called("called", cl::init(true), cl::desc("with --seen: what the plan calls, though its name is known"));
static cl::opt<std::string> seenFile("seen", cl::desc("for cubin, and for run, which makes the cubin then, too: a file with names of entry points. Those are left out unless the plan "
                                                      "for the given sizes calls them; the kernel's others are added"));
static cl::list<std::string> sizes("size", cl::desc("NAME=VALUE, for plan and run"));
static cl::list<std::string> buffers("buffer", cl::desc("for run: a file per operand and result, in order; read and written back"));

static llvm::Expected<std::vector<int64_t>> sizeValues(const std::vector<std::string> &names) {
  std::map<std::string, int64_t> given;
  for (llvm::StringRef text : sizes) {
    auto [name, value] = text.split('=');
    int64_t v;
    if (value.getAsInteger(10, v))
      return userError("--size {0}: expected NAME=VALUE", text);
    given[name.str()] = v;
  }
  std::vector<int64_t> out;
  for (const std::string &name : names) {
    if (!given.count(name))
      return userError("--size {0}=VALUE is missing", name);
    out.push_back(given[name]);
  }
  return out;
}

namespace {
/// Makes a cubin of the entry points that are called, and of those whose names are new in a file, which has them from then on.
class Assembler {
public:
  Assembler(const cuda::DeviceCode &code, const cuda::CudaOptions &options, llvm::raw_ostream &os) : entries(code.entries), code(code), options(options), os(os) {
    if (auto file = llvm::MemoryBuffer::getFile(seenFile))
      for (llvm::StringRef rest = (*file)->getBuffer(); !rest.empty(); rest = rest.split('\n').second)
        seen.insert(rest.split('\n').first.str());
  }

  const std::set<std::string> &choose(const std::vector<int64_t> &plan) {
    if (called)
      wanted = emulator::calledBy(code, plan);
    for (const std::string &entry : entries)
      if (seen.insert(entry).second)
        wanted.insert(entry);
    return wanted;
  }

  /// Of a module that may have others, too.
  llvm::Error assemble(const llvm::Module &all) const {
    if (wanted.empty())
      return llvm::Error::success();
    llvm::ValueToValueMapTy values;
    std::unique_ptr<llvm::Module> module = llvm::CloneModule(all, values);
    for (const std::string &entry : entries)
      if (llvm::Function *f = module->getFunction(entry); f && !wanted.count(entry))
        f->eraseFromParent();
    auto ptx = cuda::ptxOf(*module, sm);
    if (!ptx)
      return ptx.takeError();
    auto cubin = cuda::cubinOf(*ptx, sm, options);
    if (!cubin)
      return cubin.takeError();
    os << *cubin;
    std::error_code ec;
    llvm::raw_fd_ostream names(seenFile, ec);
    if (ec)
      return userError("{0}: {1}", seenFile, ec.message());
    for (const std::string &entry : seen)
      names << entry << '\n';
    return llvm::Error::success();
  }

private:
  std::vector<std::string> entries;
  const cuda::DeviceCode &code;
  const cuda::CudaOptions &options;
  llvm::raw_ostream &os;
  std::set<std::string> wanted, seen;
};
} // namespace

static llvm::Error run(cuda::DeviceCode &code, const std::vector<int64_t> &values, const cuda::CudaOptions &options, llvm::raw_ostream &os) {
  std::vector<std::vector<char>> data;
  for (const std::string &file : buffers) {
    auto bytes = llvm::MemoryBuffer::getFile(file);
    if (!bytes)
      return userError("{0}: {1}", file, bytes.getError().message());
    data.emplace_back((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
  }
  std::vector<char *> pointers;
  for (std::vector<char> &d : data)
    pointers.push_back(d.data());
  Assembler assembler(code, options, os);
  auto choose = [&](const std::vector<int64_t> &plan) { return assembler.choose(plan); };
  auto assemble = [&](const llvm::Module &module) { return assembler.assemble(module); };
  auto beside = seenFile.empty() ? std::nullopt : std::optional(emulator::Beside{choose, assemble});
  if (llvm::Error e = emulator::runKernel(code, sm, values, pointers, options, processors, beside))
    return e;
  for (unsigned i = 0; i < data.size(); ++i) {
    std::error_code ec;
    llvm::raw_fd_ostream os(buffers[i], ec);
    os.write(data[i].data(), data[i].size());
  }
  return llvm::Error::success();
}

static llvm::Error assembleNew(cuda::DeviceCode &code, const std::vector<int64_t> &values, const cuda::CudaOptions &options,
                               llvm::raw_ostream &os) {
  auto plan = emulator::planOf(code, values, processors);
  if (!plan)
    return plan.takeError();
  Assembler assembler(code, options, os);
  const std::set<std::string> &wanted = assembler.choose(*plan);
  if (wanted.empty())
    return llvm::Error::success();
  emulator::keepEntries(*code.device, wanted);
  llvm::LLVMContext context;
  auto module = cuda::deviceLlvm(*code.device, sm, context, options);
  return module ? assembler.assemble(**module) : module.takeError();
}

namespace {
/// What is shown: a kernel, or a group that is one launch.
struct Work {
  kernel::GenericOp kernel;
  std::vector<cuda::LoopGroup> loops;
  std::vector<cuda::KernelGroup> groups;
  bool isOne() const { return loops.empty() && groups.empty(); }
  std::vector<std::string> sizes() { return isOne() ? kernel.getSizeSymbols() : loops.empty() ? groups[0].sizes : loops[0].sizes; }
  llvm::Expected<cuda::DeviceCode> generate(const cuda::CudaOptions &options) {
    return isOne()         ? cuda::generateDeviceCode(kernel, sm, options)
           : loops.empty() ? cuda::generateGroupCode(groups[0], sm, options)
                           : cuda::generateLoopCode(loops[0], sm);
  }
};
} // namespace

static llvm::Error show(Work work, const cuda::CudaOptions &options, llvm::raw_ostream &os) {
  if (emit == "cubin" && seenFile.empty()) {
    std::vector<kernel::GenericOp> kernels;
    if (work.isOne())
      kernels = {work.kernel};
    auto all = cuda::compileForCuda(kernels, work.loops, work.groups, options);
    if (!all)
      return all.takeError();
    os << all->modules[0].bytes;
    return llvm::Error::success();
  }
  auto code = work.generate(options);
  if (!code)
    return code.takeError();
  if (emit == "device") {
    code->device->print(os);
  } else if (emit == "entries") {
    for (const std::string &e : code->entries)
      os << e << '\n';
  } else if (emit == "plan" || emit == "run" || emit == "cubin") {
    auto values = sizeValues(work.sizes());
    if (!values)
      return values.takeError();
    if (emit == "run")
      return run(*code, *values, options, os);
    if (emit == "cubin")
      return assembleNew(*code, *values, options, os);
    auto plan = emulator::planOf(*code, *values, processors);
    if (!plan)
      return plan.takeError();
    for (size_t i = 0; i < plan->size(); ++i)
      os << (i ? " " : "") << (*plan)[i];
    os << '\n';
  } else {
    llvm::LLVMContext context;
    auto module = cuda::deviceLlvm(*code->device, sm, context, options);
    if (!module)
      return module.takeError();
    if (emit == "llvm") {
      (*module)->print(os, nullptr);
      return llvm::Error::success();
    }
    auto ptx = cuda::ptxOf(**module, sm);
    if (!ptx)
      return ptx.takeError();
    os << *ptx;
  }
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "one kernel through the CUDA target\n");
  mlir::DialectRegistry registry;
  cuda::registerCudaDialects(registry);
  registry.insert<ir::LatheDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(inputFile, &context);
  if (!module)
    return 1;
  kernel::GenericOp kernel;
  module->walk([&](kernel::GenericOp op) {
    if (!kernel && (kernelName.empty() || op.getName() == kernelName))
      kernel = op;
  });
  Work work{kernel, {}, {}};
  if (kernelName.empty())
    work.loops = cuda::loopGroups(*module);
  if (together)
    work.groups = cuda::kernelGroups(*module, [](kernel::GenericOp) { return false; });
  if (!kernel)
    return int(report(userError("{0}: no such kernel", inputFile)));
  cuda::CudaOptions options;
  options.sms = {sm};
  options.cudaPath = cudaPath;
  options.dependentLaunch = dependentLaunch;
  std::error_code ec;
  llvm::raw_fd_ostream os(outputFile, ec);
  if (ec)
    return int(report(userError("{0}: {1}", outputFile, ec.message())));
  if (llvm::Error e = show(std::move(work), options, os))
    return int(report(std::move(e)));
  return 0;
}
