//===- BodyBuilder.h - The scalar DAG of a kernel --------------------------===//
//
// Turns values of the model graph, at index expressions over a kernel's axes, into the ops of a kernel's body. What is kept
// in memory is loaded; everything else is computed in place. A value asked for twice at the same indices is computed once.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_FUSE_BODYBUILDER_H
#define LATHE_LIB_FUSE_BODYBUILDER_H

#include "Groups.h"
#include "lathe/Dialect/Kernel/Legality.h"

namespace lathe::fuse {

class BodyBuilder {
public:
  /// `inMemory` says which values have a buffer to read; `refOf` gives the buffer's block argument, adding an operand.
  /// `facts`: what holds while the kernel runs.
  BodyBuilder(Group &group, mlir::OpBuilder &b, const shape::Facts &facts, llvm::function_ref<bool(mlir::Value)> inMemory,
              llvm::function_ref<mlir::Value(mlir::Value)> refOf);

  /// The value at these indices. Under a predicate it is defined only where that holds (K8).
  mlir::Value emit(mlir::Value v, const Dims &indices, mlir::Value predicate = {});
  /// A value that was asked for at other indices than those at which the kernel computes it; null when there was none.
  mlir::Operation *misplaced() const { return wrongPlace; }
  /// Loads that are guarded since their bounds are not proven.
  unsigned guardedLoads() const { return guarded; }
  /// For a value that a kernel reads by plain strides: its buffer and the offset.
  std::pair<mlir::Value, shape::Expr> access(mlir::Value v, Dims indices);
  mlir::Value index(const shape::Expr &e);
  /// Behind the store of a scatter's data: that of its updates.
  void storeUpdates(ir::ScatterOp op, mlir::Value out);
  void storeCompact(ir::CompactOp op, mlir::Value out);

private:
  mlir::Value compute(mlir::Value v, const Dims &indices, mlir::Value predicate);
  mlir::Value load(mlir::Value v, shape::Expr offset, mlir::Value predicate, bool zeroElse = false);
  /// The value where the predicate holds, zero where not.
  mlir::Value emitOrZero(mlir::Value v, const Dims &indices, mlir::Value predicate);
  /// An expression of one op: its indirect indices are numbered from $0.
  shape::Expr ofOneOp(const shape::Expr &e, llvm::SmallVector<mlir::Value> &operands) const;
  mlir::Value splat(mlir::Value v);
  mlir::Value sizeAt(ir::SizeOp op, const Dims &indices);
  mlir::Value iota(ir::IotaOp op, const Dims &indices);
  mlir::Value concat(ir::ConcatOp op, const Dims &indices, mlir::Value predicate);
  mlir::Value pad(ir::PadOp op, const Dims &indices, mlir::Value predicate);
  mlir::Value gather(ir::GatherOp op, const Dims &indices, mlir::Value predicate);
  mlir::Value gatherNd(ir::GatherNdOp op, const Dims &indices, mlir::Value predicate);
  mlir::Value reduce(ir::ReduceOp op, const Dims &indices);
  mlir::Value scan(ir::ScanOp op);
  mlir::Value sort(ir::SortOp op);
  mlir::Value fft(ir::FftOp op);
  mlir::Value contract(ir::ContractOp op);
  mlir::Value sumOfProducts(mlir::Operation *op, mlir::Value x, mlir::Value y);
  mlir::Value attention(ir::AttentionOp op);
  mlir::Value conv(ir::ConvOp op);
  /// What an element of an integer tensor is, where that is an expression over axes and sizes.
  std::optional<shape::Expr> exprOf(mlir::Value v, const Dims &indices);
  /// An index read at run time, as a symbol of later offsets; wraps negatives and clamps into [0, size).
  shape::Expr indirect(mlir::Value index, const shape::Expr &size);
  /// The index as an i64, counted from the start.
  mlir::Value fromStart(mlir::Value index, const shape::Expr &size);
  shape::Expr clamped(mlir::Value index, const shape::Expr &size);
  mlir::Value all(mlir::Value p, mlir::Value q);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, const shape::Expr &x, const shape::Expr &y);
  /// The axes that the operand's indices have and the result's have not.
  llvm::SmallVector<mlir::Attribute> removedAxes(llvm::ArrayRef<Dims> operands, const Dims &result);
  mlir::Value accumulate(kernel::Combiner kind, mlir::Value v, llvm::ArrayRef<mlir::Attribute> axes);

  Domain &domain;
  mlir::OpBuilder &b;
  llvm::function_ref<bool(mlir::Value)> inMemory;
  llvm::function_ref<mlir::Value(mlir::Value)> refOf;
  std::map<std::tuple<const void *, const void *, std::string>, mlir::Value> memo;
  std::map<std::string, mlir::Value> indirects; ///< what indirect indices stand for, in the whole body
  shape::Facts facts;
  kernel::ConditionReader reader;
  mlir::Operation *wrongPlace = nullptr;
  unsigned guarded = 0;
};

} // namespace lathe::fuse

#endif // LATHE_LIB_FUSE_BODYBUILDER_H
