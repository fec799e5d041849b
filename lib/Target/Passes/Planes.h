//===- Planes.h - Images inside flat offsets -------------------------------===//
//
// A tensor [images][channels][pixels..] is read and written at flat offsets. Here such an offset is taken apart again: the
// image, the channel and the pixel that it addresses, with a proof that the parts are what they seem.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_PASSES_PLANES_H
#define LATHE_LIB_TARGET_PASSES_PLANES_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"

namespace lathe::target {

/// The sizes of a tensor of images.
struct Planes {
  shape::Expr images, channels;
  ir::Dims spatial; ///< one size or more

  shape::Expr pixels() const { return shape::product(spatial); }
  /// Nothing for a tensor of fewer than three dimensions, or with planes of one pixel.
  static std::optional<Planes> of(mlir::RankedTensorType type);
};

/// Where an access goes: offset = (image * channels + channel) * pixels + pixel.
struct Place {
  shape::Expr image, channel, pixel;
};

/// The place that a load or store (of a buffer with these planes) addresses: nothing without a proof that channel and pixel
/// lie inside, at every point of the axes at which the access's predicate holds.
std::optional<Place> placeOf(mlir::Operation *access, const Planes &planes, const shape::Facts &facts);

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_PLANES_H
