//===- Filters.cpp - Sums of products with a constant filter ---------------===//

#include "Filters.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/Float8.h"
#include "lathe/Lower/SlidingWindow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using shape::Expr;

bool target::isImageElement(Type t, bool halves, bool bytes) {
  return t.isF32() || (halves && (t.isF16() || t.isBF16())) || (bytes && (t.isInteger(8) || t.isInteger(32) || ir::isFloat8(t)));
}

/// True for a plain load of a constant that nobody else in the kernel reads.
static bool isFilter(kernel::LoadOp load, kernel::GenericOp kernel) {
  if (!load || load.getPredicate() || !load.getIndices().empty() || !load.getRef().hasOneUse())
    return false;
  return kernel.isConstant(cast<BlockArgument>(load.getRef()));
}

static Value withoutExtension(Value v, bool halves) {
  auto ext = halves ? v.getDefiningOp<arith::ExtFOp>() : arith::ExtFOp();
  return ext ? ext.getIn() : v;
}

/// The bytes that a factor is made of: integers beside a sum of integers, codes of floats beside one of floats.
static Value bytesOf(Value factor, Type sum) {
  Operation *op = factor.getDefiningOp();
  if (sum.isInteger(32))
    return isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) ? op->getOperand(0) : Value();
  return lower::codesOf(factor);
}

/// The product that is summed.
static Operation *productOf(kernel::ReduceOp sum, bool halves, bool bytes) {
  if (sum && bytes && sum.getType().isInteger(32))
    return sum.getValue().getDefiningOp<arith::MulIOp>();
  return sum && sum.getType().isF32() ? withoutExtension(sum.getValue(), halves).getDefiningOp<arith::MulFOp>() : nullptr;
}

/// The load that a factor is, of a type that filters have beside such a sum.
static kernel::LoadOp loadOf(Value factor, Type sum, bool halves, bool ofBytes) {
  Value bytes = ofBytes ? bytesOf(factor, sum) : Value(), narrow = bytes ? bytes : sum.isInteger(32) ? Value() : withoutExtension(factor, halves);
  auto load = narrow ? narrow.getDefiningOp<kernel::LoadOp>() : kernel::LoadOp();
  return load && (bytes ? load.getType().isInteger(8) : isImageElement(load.getType(), halves)) ? load : kernel::LoadOp();
}

std::optional<Filter> Filter::of(const lower::BodyInfo &info, bool halves, bool bytes) {
  Filter f;
  f.sum = lower::onlySum(info);
  Operation *mul = productOf(f.sum, halves, bytes);
  if (!mul)
    return std::nullopt;
  f.reduced = info.axesOf(f.sum.getAxes());
  AxisSet all = lower::allAxes(info);
  for (unsigned side = 0; side < 2; ++side) {
    kernel::LoadOp load = loadOf(mul->getOperand(side), f.sum.getType(), halves, bytes);
    if (!isFilter(load, info.kernel))
      continue;
    f.load = load;
    f.image = mul->getOperand(1 - side);
    AxisSet filter = info.axesOf(load.getResult()), image = info.axesOf(f.image);
    f.columns = filter & ~image & ~f.reduced;
    f.shared = filter & image & ~f.reduced;
    f.rows = image & ~filter & ~f.reduced;
    // An axis of the epilogue alone would compute the sum again at each of its points.
    if (f.rows && (filter & image & f.reduced) == f.reduced && (filter | image) == all)
      return f;
  }
  return std::nullopt;
}

bool target::readsLines(const lower::BodyInfo &info, const Filter &filter) {
  if (filter.ofBytes() || !filter.rows)
    return false;
  unsigned pixels = llvm::Log2_64(filter.rows);
  std::optional<lower::LineOfWindow> line = lower::LineOfWindow::of(info, filter.image, pixels, filter.reduced);
  return line && line->step > 1;
}

Value target::sourceOf(kernel::GenericOp kernel, const Filter &filter) {
  kernel::LoadOp load = filter.load;
  return kernel.getInputs()[cast<BlockArgument>(load.getRef()).getArgNumber()];
}

std::optional<Expr> target::stepAlong(const lower::BodyInfo &info, Operation *op, unsigned axis) {
  std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
  return linear ? std::optional(linear->coefficient) : std::nullopt;
}

