//===- IntegerProduct.h - Sums of products of bytes ------------------------===//
//
// Matrix products and convolutions of 8-bit integers that sum in 32 bits. Four products side by side are one instruction where
// the processor has it (AVX-VNNI, AVX512-VNNI), elsewhere pairs of 16-bit products that are exact. Both want unsigned rows and
// signed columns, four points of the sum in the bytes of a word ("a quad"): columns are panels [K / 4][32][4], packed when the
// artifact is written or into scratch; rows are packed into scratch, as words [K / 4][row], or, for a convolution, as the image
// itself in words of four channels with its border made, [channel / 4][y][x], where a row of a tile is one word along. Operands
// of the other sign are shifted by 128 while they are packed, and the sums start with what that changes.
// See docs/Rationale/Integers.md.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_INTEGERPRODUCT_H
#define LATHE_TARGET_CPU_INTEGERPRODUCT_H

#include "../Contraction/Contraction.h"
#include "lathe/Schedule/Bytes.h"

namespace lathe::cpu {

/// Points of the sum in one word.
constexpr int64_t quad = 4;

/// One dimension that a window slides over: the image is read at stride * row axis + dilation * tap axis.
struct Slide {
  std::optional<unsigned> row, tap; ///< kernel axes; none where there is a single place
  int64_t stride = 1, dilation = 1;
};

/// The dimensions that the windows of an integer sum slide over, innermost last, where the image (what it is computed from) can be read at row 0 and any
/// tap, or the other way round. `rows`: axes of the image's places; `reduced`: those of the sum.
std::vector<Slide> slidesOf(const lower::BodyInfo &info, kernel::ReduceOp sum, const AxisGroup &rows, lower::AxisSet reduced,
                            const llvm::DenseSet<mlir::Operation *> &image);

struct IntegerShape {
  ContractionShape product;  ///< axes, and what the epilogue reads
  mlir::Value rows;          ///< the bytes of the first factor, a value of the body
  kernel::LoadOp columns;    ///< of the second one
  bool rowsSigned = false, columnsSigned = false;
  std::optional<int64_t> pairs; ///< rows of the list behind a panel of columns (BytePairs.h)
  std::vector<Slide> slides; ///< of a convolution that the image of words serves; innermost last

  bool isConvolution() const { return !slides.empty(); }
  /// The last summed axis: four of its points share a word.
  unsigned channels() const { return product.reduced.axes.back(); }
  /// Words of the sum: each run of channels is filled up to whole ones.
  shape::Expr words() const;
  /// Words of a panel and of the list behind it.
  shape::Expr panelRows() const { return words() + shape::Expr(pairs.value_or(0)); }
  static std::optional<IntegerShape> of(const lower::BodyInfo &info);
  /// With operands as they lie in memory, none shifted: signs are a matter of the matrix unit's instructions.
  IntegerShape unshifted() const {
    IntegerShape s = *this;
    s.rowsSigned = false;
    s.columnsSigned = true;
    return s;
  }
};

/// Whether the kernel's sum is one of products of bytes that the matrix unit multiplies, where a machine has it: of calls with enough rows.
bool mayMultiplyByteTiles(const lower::BodyInfo &info);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_INTEGERPRODUCT_H
