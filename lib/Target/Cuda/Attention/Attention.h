//===- Attention.h - Attentions on a GPU -----------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ATTENTION_H
#define LATHE_LIB_TARGET_CUDA_ATTENTION_H

#include "../Generator.h"
#include "../Contraction/ProductEpilogue.h"
#include "lathe/Lower/AttentionRoles.h"
#include "lathe/Schedule/AttentionTiles.h"
#include "lathe/Lower/ContractionRoles.h"

namespace lathe::cuda {

/// An attention with element ops and stores after it.
struct AttentionProblem {
  kernel::AttentionOp op;
  lower::AttentionRoles roles;
  unsigned query; ///< its axis
  std::vector<unsigned> batchAxes; ///< outermost first
  std::vector<kernel::StoreOp> stores;
  EpilogueShape epilogue() const {
    return {{query}, {roles.value}, kernel::AttentionOp(op).getResult(), stores};
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

/// The kernel's cases, or what templates say.
struct AttentionWays {
  struct Way {
    schedule::Predicate when;
    schedule::AttentionAttr asked;
    bool isSingle() const { return asked.getQueries() == 1; }
  };
  std::vector<Way> ways;
  explicit AttentionWays(const Generator &g);
  /// What is asked of tiles; the last case that is for any.
  schedule::AttentionAttr tile() const;
  /// Where a block is to take a single query (i1 of the plan); null: nowhere.
  Value single(PlanFunction &plan) const;
  /// Lists the ways that were followed: of tiles of so many queries, and of single ones where there is such an entry point.
  void tell(Generator &g, unsigned queries, llvm::StringRef tiles, llvm::StringRef single) const;
};

/// Adds an entry point for few queries to an attention's module, which the plan calls where the ways say so, and a kernel's layout
/// allows it. The other entry points and the plan's words have been written. Gives the entry point's name; empty: there is none.
llvm::Expected<llvm::StringRef> addFewQueriesEntry(Generator &g, const AttentionProblem &p, const AttentionWays &ways, unsigned numMaps);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ATTENTION_H
