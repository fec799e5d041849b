//===- LowerToLlvm.cpp - Device and host MLIR to the llvm dialect ----------===//

#include "Float8.h"
#include "HalfFunctions.h"
#include "PtxEmitter.h"
#include "lathe/Lower/ExpandMath.h"
#include "lathe/Lower/FusedMultiplyAdd.h"
#include "lathe/Lower/RunVerified.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace lathe;
using cuda::populateHalfFunctions;

namespace {

/// An elementwise op on vectors as ops on its elements.
void unrollVector(Operation *op, PatternRewriter &rewriter) {
  auto type = cast<VectorType>(op->getResult(0).getType());
  Location loc = op->getLoc();
  Value out = rewriter.create<LLVM::UndefOp>(loc, type);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> args;
    for (Value v : op->getOperands())
      args.push_back(isa<VectorType>(v.getType()) ? rewriter.create<vector::ExtractOp>(loc, v, i).getResult() : v);
    OperationState state(loc, op->getName(), args, {type.getElementType()}, op->getAttrs());
    Value x = rewriter.create(state)->getResult(0);
    out = rewriter.create<vector::InsertOp>(loc, x, out, i);
  }
  rewriter.replaceOp(op, out);
}

/// Math beyond what PTX has as vector-transparent instructions is a function of one number on a GPU.
struct UnrollMath : RewritePattern {
  explicit UnrollMath(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool scalarOnly = isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op);
    if (!scalarOnly || op->getNumResults() != 1 || !isa<VectorType>(op->getResult(0).getType()))
      return failure();
    unrollVector(op, rewriter);
    return success();
  }
};

/// Half types compute in f32: libdevice has no functions of them.
struct WidenMath : RewritePattern {
  explicit WidenMath(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<math::MathDialect>(op->getDialect()) || op->getNumResults() != 1)
      return failure();
    Type type = op->getResult(0).getType();
    if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() >= 32)
      return failure();
    SmallVector<Value> args;
    Type f32 = rewriter.getF32Type();
    for (Value v : op->getOperands())
      args.push_back(v.getType() == type ? rewriter.create<arith::ExtFOp>(op->getLoc(), f32, v).getResult() : v);
    OperationState state(op->getLoc(), op->getName(), args, {f32}, op->getAttrs());
    Value x = rewriter.create(state)->getResult(0);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, x);
    return success();
  }
};

/// libdevice's sqrtf is approximate unless it is compiled with a flag; this one rounds correctly.
struct ExactSqrt : OpRewritePattern<math::SqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SqrtOp op, PatternRewriter &rewriter) const override {
    Type t = op.getType();
    if (!t.isF32() && !t.isF64())
      return failure();
    auto name = rewriter.getStringAttr(t.isF32() ? "llvm.nvvm.sqrt.rn.f" : "llvm.nvvm.sqrt.rn.d");
    auto call = rewriter.create<LLVM::CallIntrinsicOp>(op.getLoc(), t, name, op->getOperands());
    rewriter.replaceOp(op, call.getResult(0));
    return success();
  }
};

/// Functions of libdevice that MLIR's conversion does not know; those of f32 end in "f".
constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> libdeviceNames[] = {
    {"math.asin", "__nv_asin"},   {"math.acos", "__nv_acos"},   {"math.sinh", "__nv_sinh"},
    {"math.cosh", "__nv_cosh"},   {"math.asinh", "__nv_asinh"}, {"math.acosh", "__nv_acosh"},
    {"math.atanh", "__nv_atanh"},
};

struct CallLibdevice : RewritePattern {
  explicit CallLibdevice(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto it = llvm::find_if(libdeviceNames, [&](const auto &row) { return op->getName().getStringRef() == row.first; });
    if (it == std::end(libdeviceNames))
      return failure();
    Type type = op->getResult(0).getType();
    if (!type.isF32() && !type.isF64())
      return failure();
    std::string name = it->second.str() + (type.isF32() ? "f" : "");
    auto module = op->getParentOfType<ModuleOp>();
    auto fn = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!fn) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      fn = rewriter.create<LLVM::LLVMFuncOp>(op->getLoc(), name, LLVM::LLVMFunctionType::get(type, {type}));
    }
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, fn, op->getOperands());
    return success();
  }
};

