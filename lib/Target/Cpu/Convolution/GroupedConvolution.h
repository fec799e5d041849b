//===- GroupedConvolution.h - Convolutions of groups of channels -----------===//
//
// Each group of channels is a convolution of its own; a depthwise one has a channel in each. An item is a block of the result:
// some rows of pixels of a block of channels, which are one group or, where groups are narrow, as many as 16 channels hold.
// What the block reads of the image is packed into scratch first as [row][pixel][channel], with zeros around the image and
// whatever is computed before the product computed once; so neither borders nor the order of the image are a matter of the
// inner loops. These keep the sums of some neighbouring pixels in registers, with channels in the lanes: of one group, one
// element of the image is spread over all lanes; of several, each group's element over its own.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_GROUPEDCONVOLUTION_H
#define LATHE_TARGET_CPU_GROUPEDCONVOLUTION_H

#include "../AxisGroup.h"
#include "../KernelEmitters.h"

namespace lathe::cpu {

/// One dimension of the result, with the places of the window along it: the image is read at stride * pixel + dilation * tap.
struct PatchDim {
  unsigned pixels;             ///< axis
  std::optional<unsigned> tap; ///< axis; without one there is a single place
  int64_t stride = 1, dilation = 1, taps = 1;
  int64_t block = 1; ///< pixels of an item at most

  /// How the places that a block reads lie in the patch.
  enum class Form { EachPixel, EachPlace, Apart };
  Form form() const;
  int64_t pixelStep() const { return form() == Form::EachPlace ? stride : 1; }
  int64_t tapStep() const;
  /// Places of the patch at most.
  int64_t places() const { return (block - 1) * pixelStep() + (taps - 1) * tapStep() + 1; }
};

struct GroupedShape {
  kernel::LoadOp filter;
  mlir::Value image, result;
  AxisGroup inChannels, outChannels;
  int64_t inPerGroup = 1, outPerGroup = 1, groups = 1;
  int64_t blockColumns = 1;      ///< of a panel of the packed filter
  std::vector<unsigned> outer;   ///< axes of items alone
  std::vector<PatchDim> dims;    ///< the last one has neighbouring pixels
  std::vector<unsigned> reduced; ///< in the order of the packed filter
  bool channelsTogether = false; ///< in the image
  bool resultTogether = false;   ///< channels of the results
  llvm::SmallVector<kernel::StoreOp> stores;

  int64_t groupsPerBlock() const { return std::max<int64_t>(blockColumns / outPerGroup, 1); }
  int64_t blocks() const { return (groups + groupsPerBlock() - 1) / groupsPerBlock(); }
  /// Channels of the image that a block reads.
  int64_t blockInputs() const { return groupsPerBlock() * inPerGroup; }
  /// Nothing for a kernel without a filter that is packed by groups.
  static std::optional<GroupedShape> of(const lower::BodyInfo &info);

private:
  bool findOrders(const lower::BodyInfo &info);
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_GROUPEDCONVOLUTION_H