std::optional<ir::ConstantTensor> target::elementsBy(const lower::BodyInfo &info, const Filter &filter, ArrayRef<unsigned> axes) {
  auto constant = sourceOf(info.kernel, filter).getDefiningOp<ir::ConstantOp>();
  std::optional<ir::ConstantTensor> from = constant ? ir::readConstant(constant.getValue()) : std::nullopt;
  SmallVector<int64_t> extents, strides;
  for (unsigned a : axes) {
    std::optional<Expr> step = stepAlong(info, filter.load, a);
    std::optional<int64_t> extent = info.extents[a].constant(), stride = step ? step->constant() : std::nullopt;
    if (!extent || !stride)
      return std::nullopt;
    extents.push_back(*extent);
    strides.push_back(*stride);
  }
  SmallVector<int64_t> ordered = ir::stridesOf(extents);
  if (!from || ordered.front() * extents.front() != from->size())
    return std::nullopt;
  ir::ConstantTensor to(from->type);
  for (int64_t i = 0; i < to.size(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < axes.size(); ++d)
      at += i / ordered[d] % extents[d] * strides[d];
    to.copyFrom(*from, at, i);
  }
  return to;
}

void target::orderAxes(kernel::GenericOp kernel, ArrayRef<unsigned> order) {
  SmallVector<Attribute> names, extents;
  for (unsigned a : order) {
    names.push_back(kernel.getAxisNames()[a]);
    extents.push_back(kernel.getAxisExtents()[a]);
  }
  kernel.setAxisNamesAttr(ArrayAttr::get(kernel.getContext(), names));
  kernel.setAxisExtentsAttr(ArrayAttr::get(kernel.getContext(), extents));
}

void target::loadNarrow(kernel::LoadOp load, Type element) {
  OpBuilder b(load);
  if (load.getFill())
    load.getFillMutable().assign(b.createOrFold<arith::TruncFOp>(load.getLoc(), element, load.getFill()));
  b.setInsertionPointAfter(load);
  auto wide = b.create<arith::ExtFOp>(load.getLoc(), load.getType(), load.getResult());
  load.getResult().replaceAllUsesExcept(wide.getResult(), wide);
  load.getResult().setType(element);
}

/// Is the op a read of what the image is made of?
static bool readsImage(const lower::BodyInfo &info, const Filter &f, Operation *op) {
  return isa<kernel::LoadOp>(op) && op != kernel::LoadOp(f.load) && (info.domainOf(op) & f.reduced);
}

std::optional<unsigned> target::channelOfGroups(const lower::BodyInfo &info, const Filter &f) {
  unsigned group = llvm::countr_zero(f.shared);
  auto step = [&](Operation *op, unsigned axis) { return stepAlong(info, op, axis).value_or(Expr(0)); };
  for (unsigned a : lower::axesIn(info, f.reduced)) {
    bool any = false, all = true;
    for (Operation *op : info.ops) {
      bool reads = readsImage(info, f, op);
      any |= reads;
      all &= !reads || step(op, group) == step(op, a) * info.extents[a];
    }
    if (any && all)
      return a;
  }
  return std::nullopt;
}

/// Has the operand that is loaded so many elements in its last dimension?
static bool endsWith(kernel::GenericOp kernel, kernel::LoadOp load, const Expr &extent) {
  unsigned number = cast<BlockArgument>(load.getRef()).getArgNumber();
  auto type = number < kernel.getInputs().size() ? dyn_cast<RankedTensorType>(kernel.getInputs()[number].getType()) : RankedTensorType();
  return type && type.getRank() && extent.constant() == std::optional(type.getShape().back());
}

/// Are neighbours along an axis channels of one pixel, in all that the image is made of: side by side, and pixels so many elements apart? Windows that step over
/// themselves have taps that lie so, too, but no other ones that lie so many elements apart, and no image that is as wide.
static bool areChannels(const lower::BodyInfo &info, const Filter &f, unsigned axis) {
  bool any = false;
  for (Operation *op : info.ops) {
    if (!readsImage(info, f, op))
      continue;
    bool known = endsWith(info.kernel, cast<kernel::LoadOp>(op), info.extents[axis]), reads = false;
    for (unsigned a : lower::axesIn(info, f.reduced | f.rows)) {
      std::optional<Expr> step = stepAlong(info, op, a);
      if (!step)
        return false;
      known |= a != axis && (f.reduced >> a & 1) && *step == info.extents[axis];
      if (!(step->isZero() || (a == axis ? step->isOne() : info.extents[a].isOne() || Expr::divideExactly(*step, info.extents[axis]))))
        return false;
      reads |= a == axis && step->isOne();
    }
    if (reads && !known)
      return false;
    any |= reads;
  }
  return any;
}

std::optional<unsigned> target::channelsSideBySide(const lower::BodyInfo &info, const Filter &filter) {
  for (unsigned a : lower::axesIn(info, filter.reduced))
    if (info.extents[a].constant().value_or(0) > 1 && areChannels(info, filter, a))
      return a;
  return std::nullopt;
}
