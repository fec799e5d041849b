//===- Reduce.h - The smallest model that still fails ----------------------===//
#ifndef LATHE_TEST_FUZZ_REDUCE_H
#define LATHE_TEST_FUZZ_REDUCE_H

#include "Check.h"

namespace lathe::fuzz {

struct Case {
  Model model;
  Tensors inputs;
};

/// Whether a case still shows what the first one did.
using StillFails = llvm::function_ref<bool(const Case &)>;

/// Drops results, nodes and elements for as long as the case still fails, with at most so many tries.
Case reduceCase(Case start, bool open, unsigned tries, StillFails fails, mlir::MLIRContext &context);

/// All that a node reads, in its subgraphs too.
void collectUses(const onnx::NodeProto &node, std::set<std::string> &used);

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_REDUCE_H
