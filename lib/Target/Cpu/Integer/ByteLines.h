//===- ByteLines.h - The roles of axes in a depthwise sum of bytes ---------===//
#ifndef LATHE_TARGET_CPU_BYTELINES_H
#define LATHE_TARGET_CPU_BYTELINES_H

#include "IntegerProduct.h"

namespace lathe::cpu {

/// Bytes that a register's lane of 128 bits has.
constexpr int64_t laneBytes = 16;

/// A sum of products of bytes of an image with those of a window for each channel, that slides over one dimension or two.
struct ByteLines {
  kernel::ReduceOp sum;
  mlir::Value result; ///< of the sum
  mlir::Value image;  ///< a byte of the body
  mlir::Value weight; ///< a byte of the filter
  bool imageSigned = false;
  std::vector<Slide> slides; ///< one or two
  lower::AxisSet outer = 0;  ///< parallel axes that no window slides along

  const Slide &x() const { return slides.back(); }
  const Slide *y() const { return slides.size() > 1 ? &slides.front() : nullptr; }
  /// All axes that windows slide along, and the outer ones.
  lower::AxisSet axes() const;
  static std::optional<ByteLines> of(const lower::BodyInfo &info);

private:
  bool findFactors(const lower::BodyInfo &info);
  bool findSlides(const lower::BodyInfo &info);
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_BYTELINES_H
