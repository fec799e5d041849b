//===- lathe-kernel.cpp - Compiles kernels in their text form --------------===//
//
// For tests: reads a module with kernel.generic ops, compiles them for one CPU variant and prints or writes what the stage
// gives. With --emit=obj, every kernel's object goes to OUT.0.o, OUT.1.o, ... and the symbols are printed.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Dialect/MlirDialects.h"
#include "lathe/Schedule/ScheduleDialect.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/CpuTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

using namespace lathe;

static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::desc("<kernels.mlir>"), llvm::cl::init("-"));
static llvm::cl::opt<std::string> outputFile("o", llvm::cl::desc("prefix of the objects"), llvm::cl::init("kernel"));
static llvm::cl::opt<std::string> archName("arch", llvm::cl::desc("architecture"), llvm::cl::init("x86_64"));
static llvm::cl::list<std::string> variantNames("variant", llvm::cl::desc("instruction set variants"));
static llvm::cl::opt<unsigned> effort("effort", llvm::cl::desc("of LLVM, 0 to 3"), llvm::cl::init(cpu::CpuOptions().effort));
static llvm::cl::opt<cpu::CpuStage> stage("emit", llvm::cl::desc("where to stop"), llvm::cl::init(cpu::CpuStage::Object),
                                          llvm::cl::values(clEnumValN(cpu::CpuStage::Mlir, "mlir", "the loop nest"),
                                                           clEnumValN(cpu::CpuStage::Llvm, "llvm", "optimised LLVM IR"),
                                                           clEnumValN(cpu::CpuStage::Asm, "asm", "assembly"),
                                                           clEnumValN(cpu::CpuStage::Object, "obj", "object files")));

static llvm::Error writeObjects(const cpu::CompiledKernels &compiled) {
  for (auto [i, bytes] : llvm::enumerate(compiled.objects)) {
    std::error_code ec;
    llvm::raw_fd_ostream os(outputFile + "." + std::to_string(i) + ".o", ec);
    if (ec)
      return userError("{0}: {1}", outputFile, ec.message());
    os << bytes;
  }
  for (const cpu::CompiledKernel &k : compiled.kernels)
    for (const cpu::CompiledVariant &v : k.variants)
      llvm::outs() << v.variant << " " << v.fn << " " << v.plan << "\n";
  return llvm::Error::success();
}

static llvm::Error compile(mlir::ModuleOp module) {
  std::vector<kernel::GenericOp> kernels;
  module.walk([&](kernel::GenericOp op) { kernels.push_back(op); });
  cpu::CpuOptions options;
  options.arch = archName;
  options.effort = effort;
  if (!variantNames.empty())
    options.variants.assign(variantNames.begin(), variantNames.end());
  options.stage = stage;
  llvm::Expected<cpu::CompiledKernels> compiled = cpu::compileCpuKernels(kernels, options);
  if (!compiled)
    return compiled.takeError();
  llvm::outs() << compiled->text;
  return stage == cpu::CpuStage::Object ? writeObjects(*compiled) : llvm::Error::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "compiles kernel.generic ops\n");
  mlir::DialectRegistry registry;
  registerMlirDialects(registry);
  registry.insert<lathe::ir::LatheDialect, lathe::kernel::KernelDialect, lathe::schedule::ScheduleDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(inputFile, &context);
  if (!module)
    return static_cast<int>(ExitCode::UserMistake);
  if (llvm::Error e = compile(*module))
    return static_cast<int>(report(std::move(e)));
  return 0;
}
