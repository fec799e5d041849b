//===- Forest.h - Decision trees as tables ---------------------------------===//
//
// All trees are walked at once, for all rows: the state is a node per row and tree, and a step reads that node's row of the
// tables. Leaves follow the inner nodes and lead to themselves, so that every tree takes as many steps as the deepest one.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_FOREST_H
#define LATHE_LIB_IMPORT_ONNX_OPS_FOREST_H

#include "Node.h"

namespace lathe::onnx {

struct Forest {
  enum Mode : int64_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member, ModeCount };
  enum class Aggregate { Average, Sum, Min, Max };

  int64_t inner = 0, leaves = 0, targets = 1;
  llvm::SmallVector<int64_t> roots;           ///< inner nodes, or inner + a leaf
  llvm::SmallVector<int64_t> yes, no;         ///< of inner nodes and leaves: where a step leads
  llvm::SmallVector<int64_t> features, modes; ///< of inner nodes
  llvm::SmallVector<int64_t> missing;         ///< of inner nodes: NaN goes the true way
  llvm::SmallVector<int64_t> setOf;           ///< of inner nodes: the row of `sets` of a Member
  Value splits;                               ///< [inner]
  Value sets;                                 ///< rows of members that NaN fills; null where no node is a Member
  Value weights;                              ///< [leaves, targets], zeros where a leaf has none
  Value named;                                ///< [leaves, targets], whether it has one

  /// What the trees say of each row of x, whose type they are computed in: [rows, targets].
  Value run(Node &n, Value x, Aggregate aggregate) const;

private:
  int64_t depth() const;
  Value step(Node &n, Value x, Value node) const;
  Value total(Node &n, Value leaf, Type type, Aggregate aggregate) const;
};

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_FOREST_H
