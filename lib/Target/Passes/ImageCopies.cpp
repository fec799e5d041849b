//===- ImageCopies.cpp - Images rearranged in front of a convolution -------===//
//
// On a GPU a convolution fetches its image in pieces of 16 bytes where channels lie side by side, and gathers single elements
// where pixels do, again for each place of its window and each tile of filters. A copy in the other order costs two trips
// through memory, once.
//
//===----------------------------------------------------------------------===//

#include "ImageCopies.h"
#include "CopyKernel.h"
#include "Planes.h"
#include "lathe/Dialect/Kernel/Precision.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::BodyInfo;
using shape::Expr;

/// Reads of an element from which on a copy costs less than gathering: a copy is a read and a write by whole sectors.
constexpr int64_t manyReads = 3;
/// Of a piece of 16 bytes: an image of fewer channels, or of a number between, is gathered in either order. (Pieces of f32 are as those of halves.)
static int64_t channelsOfPiece(Type element) { return element.getIntOrFloatBitWidth() == 8 ? 16 : 8; }

/// The summed places of the window: all but the channels, over which the filter's rows run.
static int64_t placesOf(const BodyInfo &info, const Filter &filter, const Planes &planes) {
  int64_t products = 1;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (filter.reduced >> a & 1)
      products *= info.extents[a].constant().value_or(1);
  return products / planes.channels.constant().value_or(products + 1);
}

/// The operand of the kernel that is an image in the order of models and that its window reads many times.
static std::optional<unsigned> imageToCopy(kernel::GenericOp kernel, bool halves, bool bytes) {
  BodyInfo info(kernel);
  std::optional<Filter> filter = Filter::of(info, halves, bytes);
  if (!filter || !filter->isDense() || channelsSideBySide(info, *filter))
    return std::nullopt;
  for (Operation *op : info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (!load || load == filter->load || (info.domainOf(op) & filter->reduced) != filter->reduced || !(info.domainOf(op) & filter->rows))
      continue;
    unsigned operand = cast<BlockArgument>(load.getRef()).getArgNumber();
    Value image = kernel.getInputs()[operand];
    auto type = cast<RankedTensorType>(image.getType());
    std::optional<Planes> planes = Planes::of(type);
    if (!planes || !isImageElement(type.getElementType(), halves, bytes) || image.getDefiningOp<ir::ConstantOp>())
      continue;
    int64_t channels = planes->channels.constant().value_or(0);
    // Tensor cores turn no pixels that lie side by side where these are f32.
    bool manyPlaces = placesOf(info, *filter, *planes) >= manyReads || kernel::multipliesAsTf32(kernel);
    if (channels >= fewestChannels && channels % channelsOfPiece(type.getElementType()) == 0 && manyPlaces)
      return operand;
  }
  return std::nullopt;
}

void ImageCopies::insert(func::FuncOp func, bool halves, bool bytes) {
  llvm::DenseMap<Value, Value> known;
  SmallVector<kernel::GenericOp> kernels(func.getOps<kernel::GenericOp>());
  for (kernel::GenericOp kernel : kernels) {
    std::optional<unsigned> operand = imageToCopy(kernel, halves, bytes);
    if (!operand)
      continue;
    Value image = kernel.getInputs()[*operand], &copy = known[image];
    if (!copy) {
      Planes planes = *Planes::of(cast<RankedTensorType>(image.getType()));
      copy = copyOf(image, "channels_last", ir::elementOf(image), {planes.images, planes.channels, planes.pixels()});
      copies.insert(copy.getDefiningOp());
    }
    kernel.getInputsMutable()[*operand].set(copy);
  }
}

void ImageCopies::removeIdle(llvm::function_ref<bool(Value)> isLast) {
  for (Operation *op : copies) {
    auto copy = cast<kernel::GenericOp>(op);
    Value image = copy.getInputs()[0], result = copy.getOutputs()[0];
    if (isLast(image) != isLast(result))
      continue;
    result.replaceAllUsesWith(image);
    copy->erase();
  }
}
