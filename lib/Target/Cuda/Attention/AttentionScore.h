//===- AttentionScore.h - What an attention does with its scores -----------===//
#ifndef LATHE_LIB_TARGET_CUDA_ATTENTIONSCORE_H
#define LATHE_LIB_TARGET_CUDA_ATTENTIONSCORE_H

#include "Attention.h"

namespace lathe::cuda {

/// A score region in parts. The largest score is sought before it is multiplied by what does not change the order, so that a weight is a product with a
/// difference that is one operation, and a power of two.
struct ScoreForm {
  Value score;           ///< of the region: its argument, or what is made of it
  Value seen;            ///< where it is not -inf; null: everywhere
  double factor = log2E; ///< positive; the exponent of two is the score times this
  /// The score is no more than the sum of products: differences are rounded once, at the magnitude of what is subtracted, which for a mask that adds
  /// -1e12 would be too much.
  bool isProduct = false;
  explicit ScoreForm(kernel::AttentionOp op);
  /// The last key that a query sees, where what is seen is a comparison of indices, `key <= f(query)`.
  std::optional<shape::Expr> lastKey(const AttentionProblem &p, const lower::BodyInfo &info) const;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ATTENTIONSCORE_H
