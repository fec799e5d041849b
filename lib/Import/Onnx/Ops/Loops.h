//===- Loops.h - Building loops and branches -------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_LOOPS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_LOOPS_H

#include "GraphImporter.h"
#include "lathe/Dialect/Lathe/CountedLoop.h"

namespace lathe::onnx {

struct LoopSpec {
  std::optional<Expr> limit;  ///< none: until the condition fails
  Value condition;            ///< of the first iteration; null: it holds
  std::string suffix;         ///< of its symbols' names, where a node has several loops
  bool conditional = false;   ///< the body's first result is the next condition
  llvm::SmallVector<Value> carried;
  /// The body's results: the condition, the next carried values, the collected ones. Values from outside of it come in
  /// through GraphImporter::bring. Called more than once where the sizes of carried values change.
  std::function<std::vector<Value>(llvm::ArrayRef<Value> carried, const Expr &iteration)> body;
};

/// Builds the loop; its results: the last carried values, then the collected ones along a new first dimension.
llvm::SmallVector<Value> buildLoop(Node &n, const LoopSpec &spec);
/// The same of a composition's loop, whose name is the suffix.
llvm::SmallVector<Value> buildLoop(Node &n, const ir::CountedLoop &loop);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_LOOPS_H
