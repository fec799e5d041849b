//===- Filters.h - Sums of products with a constant filter -----------------===//
#ifndef LATHE_LIB_TARGET_PASSES_FILTERS_H
#define LATHE_LIB_TARGET_PASSES_FILTERS_H

#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Lower/BodyInfo.h"

namespace lathe::target {

/// Fewer channels than this leave too many lanes empty (of 16, the most there are); pixels are put there instead. ChannelsLast
/// and PackFilters go by the same numbers: an order of channels is of use where filters are packed for it.
constexpr int64_t fewestChannels = 12;

/// Products per element beside which transposing squares of results in registers takes little.
constexpr int64_t fewestBesideTransposing = 128;

/// The types of images: f32, and with `halves` those of 16 bits, with `bytes` bytes and their sums.
bool isImageElement(mlir::Type t, bool halves, bool bytes = false);

/// A kernel whose one reduction sums products of a value with an element of a constant: a convolution. Axis sets are of the
/// kernel's BodyInfo.
struct Filter {
  kernel::ReduceOp sum;
  mlir::Value image; ///< the other factor
  kernel::LoadOp load;
  lower::AxisSet reduced = 0;
  lower::AxisSet columns = 0; ///< axes of the filter alone: output channels
  lower::AxisSet shared = 0;  ///< parallel axes of both factors: the channels of a depthwise convolution, groups
  lower::AxisSet rows = 0;    ///< parallel axes of the image alone

  bool isDense() const { return columns && !shared; }
  bool isDepthwise() const { return shared && !columns; }
  bool ofBytes() const { return kernel::LoadOp(load).getResult().getType().isInteger(8); }
  /// With `halves`, factors of 16 bits too, whose products are summed in f32; with `bytes` those of 8: integers, summed in i32, and floats.
  static std::optional<Filter> of(const lower::BodyInfo &info, bool halves = false, bool bytes = false);
};

/// The filter that the kernel reads.
mlir::Value sourceOf(kernel::GenericOp kernel, const Filter &filter);

/// Elements of the op's offset, or steps of its index, from a point of an axis to the next; nothing where these differ.
std::optional<shape::Expr> stepAlong(const lower::BodyInfo &info, mlir::Operation *op, unsigned axis);

/// The elements of a constant filter in the order of these axes, the last fastest. Nothing where it is no constant of known numbers, or has others.
std::optional<ir::ConstantTensor> elementsBy(const lower::BodyInfo &info, const Filter &filter, llvm::ArrayRef<unsigned> axes);

/// The kernel's axes in this order.
void orderAxes(kernel::GenericOp kernel, llvm::ArrayRef<unsigned> order);

/// The load is of elements of a narrower type, which are widened to what it was of.
void loadNarrow(kernel::LoadOp load, mlir::Type element);

/// The summed axis that goes on where the one axis of groups steps, in all that the image is made of; nothing where each group has one channel, or channels
/// do not lie like that.
std::optional<unsigned> channelOfGroups(const lower::BodyInfo &info, const Filter &filter);

/// The summed axis of an image's channels, more than one, where all that the image is made of has these side by side, and pixels so many elements apart: as
/// frameworks have it that keep channels last.
std::optional<unsigned> channelsSideBySide(const lower::BodyInfo &info, const Filter &filter);

/// Whether neighbouring rows are read from lines of the image that they share, and step over pixels, so that a vector of these is made of several.
bool readsLines(const lower::BodyInfo &info, const Filter &filter);

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_FILTERS_H
