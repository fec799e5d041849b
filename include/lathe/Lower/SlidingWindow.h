//===- SlidingWindow.h - Images that a window slides over -------------------===//
//
// Along an axis of its results a convolution of stride 1 reads its image at sums: of the place and the tap. Neighbouring places read
// the same elements then, and whoever knows that may read, or transform, each of them once.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_SLIDINGWINDOW_H
#define LATHE_LOWER_SLIDINGWINDOW_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::lower {

/// The axis of a window's taps, of so many, that slides along `place`: all that the image is made of depends on the two axes through
/// their sum. Nothing where none of the reduced axes does.
std::optional<unsigned> tapsAlong(const BodyInfo &info, mlir::Value image, unsigned place, AxisSet reduced, int64_t taps);

/// How many steps of the second axis one of the first is, in all loads and indices of a slice that mention one of the two. Nothing where that differs, or is
/// no whole number.
std::optional<int64_t> stepsOf(const BodyInfo &info, const llvm::DenseSet<mlir::Operation *> &ops, const std::string &first, const std::string &second);

/// Taps that lie side by side in an image, along which `place` goes `step` elements at a time: all that the image is made of depends on the two axes
/// through step * place + tap. Blocks of neighbouring places share what they read of an image's lines.
struct LineOfWindow {
  unsigned taps;
  int64_t step, tapsInLine;
  shape::Expr places = shape::Expr(0); ///< of a block: all of a line, or an equal part of one whose length is known
  int64_t lines = 1;                   ///< of the image that each of them reads: points of the other summed axes
  shape::Expr length() const { return (places - shape::Expr(1)) * shape::Expr(step) + shape::Expr(tapsInLine); }

  /// Nothing where no taps lie so, or a block's lines are more than a part of a second-level cache as far as their length is known.
  static std::optional<LineOfWindow> of(const BodyInfo &info, mlir::Value image, unsigned place, AxisSet reduced);

private:
  bool chooseBlock(const BodyInfo &info, unsigned place, AxisSet reduced);
};

/// Do neighbours along the axis lie side by side in all that the image is made of?
bool liesTogether(const BodyInfo &info, mlir::Value image, unsigned axis);

/// The last two axes of the rows (of images: the lines and the pixels of a line), and the taps that slide along them.
struct SlidingWindow {
  struct Dim {
    unsigned place;
    std::optional<unsigned> taps;
  };
  llvm::SmallVector<Dim, 2> dims;   ///< the innermost last; one where there is but one axis of rows
  std::vector<unsigned> outer;      ///< other axes of the rows, outermost first
  std::vector<unsigned> depth;      ///< other axes that are summed over, that with the most points last

  /// Nothing where no window of so many taps slides, or an extent that is summed over is open.
  static std::optional<SlidingWindow> of(const BodyInfo &info, mlir::Value image, AxisSet rows, AxisSet reduced, int64_t taps);
  /// The same for tiles of `results` (along the lines and within one; 1: the taps along it are among what is summed over). Nothing where
  /// no window slides along a dimension that has more.
  std::optional<SlidingWindow> inTiles(const BodyInfo &info, llvm::ArrayRef<int64_t> results) const;
  int64_t depthOf(const BodyInfo &info) const;
};

} // namespace lathe::lower

#endif // LATHE_LOWER_SLIDINGWINDOW_H
