//===- LaneRuns.h - Offsets that mostly go from lane to lane by one ---------===//
//
// A tensor that is repeated is read at mod(i, n), one that may be repeated at min(i, n - 1), an image that is enlarged at floordiv(i, 2). From
// one index to the next such offsets move by one or not at all, but where a period ends. So the first and the last lane of a vector say
// whether its elements lie side by side, or are one element. Images of which a larger one is made, an element of each in turn, are read at
// floordiv(i, 2) + n*mod(i, 2).
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_LANERUNS_H
#define LATHE_LOWER_LANERUNS_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::lower {

enum class LaneRun {
  None,
  Rising,   ///< by one or not at all
  Sawtooth, ///< or back
  Alternating, ///< in turn among places, in each of which it moves by one or not at all (alternatesAlong)
};

/// How the access's offset moves along the axis, where it is no sum of axes.
LaneRun laneRun(const BodyInfo &info, mlir::Operation *access, unsigned axis);

/// How many places of the axis in turn the expression is the same at, where it is a sum of floordiv(axis, that many) and what does not move along the
/// axis; 1 where it moves by one each place.
std::optional<int64_t> repeatsAlong(const shape::Expr &e, llvm::StringRef axis);

/// floordiv(axis, places) + apart * mod(axis, places), or the last product alone, beside what does not move along the axis.
struct Alternation {
  int64_t places; ///< a power of two
  bool moves;     ///< by one each round
};
std::optional<Alternation> alternatesAlong(const shape::Expr &e, llvm::StringRef axis);

} // namespace lathe::lower

#endif // LATHE_LOWER_LANERUNS_H
