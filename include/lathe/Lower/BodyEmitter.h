//===- BodyEmitter.h - Emits a kernel's scalar DAG at a point --------------===//
//
// The part of code generation that all kernel classes and all targets share: a value of a kernel's body, computed at one
// point of the iteration domain or at a vector of points along one axis (the lane axis).
//
// An emitter is a point: bound axes plus values already computed there. It is cheap to copy; a loop body works on a copy,
// binds its axis and emits. Values that the outer point holds stay valid in the copy, because they do not depend on the
// axes bound later.
//
//     BodyEmitter row(info, builder, loc, sizes, refs, hooks);
//     row.bindAxis("n", n);
//     ... loop over d, builder inside ...
//     BodyEmitter point = row;
//     point.bindLane("d", d, 16);
//     point.emitStore(store);
//
// Reductions, contractions, attentions and the score inside an attention are bound by whoever computes them (bindValue).
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_BODYEMITTER_H
#define LATHE_LOWER_BODYEMITTER_H

#include "lathe/Lower/BodyInfo.h"
#include "lathe/Lower/EmitExpr.h"
#include "lathe/Lower/EmitHooks.h"
#include <memory>

namespace lathe::lower {

class BodyEmitter {
public:
  /// `sizes`: i64 values in the order of GenericOp::getSizeSymbols(); `refs`: an !llvm.ptr per block argument of the body.
  /// The builder, the info and the hooks must outlive the emitter and its copies.
  BodyEmitter(const BodyInfo &info, mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange sizes,
              mlir::ValueRange refs, EmitHooks &hooks);

  void bindAxis(llvm::StringRef axis, mlir::Value index);
  /// The axis takes base + 0 .. base + width - 1. Where the mask (vector of i1; i1 for width 1) is false nothing is read or
  /// written. With width 1 values are scalars.
  void bindLane(llvm::StringRef axis, mlir::Value base, unsigned width, mlir::Value mask = {});
  /// The mask has the first `left` lanes (i64, also negative, or more than there are). Stores ask for it, and leave the mask out where all are there:
  /// for machines on which a masked store takes longer than that, also of nothing.
  void setLanesLeft(mlir::Value left) { lanesLeft = left; }
  /// The value (of the body) is this one from here on: a scalar, or a vector of lanes where it varies along the lane axis.
  /// Of a condition that is bound to a constant, selections compute the chosen side alone.
  void bindValue(mlir::Value bodyValue, mlir::Value emitted);
  mlir::Value boundValue(mlir::Value bodyValue) const { return values.lookup(bodyValue); }
  /// Takes over what the point outside of this one has computed since this one was copied from it.
  void adopt(const BodyEmitter &outer);

  unsigned laneWidth() const { return width; }
  mlir::Value laneMask() const { return mask; }
  mlir::Value axisValue(llvm::StringRef axis) const;
  /// True when the value changes along the lane axis: emit() gives a vector then (if the width is more than 1).
  bool variesInLanes(mlir::Value bodyValue) const;

  /// The value at this point: a scalar when it is the same in all lanes, else a vector.
  mlir::Value emit(mlir::Value bodyValue);
  /// The same, splat to all lanes when it is uniform.
  mlir::Value emitLanes(mlir::Value bodyValue);
  void emitStore(kernel::StoreOp store);
  /// Stores `value` where `store` would store its own (a caller that computed it otherwise).
  void emitStoreOf(kernel::StoreOp store, mlir::Value value);
  /// An expression over axes and sizes at this point: i64, or a vector of i64 where it varies along the lane axis.
  /// `indices`: the values of its indirect symbols.
  mlir::Value emitExpr(const shape::Expr &e, mlir::ValueRange indices = {});
  mlir::Value splat(mlir::Value scalar);
  /// Where a load without computed indices reads at this point, which has no lane axis.
  mlir::Value addressOf(kernel::LoadOp load) { return addressOf(load, load.getRef(), {}).pointer; }
  /// Where a store without computed indices begins to write at this point.
  mlir::Value addressOf(kernel::StoreOp store) { return addressOf(store, store.getRef(), {}).pointer; }

