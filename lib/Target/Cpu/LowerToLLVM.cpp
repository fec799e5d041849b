//===- LowerToLLVM.cpp - Kernel functions to LLVM IR -----------------------===//

#include "BuildModule.h"
#include "lathe/Lower/ExpandMath.h"
#include "lathe/Lower/FusedMultiplyAdd.h"
#include "lathe/Lower/NanTests.h"
#include "lathe/Lower/RunVerified.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;

namespace {
/// All dialects at once: MLIR's passes, one for each of them, walk over what the others leave, and cast between their types. What vectors become within
/// their own dialect is folded first, as MLIR's pass does, but once: a second round finds nothing.
struct ToLLVMDialect : PassWrapper<ToLLVMDialect, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToLLVMDialect)

  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<LLVM::LLVMDialect>(); }

  void runOnOperation() override {
    simplifyVectors();
    MLIRContext *context = &getContext();
    LLVMTypeConverter types(context);
    RewritePatternSet patterns(context);
    populateVectorToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }

private:
  void simplifyVectors() {
    RewritePatternSet patterns(&getContext());
    vector::populateVectorToVectorCanonicalizationPatterns(patterns);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorMaskMaterializationPatterns(patterns, /*force32BitVectorIndices=*/false);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    GreedyRewriteConfig config;
    config.maxIterations = 1;
    (void)applyPatternsAndFoldGreedily(getOperation(), std::move(patterns), config);
  }
};
} // namespace

llvm::Error cpu::lowerToLLVMDialect(ModuleOp module, const Isa &isa) {
  lower::ExpandMathOptions math;
  math.hasFma = isa.fma;
  math.hasRounding = isa.fma; // SSE4.1 came long before FMA
  math.hasScalef = isa.vectorBytes == 64;
  math.hasLongs = isa.arch != "x86_64" || isa.vectorBytes == 64;
  lower::shareNanTests(module);
  lower::expandMath(module, math);
  lower::formFusedMultiplyAdds(module, isa.fma);
  carryAsBits(module, isa);
  PassManager pm(module.getContext());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createLoopsToBranches());
  pm.addPass(std::make_unique<ToLLVMDialect>());
  if (failed(lower::runVerified(pm, module)))
    return bug("a kernel's functions do not lower to LLVM");
  return llvm::Error::success();
}

/// The functions that the runtime calls are visible to the link only; bodies stay inside.
static void setAttributes(llvm::Module &m, const Isa &isa) {
  for (llvm::Function &fn : m) {
    if (fn.isDeclaration())
      continue;
    bool body = fn.getName().ends_with(".body");
    if (body)
      fn.setLinkage(llvm::GlobalValue::InternalLinkage);
    else
      fn.setVisibility(llvm::GlobalValue::HiddenVisibility);
    fn.addFnAttr(llvm::Attribute::NoUnwind);
    if (body)
      fn.addFnAttr(llvm::Attribute::NoInline);
    fn.addFnAttr("target-cpu", isa.cpu);
    fn.addFnAttr("target-features", isa.features);
    fn.addFnAttr("prefer-vector-width", std::to_string(isa.vectorBytes * 8));
    fn.addFnAttr("no-trapping-math", "true");
  }
}

llvm::Expected<std::unique_ptr<llvm::Module>> cpu::toLLVMIR(ModuleOp module, const Isa &isa, llvm::LLVMContext &context) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<llvm::Module> m = translateModuleToLLVMIR(module, context, "kernel");
  if (!m)
    return bug("a kernel's functions do not translate to LLVM IR");
  setAttributes(*m, isa);
  return std::move(m);
}
