//===- CountedLoop.h - Loops over a known number of steps -------------------===//
#ifndef LATHE_DIALECT_LATHE_COUNTEDLOOP_H
#define LATHE_DIALECT_LATHE_COUNTEDLOOP_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include <functional>

namespace lathe::ir {

struct CountedLoop {
  std::string name; ///< of its counter, unique in the model
  shape::Expr steps;
  llvm::SmallVector<mlir::Value> carried;  ///< keep their types
  llvm::SmallVector<mlir::Value> captured; ///< what the body reads from outside; constants stay constants in it
  /// Where there is one, the loop goes on only while it holds: before the first step this, then the body's first result, before the others.
  mlir::Value condition;
  /// The body's results: the next carried values, then what each step adds to the collected results. `captured` are the
  /// values that it has inside.
  std::function<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<mlir::Value> carried,
                                               llvm::ArrayRef<mlir::Value> captured, const shape::Expr &step)>
      body;
};

/// Builds the loop; its results: the last carried values, then the collected ones along a new first dimension.
llvm::SmallVector<mlir::Value> buildLoop(GraphBuilder &g, const CountedLoop &loop);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_COUNTEDLOOP_H
