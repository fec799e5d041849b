//===- Attention.h - Attentions on a GPU -----------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ATTENTION_H
#define LATHE_LIB_TARGET_CUDA_ATTENTION_H

#include "ContractShape.h"
#include "Generator.h"
#include "ProductEpilogue.h"

namespace lathe::cuda {

/// An attention with element ops and stores after it.
struct AttentionProblem {
  kernel::AttentionOp op;
  AttentionShape shape;
  std::vector<kernel::StoreOp> stores;
  shape::Expr batch, queries, keys, depth, values;
  EpilogueShape epilogue() const {
    return {{shape.query}, {shape.value}, kernel::AttentionOp(op).getResult(), stores};
  }
};
std::optional<AttentionProblem> attentionProblem(const lower::BodyInfo &info);

/// The modified score (f32) at a point whose query and key are bound.
Value modifiedScore(lower::BodyEmitter point, DeviceBuilder &d, kernel::AttentionOp op, Value raw);

/// What weighted values are multiplied by: one over their weights' sum, or 0 where all keys are masked and the op wants zeros.
Value inverseOf(Value total, DeviceBuilder &d, kernel::AttentionOp op);

/// Scores are powers of two on a GPU, not of e.
constexpr double log2E = 1.4426950408889634;

/// Each says false when it does not take the kernel, having emitted nothing.
llvm::Expected<bool> generateSimtAttention(Generator &g);
llvm::Expected<bool> generateHopperAttention(Generator &g);

/// Adds an entry point for up to `mostQueries` queries to an attention's module, chosen by the plan where a kernel's layout
/// allows it. The other entry points and the plan's words have been written.
llvm::Error addFewQueriesEntry(Generator &g, const AttentionProblem &p, int64_t mostQueries, unsigned numMaps);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ATTENTION_H
