//===- ChannelsLast.cpp - Images with their channels side by side ----------===//
//
// Models keep images as [image][channel][pixel]. With the channels last, a convolution reads its operand as it lies (a row per
// pixel, against packed filters), a depthwise one and a pool have channels in the lanes whatever their strides and borders,
// and no image is too small for the lanes. Only what is between kernels is rearranged: the offsets in its writer and its
// readers change, nothing is copied. See docs/Rationale/Convolution.md.
//
//===----------------------------------------------------------------------===//

#include "ImageCopies.h"
#include "Planes.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/Float8.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace lathe::target {
#define GEN_PASS_DEF_CHANNELSLAST
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

namespace {

/// Products per element beside which a read in another order does not count.
constexpr int64_t manyProducts = 64;
/// A filter of at most this many products per element may read an image with its channels first: the rows that are packed for
/// it are short, and gathering them costs little beside the products.
constexpr int64_t shortFilter = 256;

/// An access to a buffer and the place that it addresses.
struct Access {
  Operation *op;
  Place place;
};

/// The accesses of one kernel to buffers that may change.
struct KernelAccesses {
  std::unique_ptr<BodyInfo> info;
  std::optional<Filter> filter;
  llvm::MapVector<Value, SmallVector<Access>> of;
};

class Layouts {
public:
  /// Images are copied in front of convolutions where `copies` has made it so.
  Layouts(func::FuncOp func, const shape::Facts &facts, const ImageCopies &copies, bool fetches, bool halves, bool bytes)
      : func(func), facts(facts), copies(copies), fetches(fetches), halves(halves), bytes(bytes) {}
  void run();
  bool isLast(Value buffer) const { return last.count(buffer); }

private:
  void collect();
  bool collectAccesses(kernel::GenericOp kernel, unsigned argument, Value buffer, const Planes &planes);
  bool agreesWithProducts(Value buffer) const;
  bool accepts(kernel::GenericOp kernel, KernelAccesses &accesses);
  bool acceptsDense(kernel::GenericOp kernel, KernelAccesses &accesses);
  bool acceptsGrouped(KernelAccesses &accesses);
  bool suitsBytes(const KernelAccesses &accesses) const;
  bool sharesLane(KernelAccesses &accesses);
  AxisSet pixelAxes(const KernelAccesses &accesses) const;
  bool isMoved(const KernelAccesses &accesses, Operation *op) const;
  bool gains(const KernelAccesses &accesses) const;
  void rewrite(kernel::GenericOp kernel, KernelAccesses &accesses);

  func::FuncOp func;
  const shape::Facts &facts;
  const ImageCopies &copies;
  bool fetches; ///< windows fetch channels in pieces, for however few filters
  bool halves, bytes;
  llvm::MapVector<Value, Planes> last; ///< buffers that get their channels last
  llvm::MapVector<Operation *, KernelAccesses> kernels;
};

} // namespace

static Value refOf(Operation *op) {
  if (auto load = dyn_cast<kernel::LoadOp>(op))
    return load.getRef();
  if (auto store = dyn_cast<kernel::StoreOp>(op))
    return store.getRef();
  return {};
}

/// False when an access is not understood; the buffer then stays as it is.
bool Layouts::collectAccesses(kernel::GenericOp kernel, unsigned argument, Value buffer, const Planes &planes) {
  KernelAccesses &mine = kernels[kernel];
  shape::Facts here = kernel::factsIn(kernel, facts);
  for (Operation *user : kernel.getBody().getArgument(argument).getUsers()) {
    if (user->getParentOp() != kernel || user->hasAttr("guarded"))
      return false;
    std::optional<Place> place = placeOf(user, planes, here);
    if (!place)
      return false;
    mine.of[buffer].push_back({user, *place});
  }
  return true;
}

/// The axes of a constant factor, which a convolution or another product takes for channels; all where it does not say.
static AxisSet channelsOfProduct(const BodyInfo &info, const std::optional<Filter> &filter) {
  if (filter)
    return filter->columns | filter->shared | filter->reduced;
  kernel::GenericOp kernel = info.kernel;
  for (Operation *op : info.ops)
    if (auto product = dyn_cast<kernel::ContractOp>(op))
      for (auto [factor, offset] : {std::pair(product.getLhs(), product.getLhsExpr()), std::pair(product.getRhs(), product.getRhsExpr())}) {
        unsigned number = cast<BlockArgument>(factor).getArgNumber();
        if (number < kernel.getInputs().size() && kernel.getInputs()[number].getDefiningOp<ir::ConstantOp>())
          return info.axesOf(offset);
      }
  return ~AxisSet(0);
}

