//===- EmitCode.cpp - Each kernel as code for a machine ---------------------===//

#include "CodeMachine.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Target/Backends/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace lathe::target {
#define GEN_PASS_DEF_EMITCODE
#include "lathe/Target/Backends/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;

namespace {
struct EmitCode : target::impl::EmitCodeBase<EmitCode> {
  using EmitCodeBase::EmitCodeBase;
  void getDependentDialects(DialectRegistry &registry) const override { registerCodeDialects(registry); }

  void runOnOperation() override {
    FailureOr<CodeMachine> with = codeMachine(getOperation(), machine);
    if (failed(with))
      return signalPassFailure();
    std::vector<kernel::GenericOp> kernels = lower::kernelsOf(getOperation());
    llvm::SetVector<Operation *> holders;
    for (kernel::GenericOp kernel : kernels) {
      holders.insert(kernel->getParentOfType<func::FuncOp>());
      if (failed(emit(kernel, *with)))
        return signalPassFailure();
    }
    for (Operation *holder : holders)
      holder->erase();
  }

  LogicalResult emit(kernel::GenericOp kernel, const CodeMachine &with) {
    llvm::Expected<std::vector<CodeModule>> code = with.backend->emit(kernel, *with.machine);
    if (!code)
      return kernel.emitError(llvm::toString(code.takeError()));
    for (CodeModule &part : *code) {
      ModuleOp module = part.module.release();
      module.setSymName(kernel.getName());
      if (!part.name.empty())
        module->setAttr(partName, StringAttr::get(&getContext(), part.name));
      SymbolTable(getOperation()).insert(module); // makes the name unique
    }
    return success();
  }
};
} // namespace
