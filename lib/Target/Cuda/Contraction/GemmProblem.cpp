//===- GemmProblem.cpp - What tiled contractions share ---------------------===//

#include "Gemm.h"
#include "lathe/Lower/Float8.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::AxisSet;
using shape::Expr;

constexpr int64_t fewestLines = 8;

void GemmProblem::countAxes() {
  batch = shape.extent(shape.batchAxes);
  m = shape.extent(shape.rowAxes);
  n = shape.extent(shape.columnAxes);
  k = shape.extent(shape.depthAxes);
}

/// Sums of f32 are of any floats up to that; of f64 of such alone; of i32 of bytes.
static bool isSummedAs(const ProductOperand &operand, Type sum) {
  if (sum.isInteger(32))
    return isa_and_nonnull<IntegerType>(operand.format);
  Type number = operand.format ? operand.format : operand.type;
  if (sum.isF64())
    return number.isF64();
  return sum.isF32() && isa<FloatType>(number) && number.getIntOrFloatBitWidth() <= 32;
}

static std::optional<GemmProblem> ofContract(const lower::BodyInfo &info, kernel::ContractOp op) {
  ContractionShape shape(info, op);
  ProductOperand lhs{op.getLhs(), shape.lhs, {}, op.getLhs().getType().getElementType()};
  ProductOperand rhs{op.getRhs(), shape.rhs, {}, op.getRhs().getType().getElementType()};
  return GemmProblem{shape, lhs, rhs, op.getResult(), {}, {}, {}, {}, {}};
}

static Value withoutExtension(Value v) {
  Operation *op = v.getDefiningOp();
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op) ? op->getOperand(0) : v;
}

/// What the elements are where a predicate does not hold, if tiles can be filled up with that.
static std::optional<int64_t> fillOf(Value fill) {
  IntegerAttr byte;
  if (matchPattern(fill, m_AnyZeroFloat()))
    return 0;
  if (fill.getType().isInteger(8) && matchPattern(fill, m_Constant(&byte)))
    return byte.getInt();
  return std::nullopt;
}

/// Elements of memory, and what there is where a predicate does not hold.
struct Bordered {
  kernel::LoadOp load;
  Value fill;
};

/// A load that says so itself, or a choice between it and the border, as a padding of bytes is written.
static Bordered borderedLoad(Value v) {
  auto choice = v.getDefiningOp<arith::SelectOp>();
  auto load = (choice ? choice.getTrueValue() : v).getDefiningOp<kernel::LoadOp>();
  if (!choice)
    return {load, load ? load.getFill() : Value()};
  bool ofBytes = load && load.getType().isInteger(8) && load.getPredicate() == choice.getCondition() && !load.getFill();
  return ofBytes ? Bordered{load, choice.getFalseValue()} : Bordered();
}

/// What a factor is made of, and what that is where it is a byte.
static std::pair<Value, Type> elementOf(Value factor) {
  if (Operation *float8 = lower::float8Of(factor))
    return {float8->getOperand(0), float8->getResult(0).getType()};
  bool isUnsigned = factor.getDefiningOp<arith::ExtUIOp>() != nullptr;
  Value v = withoutExtension(factor);
  auto sign = isUnsigned ? IntegerType::Unsigned : IntegerType::Signless;
  return {v, v.getType().isInteger(8) ? IntegerType::get(v.getContext(), 8, sign) : Type()};
}

static ProductOperand operandOf(const lower::BodyInfo &info, Value factor) {
  auto [v, format] = elementOf(factor);
  auto [load, fill] = borderedLoad(v);
  std::optional<int64_t> border = fill ? fillOf(fill) : std::nullopt;
  if (load && load.getIndices().empty() && (!load.getPredicate() || border))
    return {load.getRef(), info.exprOf(load), {}, v.getType(), load.getPredicate(), format, border.value_or(0)};
  return {{}, {}, v, v.getType(), {}, format};
}

/// A sum of products of two values that vary along different axes: a convolution. (The product of two halves is exact in f32,
/// where the sum is taken, whatever type the body rounds it to.)
static std::optional<GemmProblem> ofSum(const lower::BodyInfo &info, kernel::ReduceOp sum) {
  bool bytes = sum.getType().isInteger(32); // as wide as the sum before they are multiplied: nothing is lost
  Operation *product = bytes ? sum.getValue().getDefiningOp() : withoutExtension(sum.getValue()).getDefiningOp();
  if (sum.getKind() != kernel::Combiner::Add || !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product))
    return std::nullopt;
  Value left = product->getOperand(0), right = product->getOperand(1);
  ContractionShape shape(info, lower::ContractionRoles(info, info.axesOf(left), info.axesOf(right), info.axesOf(sum.getAxes())));
  // Tiles of many small products would be mostly empty.
  auto isFew = [&](ArrayRef<unsigned> axes) { return shape.extent(axes).constant().value_or(fewestLines) < fewestLines; };
  bool many = !shape.extent(shape.batchAxes).isOne();
  GemmProblem p{shape, operandOf(info, left), operandOf(info, right), sum.getResult(), {}, {}, {}, {}, {}};
  // A line of bytes and a matrix that lie in memory are a product of few lines; other sums of that kind are rows.
  bool isLine = !shape.rows != !shape.columns && p.multipliesBytes() && p.lhs.isDirect() && p.rhs.isDirect();
  if ((!isLine && (!shape.rows || !shape.columns)) || (many && (isFew(shape.rowAxes) || isFew(shape.columnAxes))))
    return std::nullopt;
  return p;
}

/// Columns are what neighbouring threads store: an image's pixels.
static void turnTowardsStores(GemmProblem &p) {
  const lower::BodyInfo &info = p.shape.info;
  auto contiguous = [&](ArrayRef<unsigned> axes) {
    return !axes.empty() && llvm::any_of(p.stores, [&](kernel::StoreOp s) {
      auto linear = info.exprOf(s).linearIn(info.axes[axes.back()]);
      return linear && linear->coefficient.isOne();
    });
  };
  if (contiguous(p.shape.columnAxes) || !contiguous(p.shape.rowAxes))
    return;
  std::swap(p.lhs, p.rhs);
  std::swap(p.shape.lhs, p.shape.rhs);
  std::swap(p.shape.rows, p.shape.columns);
  std::swap(p.shape.rowAxes, p.shape.columnAxes);
}

std::optional<GemmProblem> cuda::gemmProblem(const lower::BodyInfo &info) {
  Operation *sum = nullptr;
  std::vector<kernel::StoreOp> stores;
  for (Operation *op : info.ops) {
    if (isa<kernel::AttentionOp>(op) || (sum && isa<kernel::ReduceOp, kernel::ContractOp>(op)))
      return std::nullopt;
    if (isa<kernel::ReduceOp, kernel::ContractOp>(op))
      sum = op;
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(s);
  }
  if (!sum)
    return std::nullopt;
  auto contract = dyn_cast<kernel::ContractOp>(sum);
  std::optional<GemmProblem> p = contract ? ofContract(info, contract) : ofSum(info, cast<kernel::ReduceOp>(sum));
  if (!p || !isSummedAs(p->lhs, p->sumType()) || !isSummedAs(p->rhs, p->sumType()))
    return std::nullopt;
  for (kernel::StoreOp s : stores)
    if (info.domainOf(s) != (p->shape.batch | p->shape.rows | p->shape.columns))
      return std::nullopt;
  p->stores = stores;
  turnTowardsStores(*p);
  p->countAxes();
  return p;
}
