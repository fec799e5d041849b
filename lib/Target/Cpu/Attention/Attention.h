//===- Attention.h - CPU code for attention kernels ------------------------===//
//
// Scores are computed transposed, keys by queries, with the queries in the lanes: softmax then needs no horizontal step, the
// keys are broadcast as they lie, and only a block of queries is packed. Keys are walked in blocks with a running maximum
// and sum (the scores never reach memory), and the probabilities, already transposed, are broadcast against the values as
// they lie. Key blocks that the score's region masks out for a whole block of queries are skipped.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_ATTENTION_H
#define LATHE_TARGET_CPU_ATTENTION_H

#include "../AxisGroup.h"
#include "../KernelEmitters.h"
#include "lathe/Schedule/AttentionTiles.h"

namespace lathe::cpu {

/// The operands of an attention kernel and what its score region does.
struct AttentionShape {
  mlir::Value qRef, kRef, vRef, result;
  AxisGroup batch;
  shape::Expr q, k, v; ///< offsets
  shape::Expr queries, keys;
  shape::Expr depth, values; ///< elements of a head; may be open
  shape::Expr queryStride, keyStride; ///< of the depth axis
  bool zeroMasked = false; ///< a row without keys gives 0, not NaN
  std::string queryAxis, keyAxis, depthAxis, valueAxis;
  mlir::Type qType, kType, vType;

  mlir::Value score, modified;        ///< the region's argument and what it yields
  std::optional<double> scale;        ///< the region is exactly a multiplication by this
  std::vector<kernel::LoadOp> byKey;  ///< loads that run along the keys at stride 1 and differ between queries
  std::vector<mlir::Value> perQuery;  ///< values of the region that do not depend on the key
  /// Runs of `sharing` points of this batch axis read the same keys and values (grouped queries).
  std::string sharedAxis;
  int64_t sharing = 1;
  /// A key k counts for query q only where lower(q) <= k < upper(q); both do not decrease with q.
  std::vector<shape::Expr> lower, upper;

  static std::optional<AttentionShape> of(const lower::BodyInfo &info);
};

using schedule::AttentionTile;

/// Exponentials are powers of two.
constexpr double log2e = 1.4426950408889634;

/// What lies in the lanes: points first, first + 1, ... of an axis, up to (not including) end. The axis is the query axis or,
/// for one query, the batch axis whose points share keys and values.
struct AttentionLanes {
  std::string axis;
  mlir::Value first, end;
};

/// Offsets into scratch, in f32 elements. What an open head lengthens comes last.
struct AttentionScratch {
  int64_t scores, maximum, total, rescale, masks, packedQ;
  shape::Expr sums, end;
  AttentionScratch(const AttentionShape &shape, const AttentionTile &tile, unsigned lanes);
};

/// Emits one block of queries at the batch point.
void emitAttentionBlock(KernelFunction &f, VectorBuilder &v, const AttentionShape &shape, const AttentionTile &tile,
                        const lower::BodyEmitter &point, const AttentionLanes &lanes);

/// Whether keys' lines are read as they lie and have a known number of vectors, which a single query with keys in the lanes needs.
bool hasAttentionRows(const AttentionShape &shape);

/// Offsets into scratch of a single query, in f32 elements, behind the scores of a block of keys.
struct AttentionRowScratch {
  int64_t query, sums, end;
  AttentionRowScratch(const AttentionShape &shape, int64_t keyBlock, unsigned lanes);
};

/// Emits a single query at the batch point, whose axis the point has bound.
void emitAttentionRow(KernelFunction &f, VectorBuilder &v, const AttentionShape &shape, int64_t keyBlock, const lower::BodyEmitter &point);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_ATTENTION_H
