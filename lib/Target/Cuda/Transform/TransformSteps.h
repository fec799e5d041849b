//===- TransformSteps.h - How a block transforms its rows ------------------===//
//
// A transform is a sequence of steps. In each a thread has units: it takes a few complex numbers from the block's shared memory
// (in the first step from the kernel's operands), computes as many, and puts them back (in the last step to the results).
// All that is decided here is numbers, known when the kernel is compiled.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_TRANSFORMSTEPS_H
#define LATHE_LIB_TARGET_CUDA_TRANSFORMSTEPS_H

#include "lathe/Dialect/Kernel/Transform.h"
#include "lathe/Schedule/Machine.h"
#include <optional>

namespace lathe::cuda {

/// Fold: the frequencies of an even number of real ones, from those of half as many complex numbers. Unfold: the other way round. A unit
/// has a frequency and its mirror image.
enum class StepKind { Copy, Butterfly, Fold, Unfold };

struct TransformStep {
  StepKind kind;
  int64_t units;      ///< of one row
  int64_t radix = 1;  ///< numbers that a unit computes
  int64_t found = 1;  ///< frequencies that the steps before it told apart
  bool across = false; ///< neighbouring threads take neighbouring rows, not neighbouring units of one
  bool operator==(const TransformStep &) const = default;
};

/// What is given.
struct TransformShape {
  kernel::TransformKind kind;
  int64_t length, wanted; ///< of the transform, and frequencies that are stored
  unsigned bytes;         ///< of a real number
  bool loadsAcross, storesAcross;
  std::optional<int64_t> rows; ///< where their number is known
  int64_t complexLength() const { return kernel::complexLength(kind, length); }
  /// Real numbers go in or out two by two.
  bool folds() const { return complexLength() != length; }
};

/// Where numbers lie in shared memory between two steps.
struct SharedLayout {
  int64_t rowStride = 0;
  int64_t gapAfter = 0; ///< a place is left free after so many (a power of two), against conflicts of banks; 0: none
  int64_t placeOf(int64_t row, int64_t position) const {
    return row * rowStride + position + (gapAfter ? position / gapAfter : 0);
  }
};

struct TransformPlan {
  std::vector<TransformStep> steps;
  int64_t length = 1; ///< in complex numbers
  int64_t rows = 1, threads = 32; ///< of a block
  SharedLayout layout;
  unsigned planes = 1; ///< 2: real and imaginary parts lie in shared memory together, else one after the other

  int64_t unitsOf(size_t step) const { return rows * steps[step].units; }
  /// Units of a thread.
  int64_t turnsOf(size_t step) const { return (unitsOf(step) + threads - 1) / threads; }
  /// Numbers of a row between the steps.
  int64_t held() const;
  int64_t places() const { return rows * layout.rowStride; }
  /// Whether all that a warp takes in a step was put there by itself.
  bool staysInWarp(size_t step) const;
  /// Whether all places that a warp writes in a step are places that it has read itself.
  bool overwritesOwn(size_t step) const;
};

/// Factors of the steps, the largest first: as few as there can be, and of those the least in sum.
std::vector<int64_t> radicesOf(int64_t n, int64_t largest);

TransformPlan planTransform(const TransformShape &shape, const schedule::Machine &machine);

/// Where the numbers stand that a unit takes, and those that it makes.
llvm::SmallVector<int64_t> takenBy(const TransformStep &step, int64_t length, int64_t unit);
llvm::SmallVector<int64_t> madeBy(const TransformStep &step, int64_t length, int64_t unit);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_TRANSFORMSTEPS_H