/// Whether products take for channels what the places say: an image that has its channels last already looks like planes of its lines.
bool Layouts::agreesWithProducts(Value buffer) const {
  return llvm::all_of(kernels, [&](auto &entry) {
    auto list = entry.second.of.find(buffer);
    AxisSet channels = channelsOfProduct(*entry.second.info, entry.second.filter);
    return list == entry.second.of.end() ||
           llvm::all_of(list->second, [&](const Access &a) { return (entry.second.info->axesOf(a.place.channel) & channels) != 0; });
  });
}

/// Candidates: results of kernels that kernels alone read.
void Layouts::collect() {
  for (auto kernel : func.getOps<kernel::GenericOp>()) {
    KernelAccesses &mine = kernels[kernel];
    mine.info = std::make_unique<BodyInfo>(kernel);
    mine.filter = Filter::of(*mine.info, halves, bytes);
  }
  for (auto kernel : func.getOps<kernel::GenericOp>())
    for (auto [i, result] : llvm::enumerate(kernel.getOutputs())) {
      auto type = cast<RankedTensorType>(result.getType());
      std::optional<Planes> planes = Planes::of(type);
      if (!planes || !isImageElement(type.getElementType(), halves, bytes))
        continue;
      bool understood = collectAccesses(kernel, kernel.getInputs().size() + i, result, *planes);
      for (OpOperand &use : result.getUses()) {
        auto reader = dyn_cast<kernel::GenericOp>(use.getOwner());
        understood = understood && reader && collectAccesses(reader, use.getOperandNumber(), result, *planes);
      }
      if (understood && agreesWithProducts(result))
        last[result] = *planes;
    }
}

/// The one axis that steps through the channels of every access to a rearranged buffer, if there is one that fills lanes.
static std::optional<unsigned> channelAxis(const BodyInfo &info, const Expr &channel) {
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (std::optional<Expr::Linear> l = channel.linearIn(info.axes[a]); l && l->coefficient.isOne()) {
      std::optional<int64_t> extent = info.extents[a].constant();
      if (!extent || *extent >= fewestChannels)
        return a;
    }
  return std::nullopt;
}

/// The axes that step through the pixels of buffers that may change.
AxisSet Layouts::pixelAxes(const KernelAccesses &mine) const {
  AxisSet pixels = 0;
  for (auto &[buffer, list] : mine.of)
    for (const Access &a : list)
      if (isLast(buffer))
        pixels |= mine.info->axesOf(a.place.pixel);
  return pixels;
}

/// Is it an access to a buffer that gets its channels last?
bool Layouts::isMoved(const KernelAccesses &mine, Operation *op) const {
  return llvm::any_of(mine.of, [&](auto &entry) {
    return isLast(entry.first) && llvm::any_of(entry.second, [&](const Access &a) { return a.op == op; });
  });
}

/// A convolution reads or writes something that moves; or an image that came with its channels side by side, or leaves so, is computed with, and what lies
/// between would be read and written in another order.
bool Layouts::gains(const KernelAccesses &mine) const {
  if (llvm::none_of(mine.of, [&](auto &e) { return isLast(e.first); }))
    return false;
  const BodyInfo &info = *mine.info;
  AxisSet pixels = pixelAxes(mine);
  std::optional<unsigned> lane;
  for (auto &[buffer, list] : mine.of)
    for (const Access &a : list)
      lane = isLast(buffer) ? channelAxis(info, a.place.channel) : lane;
  return mine.filter || (lane && llvm::any_of(info.ops, [&](Operation *op) {
    std::optional<Expr::Linear> linear = refOf(op) ? info.exprOf(op).linearIn(info.axes[*lane]) : std::nullopt;
    return linear && linear->coefficient.isOne() && (info.domainOf(op) & pixels) && !isMoved(mine, op);
  }));
}

/// Whether the reduction needs the order of planes: one along the channels alone is of a row that then lies side by side.
static bool needsPlanes(const BodyInfo &info, kernel::ReduceOp reduce, unsigned lane) {
  AxisSet reduced = info.axesOf(reduce.getAxes());
  return reduced >> lane & 1 && reduced != AxisSet(1) << lane;
}

