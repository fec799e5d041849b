//===- WholeWay.cpp - From an imported module to a run ---------------------===//

#include "WholeWay.h"
#include "../../tools/lathe/RunInputs.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Pipeline/Stages.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::test;
using llvm::Error;
using llvm::Expected;

WholeWay::WholeWay() {
  if (llvm::sys::fs::createUniqueDirectory("mutation", folder))
    llvm::report_fatal_error("no folder for artifacts can be made");
  artifact = (folder + "/model.so").str();
}

WholeWay::~WholeWay() { llvm::sys::fs::remove_directories(folder); }

using Sizes = std::map<std::string, int64_t>;

/// The sizes that inputs of these shapes bind, and a guess at the others: those that are computed or read as the model runs.
static Sizes sizesOf(ModuleOp module, llvm::ArrayRef<tool::HostTensor> inputs) {
  constexpr int64_t guess = 64;
  Sizes sizes;
  for (auto symbol : module.getOps<ir::SymbolOp>()) {
    int64_t min = symbol.getMin(), max = symbol.getMax();
    sizes[symbol.getName().str()] = std::max(min, max < 0 ? guess : std::min(max, guess));
  }
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (auto [type, input] : llvm::zip(main.getArgumentTypes(), inputs))
    for (auto [dim, size] : llvm::zip(ir::dimsOf(type), input.shape))
      if (std::optional<std::string> symbol = dim.asSymbol())
        sizes[*symbol] = size;
  return sizes;
}

/// The elements of all inputs.
static double elementsOf(ModuleOp module, const Sizes &sizes) {
  double elements = 0;
  for (Type type : module.lookupSymbol<func::FuncOp>("main").getArgumentTypes()) {
    double product = 1;
    for (const shape::Expr &dim : ir::dimsOf(type))
      product *= std::max<double>(0, dim.evaluate(sizes).value_or(1));
    elements += product;
  }
  return elements;
}

/// The points of all kernels.
static double workOf(ModuleOp module, const Sizes &sizes) {
  double work = 0;
  module.walk([&](kernel::GenericOp kernel) {
    double points = 1;
    for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
      points *= std::max<double>(0, kernel.getAxisExtent(i).evaluate(sizes).value_or(1 << 20));
    work += points;
  });
  return work;
}

Error WholeWay::run(ModuleOp kernels) {
  if (elementsOf(kernels, sizesOf(kernels, {})) > mostWork)
    return Error::success();
  LatheOptions options = {};
  options.size = sizeof options;
  options.threads = 2;
  Expected<tool::LoadedModel> model = tool::LoadedModel::open(artifact, "lathe", options);
  if (!model)
    return model.takeError();
  Expected<std::vector<tool::HostTensor>> inputs = tool::inputsAtRandom(*model, {});
  if (!inputs)
    return inputs.takeError();
  bool loops = false;
  kernels.walk([&](ir::LoopOp) { loops = true; });
  if (loops || workOf(kernels, sizesOf(kernels, *inputs)) > mostWork)
    return Error::success();
  std::vector<DLTensor> in, out(model->outputs().size());
  for (tool::HostTensor &t : *inputs)
    in.push_back(t.view());
  llvm::SmallVector<DLTensor *> inPointers, outPointers;
  for (DLTensor &t : in)
    inPointers.push_back(&t);
  for (DLTensor &t : out)
    outPointers.push_back(&t);
  ++numRan;
  return model->run(inPointers, outPointers);
}

Error WholeWay::go(ModuleOp module, unsigned mutation) {
  if (Error e = pipeline::optimize(module))
    return e;
  if (Error e = pipeline::formKernels(module))
    return e;
  static const char *const levels[] = {"baseline", "avx2", "avx512"};
  CompileOptions options;
  options.entries = {{"mutated", "", {}}};
  options.output = artifact;
  options.targets = {{"x86_64", {levels[mutation % 3]}}};
  options.effort = 0;
  options.threads = 1;
  if (Error e = pipeline::writeArtifact(module, options))
    return e;
  ++numCompiled;
  return run(module);
}