/// Numbers of bf16 are the upper halves of those of f32. Two of them lie in a register: one becomes an f32 by a shift, the other one by a mask. ptxas takes
/// the register apart before it shifts, and a multiprocessor does half as many of these instructions as additions.
struct WidenPairs : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    if (!from || !from.getElementType().isBF16() || from.getRank() != 1 || from.getNumElements() % 2 || !getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Location loc = op.getLoc();
    int64_t pairs = from.getNumElements() / 2;
    auto words = VectorType::get({pairs}, rewriter.getI32Type()), numbers = VectorType::get({pairs}, rewriter.getF32Type());
    auto all = [&](uint32_t value) -> Value {
      return rewriter.create<arith::ConstantOp>(loc, DenseElementsAttr::get(words, APInt(32, value)));
    };
    Value both = rewriter.create<vector::BitCastOp>(loc, words, op.getIn());
    Value low = rewriter.create<arith::BitcastOp>(loc, numbers, rewriter.create<arith::ShLIOp>(loc, both, all(16)));
    Value high = rewriter.create<arith::BitcastOp>(loc, numbers, rewriter.create<arith::AndIOp>(loc, both, all(0xFFFF0000)));
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < pairs; ++i)
      order.append({i, pairs + i});
    rewriter.replaceOpWithNewOp<vector::ShuffleOp>(op, low, high, order);
    return success();
  }
};

/// A float to an integer power is one to a float power: libdevice's pow is exact about whole exponents.
struct FloatExponent : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FPowIOp op, PatternRewriter &rewriter) const override {
    Value y = rewriter.create<arith::SIToFPOp>(op.getLoc(), op.getType(), op.getRhs());
    rewriter.replaceOpWithNewOp<math::PowFOp>(op, op.getLhs(), y);
    return success();
  }
};

/// The larger and the smaller number are an instruction each, of which MLIR's expansion of arith makes four. Machines before 8.0 have none that gives
/// NaN where one operand is.
struct KeepMaxima : PassWrapper<KeepMaxima, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepMaxima)
  StringRef getArgument() const override { return "lathe-cuda-maxima"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<LLVM::LLVMDialect>(); }
  explicit KeepMaxima(bool orNan) : orNan(orNan) {}
  template <typename From, typename To> void keep() {
    getOperation().walk([&](From op) {
      OpBuilder b(op);
      op.replaceAllUsesWith(b.create<To>(op.getLoc(), op.getLhs(), op.getRhs()).getResult());
      op.erase();
    });
  }
  void runOnOperation() override {
    keep<arith::MaxNumFOp, LLVM::MaxNumOp>();
    keep<arith::MinNumFOp, LLVM::MinNumOp>();
    if (!orNan)
      return;
    keep<arith::MaximumFOp, LLVM::MaximumOp>();
    keep<arith::MinimumFOp, LLVM::MinimumOp>();
  }
  bool orNan;
};

/// |x|, fma, roundings and the like stay LLVM intrinsics, which NVPTX selects; only the rest becomes calls.
struct MathToDevice : PassWrapper<MathToDevice, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MathToDevice)
  StringRef getArgument() const override { return "lathe-cuda-math"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet halves(context), first(context), pairs(context);
    populateHalfFunctions(halves); // sums of functions of vectors, while these are whole
    populateHalfFunctions(first);  // functions of half types, once they are of f32
    first.add<UnrollMath, WidenMath, CallLibdevice, ExactSqrt, FloatExponent>(context);
    pairs.add<WidenPairs>(context); // which other patterns would not know again
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(halves))) ||
        failed(applyPatternsAndFoldGreedily(getOperation(), std::move(first))) ||
        failed(applyPatternsAndFoldGreedily(getOperation(), std::move(pairs))))
      return signalPassFailure();
    LowerToLLVMOptions options(context);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    populateGpuToNVVMConversionPatterns(converter, patterns);
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addDynamicallyLegalDialect<math::MathDialect>([](Operation *op) {
      return isa<math::FmaOp, math::AbsIOp, math::AbsFOp, math::CtPopOp, math::CountLeadingZerosOp,
                 math::CountTrailingZerosOp, math::CopySignOp, math::TruncOp, math::RoundEvenOp, math::RoundOp>(op);
    });
    target.addIllegalOp<arith::RemFOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

llvm::Error cuda::lowerToLlvmDialect(ModuleOp module, const schedule::Machine *device) {
  if (device)
    lower::expandIntegerPowers(module);
  lower::formFusedMultiplyAdds(module, /*hasInstruction=*/device != nullptr);
  PassManager pm(module.getContext());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createConvertSCFToCFPass());
  if (device) { // conversions look at limits in front of them, while these are there
    pm.addPass(cuda::createConvertFloat8(device->gpu.multiplies("f8", 32)));
    pm.addPass(std::make_unique<KeepMaxima>(device->gpu.nanMaxima));
  }
  pm.addPass(arith::createArithExpandOpsPass());
  if (device)
    pm.addPass(std::make_unique<MathToDevice>());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  std::string text;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    text += (text.empty() ? "" : "; ") + d.str();
    return success();
  });
  if (failed(lower::runVerified(pm, module)))
    return bug("lowering to LLVM fails: {0}", text);
  return llvm::Error::success();
}
