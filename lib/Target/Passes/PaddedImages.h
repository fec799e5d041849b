//===- PaddedImages.h - Images of few channels, filled up -------------------===//
#ifndef LATHE_LIB_TARGET_PASSES_PADDEDIMAGES_H
#define LATHE_LIB_TARGET_PASSES_PADDEDIMAGES_H

#include "Filters.h"
#include "Planes.h"

namespace lathe::target {

/// A convolution of halves that reads an image, [image][channel][pixels..], whose channels come to no whole pieces of 16 bytes.
struct PaddedImage {
  kernel::GenericOp kernel;
  Filter filter;
  kernel::LoadOp load; ///< of the image
  Planes planes;
  Place place;
  unsigned channel; ///< the axis
  int64_t channels, padded;

  /// Nothing where the window reads an element too seldom, or zeros would be most of what is multiplied.
  static std::optional<PaddedImage> of(kernel::GenericOp kernel, const lower::BodyInfo &info, const shape::Facts &facts);
  /// The image as a kernel of its own writes it, behind what makes it: [image, pixels..][channel], the channels that were missing 0. Others
  /// with the same `channels` may have it, too.
  mlir::Value copy() const;
  /// The kernel reads that image, and its filter, a constant, [columns..][taps..][channel] with zeros in the same places. False, with nothing
  /// changed, where the filter is not known or not a whole one.
  bool read(mlir::Value copy, const lower::BodyInfo &info) const;
};

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_PADDEDIMAGES_H
