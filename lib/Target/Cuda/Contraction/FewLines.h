//===- FewLines.h - Products of few rows or few columns ---------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_FEWLINES_H
#define LATHE_LIB_TARGET_CUDA_FEWLINES_H

#include "Gemm.h"

namespace lathe::cuda {

/// A product of a wide operand, which is read once at the memory's speed, and one of few lines, which stays in the caches.
/// Lines are rows of one operand and columns of the other.
struct FewLines {
  GemmProblem p;
  bool fewAreRows;
  bool byDepth;       ///< the wide operand's elements lie side by side in depth; else its lines do
  unsigned width = 1; ///< elements of an access of the wide operand
  lower::Divisibility known;
  const ProductOperand &wide() const { return fewAreRows ? p.rhs : p.lhs; }
  const ProductOperand &few() const { return fewAreRows ? p.lhs : p.rhs; }
  llvm::ArrayRef<unsigned> wideAxes() const { return fewAreRows ? p.shape.columnAxes : p.shape.rowAxes; }
  llvm::ArrayRef<unsigned> fewAxes() const { return fewAreRows ? p.shape.rowAxes : p.shape.columnAxes; }
  /// Four integers of 8 bits side by side in depth are multiplied by one instruction.
  bool dotsWords() const { return p.multipliesIntegers() && byDepth && width % 4 == 0; }
  /// Whether the few lines would have to be gathered.
  bool isTurned() const { return byDepth && width > 1 && !p.shape.stepAlong(few().offset, p.shape.depthAxes)->isOne(); }
  const shape::Expr &lines() const { return fewAreRows ? p.n : p.m; }
  const shape::Expr &count() const { return fewAreRows ? p.m : p.n; }
};

/// Adds entry points for as few lines as pay, and the plan's words for them; those of other generators are in place where
/// open sizes may say that there are more. False when it does not take the kernel.
llvm::Expected<bool> generateFewLines(Generator &g);
/// Whether there are always so few lines that no other generator is needed.
bool alwaysFewLines(const Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_FEWLINES_H