/// Loops, reductions, depthwise convolutions, what follows a product: one axis has the channels of all images, and no image of the same
/// size stays behind with another order.
bool Layouts::sharesLane(KernelAccesses &mine) {
  const BodyInfo &info = *mine.info;
  std::optional<unsigned> lane;
  AxisSet pixels = pixelAxes(mine);
  for (auto &[buffer, list] : mine.of)
    for (const Access &a : list) {
      if (!isLast(buffer))
        continue;
      std::optional<unsigned> axis = channelAxis(info, a.place.channel);
      if (!axis || (lane && lane != axis))
        return false;
      lane = axis;
    }
  if (!lane)
    return true;
  for (Operation *op : info.ops) {
    if (auto reduce = dyn_cast<kernel::ReduceOp>(op); reduce && needsPlanes(info, reduce, *lane))
      return false;
    if (!isa<kernel::LoadOp, kernel::StoreOp>(op) || (mine.filter && op == mine.filter->load))
      continue;
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[*lane]);
    bool steps = !linear || !(linear->coefficient.isZero() || linear->coefficient.isOne());
    if (!isMoved(mine, op) && steps && (info.domainOf(op) & pixels))
      return false;
  }
  return true;
}

/// Convolutions: the result and whatever the epilogue reads of its size have one order; with the channels last, the image has
/// them last, too, unless few products go into an element. Where many do, what the epilogue reads may have another order: one
/// strided read is little beside them.
bool Layouts::acceptsDense(kernel::GenericOp kernel, KernelAccesses &mine) {
  const BodyInfo &info = *mine.info;
  const Filter &filter = *mine.filter;
  std::optional<int64_t> columns = 1, depth = 1;
  for (unsigned a = 0; a < info.axes.size(); ++a) {
    std::optional<int64_t> extent = info.extents[a].constant();
    for (auto [set, count] : {std::pair(filter.columns, &columns), std::pair(filter.reduced, &depth)})
      if (set >> a & 1)
        *count = *count && extent ? std::optional(**count * *extent) : std::nullopt;
  }
  bool imageLast = false, imageFirst = false, resultLast = false, resultFirst = false;
  AxisSet pixels = pixelAxes(mine);
  for (Operation *op : info.ops) {
    Value ref = refOf(op);
    if (!ref || op == filter.load || !(info.domainOf(op) & filter.rows) || llvm::popcount(info.domainOf(op)) < 2)
      continue;
    if (pixels && !(info.domainOf(op) & pixels)) // a number for each channel of an image has no order of pixels and channels
      continue;
    unsigned number = cast<BlockArgument>(ref).getArgNumber();
    Value buffer = number < kernel.getInputs().size() ? kernel.getInputs()[number]
                                                      : Value(kernel.getOutputs()[number - kernel.getInputs().size()]);
    bool isImage = isa<kernel::LoadOp>(op) && (info.domainOf(op) & filter.reduced);
    bool channels = isImage || (info.domainOf(op) & filter.columns);
    if (isa<kernel::LoadOp>(op) && !isImage && depth && *depth >= manyProducts && !isLast(buffer))
      continue;
    if (channels)
      (isLast(buffer) ? (isImage ? imageLast : resultLast) : (isImage ? imageFirst : resultFirst)) = true;
  }
  if (!imageLast && !resultLast)
    return true;
  if ((imageLast && imageFirst) || (resultLast && resultFirst) || !columns || (*columns < fewestChannels && !fetches))
    return false;
  return !resultLast || imageLast || (depth && *depth <= shortFilter) || readsLines(info, filter);
}

/// Groups of channels: what is made of them lies in one order, and so do results with what the epilogue reads of their size.
/// The image is packed from either order.
bool Layouts::acceptsGrouped(KernelAccesses &mine) {
  const BodyInfo &info = *mine.info;
  const Filter &filter = *mine.filter;
  AxisSet channels = filter.shared | filter.columns;
  std::optional<bool> image, result;
  for (Operation *op : info.ops) {
    if (!isa<kernel::LoadOp, kernel::StoreOp>(op) || op == filter.load || !(info.domainOf(op) & filter.rows))
      continue;
    if (!(info.domainOf(op) & channels))
      continue;
    bool moved = isMoved(mine, op);
    std::optional<bool> &mineIs = info.domainOf(op) & filter.reduced ? image : result;
    if (mineIs && *mineIs != moved)
      return false;
    mineIs = moved;
  }
  return true;
}