  /// The first thing that could not be emitted, empty when all went well. Emission goes on with zeros after an error, so
  /// that the caller asks once, at the end.
  const std::string &error() const { return context->error; }

private:
  struct Context {
    const BodyInfo &info;
    mlir::OpBuilder &b;
    mlir::Location loc;
    llvm::SmallVector<mlir::Value> sizes, refs;
    EmitHooks &hooks;
    std::string error;
  };
  struct Address {
    mlir::Value pointer, offsets; // offsets: null for a contiguous or uniform access
    bool vector;                  // one element per lane moves
    int64_t stride = 0;           // of the offsets, where it is a constant
  };

  mlir::Value fail(llvm::Twine message, mlir::Type type);
  void emitOp(mlir::Operation *op);
  mlir::Value decided(mlir::Operation *op) const;
  llvm::SmallVector<mlir::Value> valuesOf(mlir::ValueRange bodyValues) const;
  mlir::Value emitLoad(kernel::LoadOp op);
  mlir::Value emitLoadAt(kernel::LoadOp op, mlir::Type memoryType, mlir::Value fill, mlir::Value mask);
  mlir::Value emitGather(kernel::LoadOp op, mlir::Type memoryType, mlir::Value fill, mlir::Value mask);
  bool mayLieNear(kernel::LoadOp op) const;
  mlir::Value emitNear(const Access &access, mlir::Value offsets, mlir::Value fill);
  mlir::Value emitRun(kernel::LoadOp op, bool rises, mlir::Type memoryType, mlir::Value fill, mlir::Value mask);
  mlir::Value emitRepeated(kernel::LoadOp op, int64_t repeats, mlir::Type memoryType, mlir::Value fill, mlir::Value mask);
  mlir::Value pointerAt(kernel::LoadOp op, mlir::Type memoryType, mlir::Value lane);
  mlir::Value emitPeriod(int64_t period, mlir::Type memoryType, llvm::function_ref<mlir::Value()> known, llvm::function_ref<mlir::Value()> gathered);
  mlir::Value emitAlternating(kernel::LoadOp op, mlir::Type memoryType, mlir::Value fill, mlir::Value mask);
  mlir::Value emitEither(mlir::Value condition, mlir::Type type, llvm::function_ref<mlir::Value()> then, llvm::function_ref<mlir::Value()> otherwise);
  mlir::Value offsetAt(mlir::Operation *op, mlir::ValueRange indices, mlir::Value lane);
  mlir::Value emitScalarOp(mlir::Operation *op);
  mlir::Value emitIndexCompare(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  bool agreesInLanes(mlir::arith::CmpIOp compare) const;
  mlir::Value emitDivision(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands, mlir::Type type);
  Address addressOf(mlir::Operation *op, mlir::Value ref, mlir::ValueRange indices);
  std::pair<shape::Expr, shape::Expr> splitByLanes(const shape::Expr &e, mlir::ValueRange indices) const;
  mlir::Value exprWith(const shape::Expr &e, mlir::ValueRange indices);
  void storeLeft(const Access &access, mlir::Value value);
  mlir::Value andMask(mlir::Value predicate);
  bool isPiece(mlir::Value loaded) const;
  struct Conditions {
    mlir::Value shared, own; ///< the same in all lanes; the others
    mlir::Value far;         ///< of the shared ones those that leave out whole planes
  };
  Conditions conditionsOf(kernel::LoadOp op);
  mlir::Type laneType(mlir::Type element) const;
  mlir::Value laneSteps();

  std::shared_ptr<Context> context;
  llvm::SmallVector<mlir::Value> axisValues; // by axis index; null when not bound; the lane axis: its first point
  int laneAxis = -1;
  unsigned width = 1;
  mlir::Value mask;
  mlir::Value lanesLeft; ///< of the mask; null: it is not asked for
  mlir::Value laneIndices; // set while an expression is emitted as a vector of i64
  mlir::Value inPlace;     // set while a load is emitted that reads from the array's beginning where this does not hold
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

} // namespace lathe::lower

#endif // LATHE_LOWER_BODYEMITTER_H
