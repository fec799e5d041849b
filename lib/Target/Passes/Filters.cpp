//===- Filters.cpp - Sums of products with a constant filter ---------------===//

#include "Filters.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;

bool target::isImageElement(Type t, bool halves) { return t.isF32() || (halves && (t.isF16() || t.isBF16())); }

/// True for a plain load of a constant that nobody else in the kernel reads.
static bool isFilter(kernel::LoadOp load, kernel::GenericOp kernel, bool halves) {
  if (!load || load.getPredicate() || !load.getIndices().empty() || !isImageElement(load.getType(), halves) ||
      !load.getRef().hasOneUse())
    return false;
  return kernel.isConstant(cast<BlockArgument>(load.getRef()));
}

static Value withoutExtension(Value v, bool halves) {
  auto ext = halves ? v.getDefiningOp<arith::ExtFOp>() : arith::ExtFOp();
  return ext ? ext.getIn() : v;
}

std::optional<Filter> Filter::of(const lower::BodyInfo &info, bool halves) {
  Filter f;
  f.sum = lower::onlySum(info);
  auto mul = f.sum && f.sum.getType().isF32() ? withoutExtension(f.sum.getValue(), halves).getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!mul)
    return std::nullopt;
  f.reduced = info.axesOf(f.sum.getAxes());
  AxisSet all = lower::allAxes(info);
  for (unsigned side = 0; side < 2; ++side) {
    auto load = withoutExtension(mul->getOperand(side), halves).getDefiningOp<kernel::LoadOp>();
    if (!isFilter(load, info.kernel, halves))
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
