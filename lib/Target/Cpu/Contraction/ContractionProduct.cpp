//===- ContractionProduct.cpp - Reductions that are contractions -----------===//

#include "ContractionProduct.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

/// Fewer rows than this do not pay for packing the other factor; where that is read under a predicate, they pay sooner.
constexpr int64_t fewestRows = 4, fewestWindowRows = 2;

namespace {
/// The one reduction of a kernel, a sum of products.
struct Product {
  kernel::ReduceOp sum;
  kernel::LoadOp lhs;
  Value rhs;
};
} // namespace

static std::optional<Product> productIn(const BodyInfo &info) {
  kernel::ReduceOp sum = lower::onlySum(info);
  return sum && sum.getType().isF32() ? std::optional(Product{sum, {}, {}}) : std::nullopt;
}

/// True when `v` is a load that a micro-kernel can walk.
static kernel::LoadOp walkedLoad(Value v) {
  kernel::LoadOp load = lower::plainLoad(v);
  return load && load.getType().isF32() ? load : kernel::LoadOp();
}

/// The largest set of inner axes of `candidates` that all stores step through with stride 1.
static AxisSet columnsOf(const BodyInfo &info, AxisSet candidates) {
  AxisSet columns = 0;
  auto contiguous = [&](AxisSet set) {
    AxisGroup group = AxisGroup::of(info, set);
    return llvm::all_of(info.ops, [&](Operation *op) {
      std::optional<Expr> stride = isa<kernel::StoreOp>(op) ? group.strideOf(info.exprOf(op)) : Expr(1);
      return stride && stride->isOne();
    });
  };
  for (unsigned a = info.axes.size(); a-- > 0;) {
    AxisSet axis = AxisSet(1) << a;
    if (!(candidates & axis))
      continue;
    if (!contiguous(columns | axis))
      break;
    columns |= axis;
  }
  return columns;
}

static bool assignFactors(Product &p, const BodyInfo &info, AxisSet &rows, AxisSet &columns) {
  auto mul = p.sum.getValue().getDefiningOp<arith::MulFOp>();
  if (!mul)
    return false;
  AxisSet summed = info.axesOf(p.sum.getAxes());
  for (unsigned side = 0; side < 2; ++side) {
    kernel::LoadOp lhs = walkedLoad(mul->getOperand(side));
    Value rhs = mul->getOperand(1 - side);
    if (!lhs)
      continue;
    AxisSet left = info.axesOf(lhs.getResult()), right = info.axesOf(rhs);
    rows = left & ~right & ~summed;
    columns = columnsOf(info, right & ~left & ~summed);
    if ((left & right & summed) != summed || !rows || !columns)
      continue;
    AxisSet all = (AxisSet(1) << info.axes.size()) - 1;
    if (all & ~(left | right))
      continue; // the epilogue alone walks an axis: the sum would be computed again at each of its points
    p.lhs = lhs;
    p.rhs = rhs;
    return true;
  }
  return false;
}

/// Replaces the axes of the group by its last one, in the copy: outer = floordiv(joined, extents of the inner ones) and so on.
/// Written as differences, offsets that step through the group at one stride stay linear.
static void joinAxes(kernel::GenericOp copy, const AxisGroup &group) {
  const BodyInfo &info = *group.info;
  std::string joined = info.axes[group.axes.back()];
  std::map<std::string, Expr> with;
  Expr rest = Expr::symbol(joined);
  for (size_t k = group.axes.size(); k-- > 1;) {
    const Expr &extent = info.extents[group.axes[k]];
    Expr outer = Expr::floordiv(rest, extent);
    with.insert({info.axes[group.axes[k]], rest - outer * extent});
    rest = outer;
  }
  with.insert({info.axes[group.axes.front()], rest});
  OpBuilder b(copy.getContext());
  auto text = [&](const Expr &e) { return b.getStringAttr(e.substitute(with).str()); };
  copy.getBody().walk([&](Operation *op) {
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      load.setOffsetAttr(text(load.getOffsetExpr()));
    else if (auto store = dyn_cast<kernel::StoreOp>(op))
      store.setOffsetAttr(text(store.getOffsetExpr()));
    else if (auto index = dyn_cast<kernel::IndexOp>(op))
      index.setExprAttr(text(index.getIndexExpr()));
  });
  SmallVector<Attribute> names, extents;
  for (unsigned a = 0; a < info.axes.size(); ++a) {
    if (llvm::is_contained(group.axes, a) && a != group.axes.back())
      continue;
    names.push_back(b.getStringAttr(info.axes[a]));
    extents.push_back(b.getStringAttr((a == group.axes.back() ? group.extent() : info.extents[a]).str()));
  }
  copy.setAxisNamesAttr(b.getArrayAttr(names));
  copy.setAxisExtentsAttr(b.getArrayAttr(extents));
}

