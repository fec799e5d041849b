//===- lathe-opt.cpp - Any pass of the compiler alone ----------------------===//
//
// mlir-opt with the dialects and passes of lathe, for the tests.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Dialect/MlirDialects.h"
#include "TensorFiles.h"
#include "lathe/Lower/Passes.h"
#include "lathe/Optimize/Passes.h"
#include "lathe/Schedule/Passes.h"
#include "lathe/Target/Backends/Passes.h"
#include "lathe/Target/Passes.h"
#include "lathe/Fuse/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  lathe::registerMlirDialects(registry);
  registry.insert<lathe::ir::LatheDialect, lathe::kernel::KernelDialect, lathe::schedule::ScheduleDialect>();
  mlir::registerTransformsPasses();
  lathe::opt::registerLatheOptimizePasses();
  lathe::opt::registerOptimizePipeline();
  lathe::fuse::registerLatheFusePasses();
  lathe::kernel::registerLatheKernelPasses();
  lathe::lower::registerLatheLowerPasses();
  lathe::schedule::registerLatheSchedulePasses();
  lathe::target::registerLatheTargetPasses();
  lathe::target::registerLatheCodePasses();
  lathe::interpret::registerInterpretPass(lathe::tool::npyFiles());
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "lathe's optimizer driver\n", registry));
}
