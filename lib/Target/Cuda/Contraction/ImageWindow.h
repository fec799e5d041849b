//===- ImageWindow.h - Images that windows are read from --------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_IMAGEWINDOW_H
#define LATHE_LIB_TARGET_CUDA_IMAGEWINDOW_H

#include "Gemm.h"

namespace lathe::cuda {

/// The operand of a convolution as the bulk copies' im2col form fetches it (PTX ISA, "Im2col mode"): an image [image][pixels..][channel]
/// whose channels come in pieces of 128 bytes, the last one filled up with zeros. A line of the operand is a place of the window, its depth the window's
/// taps and the channels. Elements outside of the image are 0.
struct ImageWindow {
  struct Dimension {
    shape::Expr size;  ///< of the image
    shape::Expr lines; ///< places of the window along it
    int64_t stride = 1, dilation = 1;
    int64_t lower = 0;           ///< where the first place's first tap reads
    int64_t upper = 0;           ///< one behind where the last place's first tap reads, seen from the end of the image
    std::optional<unsigned> tap; ///< place of its axis among those of the depth
  };
  std::vector<Dimension> spatial; ///< innermost first
  shape::Expr images, pieces; ///< pieces: of a pixel's channels
  int64_t channels = 0, piece = 0; ///< piece: channels of each but the last
  bool isWhole() const { return channels % piece == 0; }
};

/// The operand as such an image of two dimensions, its lines along `lineAxes`; nothing where it is none, or where that depends on open sizes.
std::optional<ImageWindow> imageWindow(const GemmProblem &p, const ProductOperand &o, llvm::ArrayRef<unsigned> lineAxes);

/// Where a copy begins: channel, pixel (innermost first) and image, and the taps' distances from there.
struct WindowPlace {
  Values coordinates, offsets;
};
/// The place of a line and of a step of the depth, all i32. Where `inside` is false the copy lies behind the last image, whatever
/// the step: it brings zeros.
WindowPlace placeOf(KernelFrame &frame, const GemmProblem &p, const ImageWindow &w, Value line, Value step, Value inside);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_IMAGEWINDOW_H