/// Do all accesses but those that the factors are made of step through the group at one stride?
static bool isFlatBehindSum(const AxisGroup &group, const BodyInfo &info, kernel::ReduceOp sum) {
  AxisSet summed = info.axesOf(sum.getAxes());
  llvm::DenseSet<Operation *> factors;
  SmallVector<Value> work{sum.getValue()};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && factors.insert(op).second)
      work.append(op->operand_begin(), op->operand_end());
  return llvm::all_of(info.ops, [&](Operation *op) {
    if (!isa<kernel::LoadOp, kernel::StoreOp, kernel::IndexOp>(op))
      return true;
    bool used = llvm::any_of(op->getUsers(), [&](Operation *user) { return user != sum && !factors.contains(user); });
    return (factors.contains(op) && !used) || (info.domainOf(op) & summed) || group.strideOf(info.exprOf(op));
  });
}

/// Do all accesses that a value is made of step through the group at one stride?
static bool isFlatIn(const AxisGroup &group, const BodyInfo &info, Value value) {
  return llvm::all_of(lower::opsBelow(value), [&](Operation *op) {
    return !isa<kernel::LoadOp, kernel::IndexOp>(op) || group.strideOf(info.exprOf(op));
  });
}

/// The contraction's roles, over the axes of the copy.
static ContractionShape shapeOf(const Product &found, const BodyInfo &info, ArrayRef<std::string> rowNames,
                                StringRef column) {
  ContractionShape s;
  Product p = found;
  s.lhsRef = p.lhs.getRef();
  s.result = p.sum.getResult();
  s.rhsValue = p.rhs;
  s.lhs = info.exprOf(p.lhs);
  s.lhsType = p.lhs.getType();
  s.accumulator = cast<FloatType>(p.sum.getResult().getType());
  s.accumulatorBytes = s.accumulator.getWidth() / 8;
  AxisSet rows = 0, columns = AxisSet(1) << *info.axisIndex(column), summed = info.axesOf(p.sum.getAxes());
  for (const std::string &name : rowNames)
    rows |= AxisSet(1) << *info.axisIndex(name);
  AxisSet all = (AxisSet(1) << info.axes.size()) - 1;
  s.rows = AxisGroup::of(info, rows);
  s.columns = AxisGroup::of(info, columns);
  s.reduced = AxisGroup::of(info, summed);
  s.batch = AxisGroup::of(info, all & ~(rows | columns | summed));
  return s;
}

std::optional<ProductKernel> lathe::cpu::findProduct(const BodyInfo &original) {
  if (original.axes.size() >= 63)
    return std::nullopt;
  std::optional<Product> product = productIn(original);
  AxisSet rows = 0, columns = 0;
  if (!product || !assignFactors(*product, original, rows, columns))
    return std::nullopt;
  AxisGroup rowGroup = AxisGroup::of(original, rows), columnGroup = AxisGroup::of(original, columns);
  std::optional<int64_t> rowCount = rowGroup.extent().constant();
  auto plain = product->rhs.getDefiningOp<kernel::LoadOp>();
  if (rowCount && *rowCount < (plain && !plain.getPredicate() ? fewestRows : fewestWindowRows))
    return std::nullopt;
  std::vector<std::string> rowNames;
  for (unsigned a : rowGroup.axes)
    rowNames.push_back(original.axes[a]);

  ProductKernel result;
  kernel::GenericOp source = original.kernel;
  result.kernel = cast<kernel::GenericOp>(source->clone());
  joinAxes(*result.kernel, columnGroup);
  result.info = std::make_unique<BodyInfo>(*result.kernel);
  std::optional<Product> copied = productIn(*result.info);
  AxisSet ignoredRows = 0, ignoredColumns = 0;
  if (!copied || !assignFactors(*copied, *result.info, ignoredRows, ignoredColumns))
    return std::nullopt;
  result.shape = shapeOf(*copied, *result.info, rowNames, original.axes[columnGroup.axes.back()]);
  result.shape.findFlatGroups(*result.info);
  result.shape.columnsFlat = isFlatBehindSum(result.shape.columns, *result.info, copied->sum);
  if (!isFlatIn(columnGroup, original, product->rhs))
    result.lines.emplace(WindowLines{original, columnGroup, product->rhs});
  return result;
}
