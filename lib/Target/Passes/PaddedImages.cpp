//===- PaddedImages.cpp - Images of few channels, filled up ------------------===//
//
// The first convolution of a model reads three channels. Taken from an image as models keep it, its products' operands are single elements at
// addresses that each take more instructions than the products. With the channels side by side and filled up to eight, a place of the window is one
// piece of 16 bytes with one predicate, which a copy brings past the registers; the products with zeros are cheap beside that.
//
//===----------------------------------------------------------------------===//

#include "PaddedImages.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

/// Reads of an element from which on the copy costs less than gathering, channels of a piece of 16 bytes, and the fewest that are filled up.
constexpr int64_t manyReads = 4, pieceOfHalves = 8, fewestFilled = 3;

static std::optional<int64_t> extentOf(const BodyInfo &info, AxisSet axes) {
  std::optional<int64_t> all = 1;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (axes >> a & 1)
      all = all && info.extents[a].constant() ? std::optional(*all * *info.extents[a].constant()) : std::nullopt;
  return all;
}

std::optional<PaddedImage> PaddedImage::of(kernel::GenericOp kernel, const BodyInfo &info, const shape::Facts &facts) {
  std::optional<Filter> filter = Filter::of(info, /*halves=*/true);
  if (!filter || !filter->isDense() || extentOf(info, filter->columns).value_or(0) < fewestChannels)
    return std::nullopt;
  Value factor = filter->image;
  if (auto ext = factor.getDefiningOp<arith::ExtFOp>())
    factor = ext.getIn();
  auto load = factor.getDefiningOp<kernel::LoadOp>();
  if (!load || !load.getRef().hasOneUse() || load.getType().getIntOrFloatBitWidth() != 16)
    return std::nullopt;
  auto type = cast<RankedTensorType>(kernel.getInputs()[cast<BlockArgument>(load.getRef()).getArgNumber()].getType());
  std::optional<Planes> planes = Planes::of(type);
  int64_t channels = planes ? planes->channels.constant().value_or(0) : 0;
  if (channels < fewestFilled || channels % pieceOfHalves == 0)
    return std::nullopt;
  std::optional<Place> place = placeOf(load, *planes, facts);
  std::optional<unsigned> channel = place ? info.axisIndex(place->channel.str()) : std::nullopt;
  std::optional<int64_t> products = extentOf(info, filter->reduced);
  if (!channel || !(filter->reduced >> *channel & 1) || info.extents[*channel] != Expr(channels) || !products ||
      *products / channels < manyReads)
    return std::nullopt;
  return PaddedImage{kernel, *filter, load, *planes, *place, *channel, channels, int64_t(llvm::alignTo(channels, pieceOfHalves))};
}

Value PaddedImage::copy() const {
  Value image = kernel::GenericOp(kernel).getInputs()[cast<BlockArgument>(kernel::LoadOp(load).getRef()).getArgNumber()];
  OpBuilder b(image.getContext());
  b.setInsertionPointAfterValue(image);
  Location loc = image.getLoc();
  Type element = ir::elementOf(image);
  Expr pixels = planes.pixels(), i = Expr::symbol("i"), p = Expr::symbol("p"), c = Expr::symbol("c");
  OperationState state(loc, kernel::GenericOp::getOperationName(), image,
                       ir::tensorType({planes.images * pixels, Expr(padded)}, element));
  state.addAttribute("kernelClass", kernel::KernelClassAttr::get(b.getContext(), kernel::KernelClass::Loop));
  state.addAttribute("name", b.getStringAttr("channels_filled"));
  state.addAttribute("axisNames", b.getStrArrayAttr({"i", "p", "c"}));
  std::string extents[] = {planes.images.str(), pixels.str(), Expr(padded).str()};
  state.addAttribute("axisExtents", b.getStrArrayAttr({extents[0], extents[1], extents[2]}));
  Block &body = state.addRegion()->emplaceBlock();
  Value in = body.addArgument(kernel::RefType::get(b.getContext(), element), loc);
  Value out = body.addArgument(kernel::RefType::get(b.getContext(), element), loc);
  OpBuilder inside(b.getContext()); // the region is not attached yet: its context cannot be asked for
  inside.setInsertionPointToEnd(&body);
  auto text = [&](const Expr &e) { return inside.getStringAttr(e.str()); };
  Value number = inside.create<kernel::IndexOp>(loc, inside.getI64Type(), text(c), ValueRange{});
  Value count = inside.create<arith::ConstantOp>(loc, inside.getI64IntegerAttr(channels));
  Value isThere = inside.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, number, count);
  Value zero = inside.create<arith::ConstantOp>(loc, inside.getFloatAttr(element, 0));
  Value x = inside.create<kernel::LoadOp>(loc, element, in, text((i * Expr(channels) + c) * pixels + p), ValueRange{}, isThere, zero);
  inside.create<kernel::StoreOp>(loc, x, out, text((i * pixels + p) * Expr(padded) + c), ValueRange{}, Value());
  return b.create(state)->getResult(0);
}

