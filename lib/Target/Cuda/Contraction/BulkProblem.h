//===- BulkProblem.h - Products whose operands bulk copies can fetch --------===//
#ifndef LATHE_LIB_TARGET_CUDA_BULKPROBLEM_H
#define LATHE_LIB_TARGET_CUDA_BULKPROBLEM_H

#include "CodedProblem.h"
#include "ImageWindow.h"

namespace lathe::cuda {

/// How an operand lies in memory, for the bulk copies.
struct OperandMap {
  MapSpec spec;
  std::vector<unsigned> batchAxes; ///< places among the batch axes; one dimension of the map each, from the third on
  bool byColumns = false;          ///< lines lie side by side: [k][m] or [k][n]
  /// They do in the operand, and depths in the copy that is fetched. Its lines may be read in pieces where the flag says so.
  bool isTurned = false, inPieces = false;
  std::optional<ImageWindow> window = {}; ///< lines are places of a window in an image
  /// What sizes must be for bulk copies to fetch it as it lies; nothing: they never can.
  std::optional<lower::Divisibility> needs = {};
};

/// A product whose operands bulk copies can fetch, as they lie or from a copy with other strides (AlignedCopies.h).
struct BulkProblem {
  GemmProblem p; ///< columns that do not lie in one run became batch axes
  OperandMap a, b;
  const CodedProblem *codes = nullptr; ///< of which a launch in front makes the right operand, in the scratch memory
};
/// Without copies wherever that is possible for some sizes.
std::optional<BulkProblem> bulkProblem(const GemmProblem &p);
/// Where bulk copies can fetch the left operand of a product with codes, whatever the sizes are.
std::optional<BulkProblem> bulkProblem(const lower::BodyInfo &info, const CodedProblem &codes);
/// Steps through the depth of so many elements each: of a window whose channels end within a piece, the pieces of every tap.
shape::Expr stepsOf(const GemmProblem &p, const OperandMap &a, const OperandMap &b, int64_t depth);
/// Where a step begins in the depth of an operand that is no window. What it has there of the next tap is multiplied by the zeros behind the channels.
Value depthAt(DeviceBuilder &d, const OperandMap &a, const OperandMap &b, Value step, int64_t depth);
/// Lines that one copy brings of an operand that has `extent` of them. Lines past the end are brought as zeros, which takes longer than
/// lines from memory; where the operand ends within the first tile nobody asks for them, and nobody stores what comes of whatever is there.
Value linesOfCopy(DeviceBuilder &d, const OperandMap &map, Value tileLines, Value extent);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_BULKPROBLEM_H
