//===- LongRows.cpp - Which reductions are done in parts -------------------===//

#include "LongRows.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using kernel::GenericOp;
using kernel::ReduceOp;
using shape::Expr;
using Names = std::set<std::string>;

/// Rows that are enough for threads, elements of one that are worth a kernel more, that are worth computing them twice, and of a part; more parts than `mostParts` are more
/// than threads.
constexpr int64_t enoughRows = 16, longRow = 1 << 17, longComputed = 1 << 19, longPart = 1 << 13, fewestParts = 4, mostParts = 64, elementsOfLine = 16;

std::vector<ReduceOp> target::reducesOf(GenericOp kernel) {
  auto all = kernel.getBody().front().getOps<ReduceOp>();
  return {all.begin(), all.end()};
}

/// Parts are kept in the type of the result: those of sums of 16 bits would be rounded.
static bool isCombined(ReduceOp reduce) {
  Type type = reduce.getType();
  bool isOrdered = reduce.getKind() == kernel::Combiner::Max || reduce.getKind() == kernel::Combiner::Min;
  if (auto f = dyn_cast<FloatType>(type))
    return f.getWidth() >= 32 || isOrdered;
  return type.isIntOrIndex() && type.getIntOrFloatBitWidth() >= 8;
}

/// Whether what is reduced is a function of each element of which the result is made, too, as the exponentials of a softmax: one kernel computes it once.
static bool isNeededAgain(ReduceOp reduce) {
  Operation *made = reduce.getValue().getDefiningOp();
  return made && isa<math::MathDialect>(made->getDialect()) && !isa<math::SqrtOp, math::AbsFOp, math::FmaOp>(made) && !made->hasOneUse();
}

static Expr countOf(GenericOp kernel, const Names &axes) {
  Expr count(1);
  for (const std::string &a : axes)
    count = count * *kernel.getExtent(a);
  return count;
}

/// The largest number of parts up to `most` that the extent is a multiple of.
static int64_t partsOf(int64_t extent, int64_t most) {
  int64_t parts = std::min(extent, most);
  while (extent % parts)
    --parts;
  return parts;
}

/// The outermost axis of which there are enough even parts.
static bool cutEvenly(GenericOp kernel, const Names &over, int64_t length, LongRows &out) {
  int64_t wanted = std::clamp<int64_t>(length / longPart, 1, mostParts);
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i) {
    out.cut = kernel.getAxisName(i).str();
    std::optional<int64_t> extent = kernel.getAxisExtent(i).constant();
    int64_t parts = extent && over.count(out.cut) ? partsOf(*extent, wanted) : 1;
    out.parts = parts, out.part = Expr(extent.value_or(0) / parts);
    if (parts >= fewestParts)
      return true;
  }
  return false;
}

/// The outermost axis that is open, or long enough, in parts of so many elements that there are no more than `mostParts`. Where it is the only one, parts begin at a line of the
/// cache if the row does.
static bool cutUnevenly(GenericOp kernel, const Names &over, LongRows &out) {
  std::optional<Expr> extent;
  Expr inner(1);
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i) {
    std::string name = kernel.getAxisName(i).str();
    if (!over.count(name))
      continue;
    if (extent)
      inner = inner * kernel.getAxisExtent(i);
    else
      out.cut = name, extent = kernel.getAxisExtent(i);
  }
  if (extent->constant().value_or(mostParts) < mostParts)
    return false;
  Expr line(over.size() == 1 ? elementsOfLine : 1);
  Expr least = Expr::ceildiv(Expr(longPart), line * Expr::max(inner, 1));
  out.part = line * Expr::max(least, Expr::ceildiv(*extent, line * Expr(mostParts)));
  out.parts = Expr::floordiv(*extent, out.part);
  return true;
}

/// The axes over which all reductions go, and, as `out.axes`, those of the rows; nothing where one is different, or is not combined.
static std::optional<Names> reducedAxes(GenericOp kernel, LongRows &out) {
  kernel::ValueAxes axes = kernel::axesOfValues(kernel);
  std::optional<Names> over;
  for (ReduceOp r : reducesOf(kernel)) {
    Names own;
    for (StringRef axis : r.getAxes().getAsValueRange<StringAttr>())
      own.insert(axis.str());
    if (!isCombined(r) || axes[r.getValue()].empty() || (over && (own != *over || axes[r.getResult()] != out.axes)))
      return std::nullopt;
    over = own;
    out.axes = axes[r.getResult()];
  }
  return over;
}

std::optional<LongRows> target::longRowsOf(GenericOp kernel) {
  LongRows out;
  // A convolution's filter lies as its schedule wants it.
  auto isApart = [](Operation &op) { return op.getNumRegions() || isa<kernel::ContractOp>(op) || op.hasAttr("packed"); };
  if (kernel.getKernelClass() != kernel::KernelClass::Reduction || llvm::any_of(kernel.getBody().front(), isApart))
    return std::nullopt;
  std::optional<Names> over = reducedAxes(kernel, out);
  if (!over)
    return std::nullopt;
  int64_t rows = countOf(kernel, out.axes).constant().value_or(enoughRows), length = countOf(kernel, *over).constant().value_or(longRow);
  if (rows >= enoughRows || length < (llvm::any_of(reducesOf(kernel), isNeededAgain) ? longComputed : longRow))
    return std::nullopt;
  return cutEvenly(kernel, *over, length, out) || cutUnevenly(kernel, *over, out) ? std::optional(out) : std::nullopt;
}