namespace {
/// An axis of the filter: elements, of which the first `known` are in the constant, `from` apart, and where they go.
struct FilterAxis {
  unsigned axis;
  int64_t extent, known, from, to;
};
} // namespace

/// Columns outside, then taps, then the channel; nothing where a step is not constant.
static std::optional<SmallVector<FilterAxis>> filterAxes(const PaddedImage &p, const BodyInfo &info) {
  SmallVector<FilterAxis> out;
  for (AxisSet axes : {p.filter.columns, p.filter.reduced & ~(AxisSet(1) << p.channel), AxisSet(1) << p.channel})
    for (unsigned a = 0; a < info.axes.size(); ++a) {
      if (!(axes >> a & 1))
        continue;
      std::optional<Expr::Linear> linear = info.exprOf(p.filter.load).linearIn(info.axes[a]);
      std::optional<int64_t> step = linear ? linear->coefficient.constant() : std::nullopt;
      if (!step)
        return std::nullopt;
      int64_t extent = *info.extents[a].constant();
      out.push_back({a, a == p.channel ? p.padded : extent, extent, *step, 0});
    }
  int64_t to = 1;
  for (FilterAxis &f : llvm::reverse(out)) {
    f.to = to;
    to *= f.extent;
  }
  return out;
}

/// The elements of the axes from the first on, whose outer ones begin at these places.
static void copyFilter(ArrayRef<FilterAxis> axes, const ir::ConstantTensor &from, int64_t source, ir::ConstantTensor &to, int64_t place) {
  if (axes.empty())
    return to.copyFrom(from, source, place);
  for (int64_t i = 0; i < axes.front().known; ++i)
    copyFilter(axes.drop_front(), from, source + i * axes.front().from, to, place + i * axes.front().to);
}

bool PaddedImage::read(Value copy, const BodyInfo &info) const {
  kernel::GenericOp k = kernel;
  unsigned filterNumber = cast<BlockArgument>(kernel::LoadOp(filter.load).getRef()).getArgNumber();
  auto constant = k.getInputs()[filterNumber].getDefiningOp<ir::ConstantOp>();
  std::optional<ir::ConstantTensor> from = constant ? ir::readConstant(constant.getValue()) : std::nullopt;
  std::optional<SmallVector<FilterAxis>> axes = filterAxes(*this, info);
  int64_t known = 1, all = 1;
  Expr offset(0), place(0);
  for (const FilterAxis &f : axes ? *axes : SmallVector<FilterAxis>()) {
    known *= f.known;
    all *= f.extent;
    offset = offset + Expr(f.from) * Expr::symbol(info.axes[f.axis]);
    place = place + Expr(f.to) * Expr::symbol(info.axes[f.axis]);
  }
  if (!from || !axes || known != from->size() || offset != info.exprOf(filter.load))
    return false;
  ir::ConstantTensor to(RankedTensorType::get({all / padded, padded}, from->type.getElementType()));
  copyFilter(*axes, *from, 0, to, 0);
  OpBuilder b(k);
  Value filled = b.create<ir::ConstantOp>(constant.getLoc(), to.type, ir::writeConstant(to, "filter"));
  k.getInputsMutable()[filterNumber].set(filled);
  k.getInputsMutable()[cast<BlockArgument>(kernel::LoadOp(load).getRef()).getArgNumber()].set(copy);
  Expr at = (this->place.image * planes.pixels() + this->place.pixel) * Expr(padded) + this->place.channel;
  kernel::LoadOp(load).setOffsetAttr(b.getStringAttr(at.str()));
  kernel::LoadOp(filter.load).setOffsetAttr(b.getStringAttr(place.str()));
  // The channel is the innermost axis of the sum.
  SmallVector<Attribute> names(k.getAxisNames().begin(), k.getAxisNames().end()), extents(k.getAxisExtents().begin(), k.getAxisExtents().end());
  names.push_back(names[channel]);
  extents.push_back(b.getStringAttr(Expr(padded).str()));
  names.erase(names.begin() + channel);
  extents.erase(extents.begin() + channel);
  k.setAxisNamesAttr(b.getArrayAttr(names));
  k.setAxisExtentsAttr(b.getArrayAttr(extents));
  return true;
}
