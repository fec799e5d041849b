//===- CodeMachine.cpp - The machine that a pass makes code for -------------===//

#include "CodeMachine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;

FailureOr<target::CodeMachine> target::codeMachine(Operation *op, StringRef name) {
  for (const schedule::Machine &row : schedule::machines())
    if (row.name == name)
      return CodeMachine{&row, findBackend(row.arch)};
  return op->emitError("no machine '") << name << "' in the table of machines";
}

void target::registerCodeDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, NVVM::NVVMDialect, math::MathDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  for (const Backend *backend : backends())
    backend->registerDialects(registry);
}
