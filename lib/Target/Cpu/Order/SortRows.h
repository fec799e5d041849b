//===- SortRows.h - What sorts of words and of keys alone share -------------===//
#ifndef LATHE_TARGET_CPU_SORTROWS_H
#define LATHE_TARGET_CPU_SORTROWS_H

#include "../KernelEmitters.h"
#include "../VectorBuilder.h"

namespace lathe::cpu {

/// The keys of a kernel's sort, row by row, and functions of the runtime (lib/Runtime/Sort.c).
class SortRows {
protected:
  SortRows(KernelFunction &f, kernel::SortOp op);
  /// The key from `base` on, `width` of them along the sorted axis.
  mlir::Value keyAt(const lower::BodyEmitter &row, mlir::Value base, unsigned width);
  /// The same as numbers (lathe/Lower/SortKey.h).
  mlir::Value numberAt(const lower::BodyEmitter &row, mlir::Value base, unsigned width);
  /// Calls body(base, width) for an axis from `from` (whole vectors) on: in vectors where accesses run along it.
  void along(unsigned axis, mlir::Value from, mlir::Value extent, llvm::function_ref<void(mlir::Value, unsigned)> body);
  void declare(llvm::StringRef name, mlir::TypeRange arguments, mlir::TypeRange results);
  mlir::Type lanes(unsigned width, mlir::Type element) { return width > 1 ? mlir::Type(mlir::VectorType::get({width}, element)) : element; }
  /// Bytes of so many words, in whole lines.
  static shape::Expr roomFor(const shape::Expr &words, unsigned wordBytes);

  KernelFunction &f;
  const lower::BodyInfo &info;
  kernel::SortOp op;
  VectorBuilder v;
  mlir::OpBuilder &b;
  unsigned axis, rankAxis;
  llvm::SmallVector<kernel::LoadOp> keyLoads; ///< that read the keys in their order
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_SORTROWS_H