/// Products of bytes read their rows as they lie, or copy them; where more than that is done to them, it is done with places in the lanes.
/// A convolution of floats reads bytes with places in the lanes, too.
bool Layouts::suitsBytes(const KernelAccesses &mine) const {
  if (mine.filter && mine.filter->ofBytes()) {
    Value codes = lower::codesOf(mine.filter->image); // conversions of floats of 8 bits are the product's
    llvm::DenseSet<Operation *> image = lower::opsBelow(codes ? codes : mine.filter->image);
    bool moved = llvm::any_of(mine.of, [&](auto &entry) {
      return isLast(entry.first) && llvm::any_of(entry.second, [&](const Access &a) { return image.contains(a.op); });
    });
    bool computed = llvm::any_of(image, [](Operation *op) { return op->getNumResults() == 1 && isa<FloatType>(op->getResult(0).getType()); });
    return mine.filter->isDense() && !(moved && computed);
  }
  return !mine.filter || llvm::none_of(mine.of, [&](auto &entry) { return isLast(entry.first) && !isImageElement(ir::elementOf(entry.first), halves); });
}

bool Layouts::accepts(kernel::GenericOp kernel, KernelAccesses &mine) {
  if (copies.contains(kernel)) // is there to change the order
    return true;
  if (llvm::none_of(mine.of, [&](auto &entry) { return isLast(entry.first); }))
    return true;
  using kernel::KernelClass;
  if (!llvm::is_contained({KernelClass::Loop, KernelClass::Reduction, KernelClass::Contraction}, kernel.getKernelClass()))
    return false;
  if (!suitsBytes(mine))
    return false;
  if (mine.filter && mine.filter->isDense())
    return acceptsDense(kernel, mine);
  if (mine.filter && !mine.filter->isDepthwise())
    return acceptsGrouped(mine);
  return sharesLane(mine);
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Channels go behind pixels, among the axes of the result and among those that are summed over.
static void reorderAxes(kernel::GenericOp kernel, const BodyInfo &info, AxisSet channels) {
  AxisSet reduced = 0;
  for (Operation *op : info.ops) {
    if (auto r = dyn_cast<kernel::ReduceOp>(op))
      reduced |= info.axesOf(r.getAxes());
    if (auto product = dyn_cast<kernel::ContractOp>(op))
      reduced |= info.axesOf(product.getAxes());
  }
  SmallVector<unsigned> order;
  for (bool inside : {false, true})
    for (bool channel : {false, true})
      for (unsigned a = 0; a < info.axes.size(); ++a)
        if (bool(reduced >> a & 1) == inside && bool(channels >> a & 1) == channel)
          order.push_back(a);
  orderAxes(kernel, order);
}

void Layouts::rewrite(kernel::GenericOp kernel, KernelAccesses &mine) {
  AxisSet channels = 0;
  for (auto &[buffer, list] : mine.of) {
    auto it = last.find(buffer);
    if (it == last.end())
      continue;
    const Planes &p = it->second;
    for (const Access &a : list) {
      Expr offset = (a.place.image * p.pixels() + a.place.pixel) * p.channels + a.place.channel;
      auto text = StringAttr::get(kernel.getContext(), offset.str());
      if (auto load = dyn_cast<kernel::LoadOp>(a.op))
        load.setOffsetAttr(text);
      else
        cast<kernel::StoreOp>(a.op).setOffsetAttr(text);
      channels |= mine.info->axesOf(a.place.channel);
    }
  }
  if (mine.filter && (channels & mine.filter->shared)) // a group's results stay together, also where they lie last already and only the image has moved
    channels |= mine.filter->shared | mine.filter->columns;
  if (channels)
    reorderAxes(kernel, *mine.info, channels);
}

void Layouts::run() {
  collect();
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, mine] : kernels) {
      if (accepts(cast<kernel::GenericOp>(op), mine))
        continue;
      for (auto &[buffer, list] : mine.of)
        changed |= last.erase(buffer) != 0;
    }
  }
  if (llvm::none_of(kernels, [&](auto &entry) { return gains(entry.second); }))
    return last.clear(); // no reason to move anything
  for (auto &[op, mine] : kernels)
    rewrite(cast<kernel::GenericOp>(op), mine);
  for (auto &[buffer, planes] : last) {
    ir::Dims dims{planes.images};
    dims.append(planes.spatial.begin(), planes.spatial.end());
    dims.push_back(planes.channels);
    Value v = buffer;
    v.setType(ir::tensorType(dims, ir::elementOf(v)));
  }
}

namespace {
struct ChannelsLastPass : target::impl::ChannelsLastBase<ChannelsLastPass> {
  using ChannelsLastBase::ChannelsLastBase;
  void runOnOperation() override {
    shape::Facts facts = ir::factsOf(getOperation());
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      ImageCopies made;
      if (copies)
        made.insert(f, halves, bytes);
      Layouts layouts(f, facts, made, copies, halves, bytes);
      layouts.run();
      made.removeIdle([&](Value v) { return layouts.isLast(v); });
    }
  }
};
} // namespace
