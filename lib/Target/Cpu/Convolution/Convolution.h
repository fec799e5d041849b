//===- Convolution.h - Sums of products with a packed filter ---------------===//
//
// A convolution whose image and result have their channels last is a product of rows, one per pixel of the result, with a
// matrix of filters that was packed into panels of columns. Where the rows lie in memory at one distance (a single place
// per window, stride 1, nothing computed) they are read as they are; elsewhere a block of them is packed into scratch: places
// outside of the image become zeros there, and what the kernel computes before the product is computed there, with channels
// in the lanes. A block serves all panels, a panel all tiles of a block.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_CONVOLUTION_H
#define LATHE_TARGET_CPU_CONVOLUTION_H

#include "../Contraction/Contraction.h"

namespace lathe::cpu {

struct ConvolutionShape {
  ContractionShape product; ///< the rows as the first operand, the filter as the packed second one
  mlir::Value image;        ///< the value that the filter is multiplied with
  int64_t depth = 0, columns = 0;
  llvm::ArrayRef<int64_t> spans; ///< of the panels (FilterSpans.h); empty where they are whole
  bool inPairs = false; ///< the filter's panels are pairs of bf16, [depth / 2][panelColumns][2]
  bool direct = false; ///< rows are read as they lie
  bool pixelsTogether = false; ///< of what the image is made of, or a few elements apart
  bool pointsTogether = false; ///< neighbours along the innermost summed axis lie side by side

  /// Of the panels' elements in memory; pairs are words.
  mlir::Type panelType() const { return inPairs ? mlir::Type(product.accumulator) : product.rhsType; }
  /// Words of a step of the matrix unit, where it may multiply such pairs: steps go up in a line of the window.
  std::optional<int64_t> unitStep() const;
  /// Nothing for a kernel without a packed filter.
  static std::optional<ConvolutionShape> of(const lower::BodyInfo &info);
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CONVOLUTION_H
