//===- ScanRows.h - Scans of short rows, several in a vector ----------------===//
#ifndef LATHE_TARGET_CPU_SCANROWS_H
#define LATHE_TARGET_CPU_SCANROWS_H

#include "../VectorBuilder.h"
#include "lathe/Lower/BodyEmitter.h"
#include "lathe/Lower/BodyInfo.h"

namespace lathe::cpu {

/// Rows that lie one behind the other are one run of elements, in which every n-th begins anew.
class ScanRows {
public:
  /// Whether all that the kernel reads and writes lies so.
  static bool fits(const lower::BodyInfo &info, kernel::ScanOp op);
  /// `outer`: a point outside of all axes. `masked`: what is left over goes under a mask, otherwise one by one.
  ScanRows(const lower::BodyInfo &info, kernel::ScanOp op, VectorBuilder &v, const lower::BodyEmitter &outer, unsigned width, bool masked);
  /// Rows of n elements, the first of them and the one behind the last.
  void run(mlir::Value begin, mlir::Value end, mlir::Value n);

private:
  using Values = VectorBuilder::Values;

  /// What goes from vector to vector: the place of each lane in its row, from the end that the scan begins at, and the last result.
  Values firstState(mlir::Value n);
  Values vectorStep(mlir::Value base, mlir::Value mask, mlir::Value n, Values state);
  Values scalarStep(mlir::Value at, mlir::Value n, Values state);
  void rest(mlir::Value from, mlir::Value to, mlir::Value n, Values state);
  void finish(lower::BodyEmitter &point, mlir::Value result);
  mlir::Value identity(unsigned lanes);
  mlir::Value shifted(mlir::Value x, mlir::Value incoming, unsigned by);
  mlir::Value places(llvm::function_ref<int64_t(unsigned)> of);
  mlir::Value splat(mlir::Value x);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value combined(mlir::Value x, mlir::Value y);
  mlir::Value narrow(mlir::Value n);

  const lower::BodyInfo &info;
  kernel::ScanOp op;
  VectorBuilder &v;
  const lower::BodyEmitter &outer;
  unsigned width;
  bool masked, back;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_SCANROWS_H
