//===- WrittenLoops.cpp - Loops that stay as they are written ----------------===//
//
// A trip of a row's loop has as many vectors as its schedule says. LLVM would write several trips out: of a row of known length all of them, of an
// open one two and what is left over. Then one length runs in other code than the same length that a call says, and processors, which look ahead
// by the instruction that reads, find dozens that read once a row each (Zen 5: a layer norm of 4096x768 takes 0.83 of the time in its loop).
// The loops say so themselves, and keep saying so when they become branches, which MLIR's own conversion forgets.
//
//===----------------------------------------------------------------------===//

#include "BuildModule.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace lathe;

static constexpr llvm::StringLiteral asWritten = "as_written";

void cpu::keepAsWritten(Operation *loop) { loop->setAttr(asWritten, UnitAttr::get(loop->getContext())); }

/// What LLVM reads at the branch back to the loop's head.
static LLVM::LoopAnnotationAttr noUnrolling(MLIRContext *context) {
  auto unroll = LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
}

/// Loops around other loops that run as often as a call says are too long to be written out several times, which LLVM finds by adding up what all of
/// their instructions cost, once for each loop around them, and twice over: a twentieth of its time.
static void keepOuterLoops(Operation *top) {
  top->walk([](scf::ForOp loop) {
    bool isKnown = llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                                [](Value v) { return matchPattern(v, m_Constant()); });
    bool isInnermost = !loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!isKnown && !isInnermost)
      cpu::keepAsWritten(loop);
  });
}

namespace {
/// head: is there another trip? body: the trip, back to the head.
struct WrittenLoop : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(scf::ForOp loop, PatternRewriter &rewriter) const override {
    if (!loop->hasAttr(asWritten))
      return failure();
    Location loc = loop.getLoc();
    Block *before = rewriter.getInsertionBlock(), *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    Block *head = loop.getBody(), *body = rewriter.splitBlock(head, head->begin()), *last = &loop.getRegion().back();
    Value index = head->getArgument(0), step = loop.getStep(), end = loop.getUpperBound();
    SmallVector<Value> first{loop.getLowerBound()};
    llvm::append_range(first, loop.getInitArgs());
    rewriter.inlineRegionBefore(loop.getRegion(), after);
    Operation *yield = last->getTerminator();
    rewriter.setInsertionPoint(yield);
    SmallVector<Value> next{rewriter.create<arith::AddIOp>(loc, index, step)};
    llvm::append_range(next, yield->getOperands());
    rewriter.create<LLVM::BrOp>(loc, next, noUnrolling(getContext()), head);
    rewriter.eraseOp(yield);
    rewriter.setInsertionPointToEnd(before);
    rewriter.create<cf::BranchOp>(loc, head, first);
    rewriter.setInsertionPointToEnd(head);
    Value more = rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, index, end);
    rewriter.create<cf::CondBranchOp>(loc, more, body, ValueRange(), after, ValueRange());
    rewriter.replaceOp(loop, head->getArguments().drop_front());
    return success();
  }
};

struct LoopsToBranches : PassWrapper<LoopsToBranches, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoopsToBranches)

  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<cf::ControlFlowDialect, LLVM::LLVMDialect>(); }

  void runOnOperation() override {
    keepOuterLoops(getOperation());
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    patterns.add<WrittenLoop>(&getContext(), /*benefit=*/2);
    ConversionTarget target(getContext());
    target.addIllegalOp<scf::ForOp, scf::IfOp, scf::WhileOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> cpu::createLoopsToBranches() { return std::make_unique<LoopsToBranches>(); }
