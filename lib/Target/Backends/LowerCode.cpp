//===- LowerCode.cpp - Kernels' code in the llvm dialect --------------------===//

#include "CodeMachine.h"
#include "lathe/Target/Backends/Passes.h"

namespace lathe::target {
#define GEN_PASS_DEF_LOWERCODE
#include "lathe/Target/Backends/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;

namespace {
struct LowerCode : target::impl::LowerCodeBase<LowerCode> {
  using LowerCodeBase::LowerCodeBase;
  void getDependentDialects(DialectRegistry &registry) const override { registerCodeDialects(registry); }

  void runOnOperation() override {
    FailureOr<CodeMachine> with = codeMachine(getOperation(), machine);
    if (failed(with))
      return signalPassFailure();
    for (ModuleOp module : getOperation().getOps<ModuleOp>()) {
      auto part = module->getAttrOfType<StringAttr>(partName);
      if (llvm::Error e = with->backend->lower(module, part ? part.getValue() : StringRef(), *with->machine)) {
        module.emitError(llvm::toString(std::move(e)));
        return signalPassFailure();
      }
    }
  }
};
} // namespace
