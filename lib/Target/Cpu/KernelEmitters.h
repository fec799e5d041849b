//===- KernelEmitters.h - What emits the code of one kernel ----------------===//
//
// The interface between the CPU target and the emitters of the kernel classes. An emitter fills the body of
//     void NAME(buffers, sizes, begin, end, scratch)
// that works off the parallel items [begin, end), and says how many items there are.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_KERNELEMITTERS_H
#define LATHE_TARGET_CPU_KERNELEMITTERS_H

#include "Isa.h"
#include "lathe/Lower/BodyEmitter.h"

namespace lathe::cpu {

/// What a run knows of its machine, as symbols of a plan's expressions, in the order of LATHE_FACTS; 0 where it does not.
constexpr llvm::StringLiteral runFacts[] = {"run.threads", "run.cache", "run.shared"};

/// The function being emitted; the builder stands at its end. Values are function arguments or were loaded at entry.
struct KernelFunction {
  kernel::GenericOp kernel;
  const lower::BodyInfo &info;
  const Isa &isa;
  lower::EmitHooks &hooks; ///< for BodyEmitter: this ISA's
  mlir::OpBuilder &b;
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> refs;  ///< !llvm.ptr per operand and result; none aliases another
  llvm::SmallVector<mlir::Value> sizes; ///< i64 per size symbol
  mlir::Value begin, end;               ///< i64, the range of parallel items
  mlir::Value scratch;                  ///< !llvm.ptr, 64-byte aligned, private to the thread
  mlir::Attribute schedule = {};        ///< #schedule.rows, #schedule.tiles or null: how to run, as far as it says
  shape::Facts facts = {};              ///< what holds of the sizes where the schedule serves
  llvm::SmallVector<mlir::Value> run = {}; ///< i64 per runFacts; empty in a part of a kernel that needs none

  /// An expression over sizes and runFacts.
  mlir::Value emitExpr(const shape::Expr &e) const;
};

/// How items go through the rows of a result, and what a row needs of an operand: LATHE_PLAN_UNIT and what follows it.
struct StagePlan {
  shape::Expr unit = 0, rows = 0, result = 0, rowBytes = 0;
  shape::Expr operand = 0, operandRowBytes = 0, rowsOfLine = 1, lines = 1, imageRows = 1, step = 0, low = 0, high = 1;

  static constexpr unsigned words = 12;
  std::array<const shape::Expr *, words> all() const {
    return {&unit, &rows, &result, &rowBytes, &operand, &operandRowBytes, &rowsOfLine, &lines, &imageRows, &step, &low, &high};
  }
};

/// What NAME_plan answers, as expressions over the size symbols and runFacts (min, max and floordiv are fine).
struct KernelPlan {
  shape::Expr items = 1;        ///< parallel items
  shape::Expr scratchBytes = 0; ///< per thread
  shape::Expr cost = 1;         ///< of one item: FLOPs plus a quarter of the bytes moved
  shape::Expr granularity = 1;  ///< items that a thread should take at least
  shape::Expr flags = 0;        ///< LATHE_PLAN_FLAGS
  StagePlan stage = {};
};

/// Each returns false, having emitted nothing, when it does not take the kernel (an odd stride, integers, ...): the row
/// program emitter then does, as a plain reduction. An error means that the kernel cannot be compiled.
llvm::Expected<bool> emitContraction(KernelFunction &f, KernelPlan &plan);
/// A kernel of class reduction that sums products of rows with a packed filter.
llvm::Expected<bool> emitConvolution(KernelFunction &f, KernelPlan &plan);
/// The same, where the filter is packed for Winograd's minimal filtering.
llvm::Expected<bool> emitWinograd(KernelFunction &f, KernelPlan &plan);
/// A kernel of class reduction: a depthwise convolution with channels side by side.
llvm::Expected<bool> emitDepthwise(KernelFunction &f, KernelPlan &plan);
/// A kernel of class reduction: a convolution of groups of channels, with a filter that is packed by groups.
llvm::Expected<bool> emitGrouped(KernelFunction &f, KernelPlan &plan);
/// A kernel of class reduction that sums products: a convolution, a contraction with a computed operand.
llvm::Expected<bool> emitProduct(KernelFunction &f, KernelPlan &plan);
/// The updates of a kernel of class scatter whose result lies where its data lie.
llvm::Expected<bool> emitScatter(KernelFunction &f, KernelPlan &plan);
/// A kernel of class reduction that sums products of bytes in 32 bits: a matrix product or a convolution of integers.
llvm::Expected<bool> emitIntegerProduct(KernelFunction &f, KernelPlan &plan);
/// The same, of single channels: four taps of a line at a time.
llvm::Expected<bool> emitDepthwiseBytes(KernelFunction &f, KernelPlan &plan);
llvm::Expected<bool> emitAttention(KernelFunction &f, KernelPlan &plan);
llvm::Error emitScan(KernelFunction &f, KernelPlan &plan);
llvm::Error emitSort(KernelFunction &f, KernelPlan &plan);
/// A kernel of class loop, with axes collapsed, whose results are contiguous along another axis than its operands.
llvm::Expected<bool> emitPermutation(KernelFunction &f, KernelPlan &plan);
/// Any kernel of class loop or reduction; contractions and attentions that the others declined.
llvm::Error emitRowProgram(KernelFunction &f, KernelPlan &plan);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_KERNELEMITTERS_H
