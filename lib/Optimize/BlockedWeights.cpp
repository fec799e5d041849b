//===- BlockedWeights.cpp - Weights of few bits with scales in blocks ------===//
//
// A matrix of 4 or 8 bits, with a scale and a zero point for each run of rows of a column, is a fraction of what it is in floats, and
// reading it is what a product with few rows waits for. So it stays as it is, in words that a vector of columns unpacks.
// See docs/Rationale/Integers.md.
//
//===----------------------------------------------------------------------===//

#include "CodedMatrix.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>

namespace lathe::opt {
#define GEN_PASS_DEF_BLOCKEDWEIGHTS
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;
using opt::CodedMatrix;
using opt::PackedMatrix;

constexpr int64_t panel = PackedMatrix::panel;

/// Of a matrix that is worth unpacking, and that is worth evaluating here.
constexpr int64_t fewestElements = 1 << 12, mostElements = 128 << 20;

namespace {

class Rewriter {
public:
  Rewriter(OpBuilder &b, Operation *op, const shape::Facts &facts) : g(b, op->getLoc(), facts) {}
  bool rewrite(ContractOp op);

private:
  std::optional<CodedMatrix> matrixOf(ContractOp op);
  Value unpacked(const PackedMatrix &p);
  Value perBlock(const std::vector<float> &numbers, const PackedMatrix &p, const Dims &dims);
  Value filled(Value x, int64_t depth);

  GraphBuilder g;
};

} // namespace

/// What follows from constants alone.
static std::optional<ConstantTensor> numbersOf(Value v) {
  Operation *op = v.getDefiningOp();
  auto type = typeOf(v);
  if (!op || !type.hasStaticShape() || type.getNumElements() > mostElements)
    return std::nullopt;
  if (auto c = dyn_cast<ConstantOp>(op))
    return readConstant(c.getValue());
  if (!canEvaluate(op))
    return std::nullopt;
  SmallVector<ConstantTensor> operands;
  for (Value x : op->getOperands()) {
    std::optional<ConstantTensor> t = numbersOf(x);
    if (!t)
      return std::nullopt;
    operands.push_back(std::move(*t));
  }
  SmallVector<const ConstantTensor *> pointers;
  for (const ConstantTensor &t : operands)
    pointers.push_back(&t);
  return evaluate(op, pointers);
}

/// The part as the views above it show it, as floats [depth][columns].
static std::optional<std::vector<float>> shown(Value part, ArrayRef<Operation *> views, bool transposed) {
  std::optional<ConstantTensor> t = numbersOf(part);
  if (!t || !t->isFloat())
    return std::nullopt;
  for (Operation *view : llvm::reverse(views))
    if (!(t = evaluate(view, {&*t})))
      return std::nullopt;
  if (!transposed)
    return std::vector<float>(t->floats.begin(), t->floats.end());
  int64_t rows = t->shape()[0], columns = t->shape()[1];
  std::vector<float> r(rows * columns);
  // In squares, of which the caches hold both sides.
  constexpr int64_t side = 32;
  for (int64_t top = 0; top < rows; top += side)
    for (int64_t left = 0; left < columns; left += side)
      for (int64_t j = left; j < std::min(columns, left + side); ++j)
        for (int64_t i = top; i < std::min(rows, top + side); ++i)
          r[j * rows + i] = float(t->floats[i * columns + j]);
  return r;
}

static bool isHalf(Type t) { return t.isF16() || t.isBF16(); }
static bool isRounding(Operation *op) {
  return isa_and_nonnull<CastOp>(op) && isa<FloatType>(elementOf(op->getOperand(0))) && isa<FloatType>(elementOf(op->getResult(0)));
}

namespace {
struct Scaled {
  Value codes, zero, scale; ///< the codes are cast from integers; null: no zero point
};
} // namespace

/// Codes of a few bits, less zero points, times scales.
static std::optional<Scaled> scaledIn(Value v) {
  auto mul = v.getDefiningOp<MulOp>();
  for (unsigned side : {0, 1}) {
    auto sub = mul ? mul->getOperand(side).getDefiningOp<SubOp>() : SubOp();
    Value codes = sub ? sub.getLhs() : mul ? mul->getOperand(side) : Value();
    auto cast = codes ? codes.getDefiningOp<CastOp>() : CastOp();
    auto integer = cast ? dyn_cast<IntegerType>(elementOf(cast.getX())) : IntegerType();
    if (integer && integer.getWidth() <= 8)
      return Scaled{codes, sub ? sub.getRhs() : Value(), mul->getOperand(1 - side)};
  }
  return std::nullopt;
}

/// The second operand, where it is codes of a few bits in a constant, less zero points, times scales. Where that is rounded to a half type on
/// its way, no more than the rounding is left out.
std::optional<CodedMatrix> Rewriter::matrixOf(ContractOp op) {
  SmallVector<Operation *> views;
  Value v = op.getRhs();
  for (Operation *def; isa_and_nonnull<TransposeOp, ReshapeOp, SliceOp>(def = v.getDefiningOp()) || isRounding(def); v = def->getOperand(0))
    if (!isRounding(def))
      views.push_back(def);
  std::optional<Scaled> s = elementOf(v).isF32() || isHalf(elementOf(v)) ? scaledIn(v) : std::nullopt;
  if (!s || !typeOf(v).hasStaticShape() || !typeOf(op.getRhs()).hasStaticShape())
    return std::nullopt;
  ArrayRef<int64_t> shape = typeOf(op.getRhs()).getShape();
  bool transposed = op.getRhsContract()[0] == 1;
  CodedMatrix m{shape[transposed], shape[!transposed], {}, {}, {}};
  if (m.depth * m.columns < fewestElements || m.depth * m.columns > mostElements)
    return std::nullopt;
  auto take = [&](Value part, std::vector<float> &to) {
    std::optional<std::vector<float>> r = shown(part, views, transposed);
    if (r)
      to = std::move(*r);
    return r.has_value();
  };
  if (!take(s->scale, m.scale) || !take(s->codes, m.codes))
    return std::nullopt;
  std::optional<double> same = s->zero ? splatValue(s->zero) : 0;
  if (same)
    m.zero.assign(m.codes.size(), float(*same));
  return same || take(s->zero, m.zero) ? std::optional(std::move(m)) : std::nullopt;
}

template <typename T> static ElementsAttr attributeOf(ArrayRef<int64_t> shape, Type element, const std::vector<T> &numbers) {
  ArrayRef<char> bytes(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T));
  return constantFromBytes(RankedTensorType::get(shape, element), bytes, "weights");
}

static bool areBytes(const std::vector<float> &numbers) {
  return llvm::all_of(numbers, [](float x) { return x >= 0 && x <= 255 && x == std::floor(x); });
}

/// Numbers of blocks as f32, in memory in the narrowest type that has them all: of blocks of 32 codes of 4 bits, scales in f32 are a fifth of
/// what is read.
Value Rewriter::perBlock(const std::vector<float> &numbers, const PackedMatrix &p, const Dims &dims) {
  Type f32 = g.b.getF32Type();
  if (llvm::all_equal(numbers))
    return g.splat(numbers.front(), dims, f32);
  SmallVector<int64_t> shape{p.panels, p.blocks, 1, 1, panel};
  ElementsAttr attr;
  if (areBytes(numbers)) {
    attr = attributeOf(shape, g.b.getIntegerType(8, /*isSigned=*/false), std::vector<uint8_t>(numbers.begin(), numbers.end()));
  } else {
    Type element = f32;
    for (Type half : {Type(g.b.getF16Type()), Type(g.b.getBF16Type())})
      if (element == f32 && llvm::all_of(numbers, [&](float x) { return roundTo(x, half) == x; }))
        element = half;
    ConstantTensor t(RankedTensorType::get(shape, element));
    t.floats.assign(numbers.begin(), numbers.end());
    attr = element == f32 ? attributeOf(shape, f32, numbers) : writeConstant(t, "weights");
  }
  return g.cast(g.broadcastTo(g.b.create<ConstantOp>(g.loc, attr), dims), f32);
}

/// The matrix as [panels, blocks, words, codes of a word, columns of a panel].
Value Rewriter::unpacked(const PackedMatrix &p) {
  Type i32 = g.b.getI32Type(), f32 = g.b.getF32Type();
  Dims dims{Expr(p.panels), Expr(p.blocks), Expr(p.words), Expr(p.perWord), Expr(panel)};
  Value constant = g.b.create<ConstantOp>(g.loc, attributeOf({p.panels, p.blocks, p.words, 1, panel}, i32, p.codes));
  Value words = g.broadcastTo(constant, dims), shifts = g.binary<MulOp>(g.iota(dims, 3, i32), double(p.bits));
  Value codes = g.binary<AndOp>(g.binary<ShrOp>(words, shifts), double((1 << p.bits) - 1));
  Value centered = g.sub(g.cast(codes, f32), perBlock(p.zero, p, dims));
  return g.mul(centered, perBlock(p.scale, p, dims));
}

/// The first operand with zeros up to the end of the last block; a half type is filled up before it is widened.
Value Rewriter::filled(Value x, int64_t depth) {
  if (Operation *cast = x.getDefiningOp(); isRounding(cast) && isHalf(elementOf(cast->getOperand(0))))
    x = cast->getOperand(0);
  Dims dims = dimsOf(x), low(dims.size(), Expr(0)), high = low;
  if (dims.back() == Expr(depth))
    return x;
  high.back() = g.facts.simplify(Expr(depth) - dims.back());
  dims.back() = Expr(depth);
  return g.b.create<PadOp>(g.loc, tensorType(dims, elementOf(x)), x, g.scalar(0, elementOf(x)), exprArray(g.b, low), exprArray(g.b, high));
}

bool Rewriter::rewrite(ContractOp op) {
  Value x = op.getLhs();
  int64_t rank = typeOf(x).getRank();
  Type element = elementOf(x), f32 = g.b.getF32Type();
  if ((element != f32 && !isHalf(element)) || elementOf(op.getResult()) != element || typeOf(op.getRhs()).getRank() != 2 ||
      !op.getRhsBatch().empty() || op.getRhsContract().size() != 1 || op.getLhsContract()[0] != rank - 1)
    return false;
  std::optional<CodedMatrix> m = matrixOf(op);
  std::optional<PackedMatrix> p = m ? opt::packed(*m) : std::nullopt;
  if (!p)
    return false;
  x = g.cast(filled(x, p->depth), f32);
  Dims inner{Expr(p->panels), Expr(p->blocks), Expr(p->words), Expr(p->perWord), Expr(panel)}, rows = dimsOf(x), all, mine, ones;
  rows.pop_back();
  all.append(rows);
  all.append(inner);
  mine.append(rows);
  mine.append({Expr(1), inner[1], inner[2], inner[3], Expr(1)});
  ones.append(rows.size(), Expr(1));
  ones.append(inner);
  Value wide = g.broadcastTo(g.reshape(x, mine), all), w = g.broadcastTo(g.reshape(unpacked(*p), ones), all);
  Value sum = g.reduce(ReduceKind::Sum, g.mul(wide, w), {rank, rank + 1, rank + 2}, /*keepDims=*/false);
  Dims columns = dimsOf(op.getResult());
  columns.back() = Expr(p->panels * panel);
  Value result = g.slice(g.reshape(sum, columns), rank - 1, Expr(0), Expr(m->columns));
  op.getResult().replaceAllUsesWith(g.cast(result, element));
  op.erase();
  return true;
}

namespace {
struct BlockedWeightsPass : opt::impl::BlockedWeightsBase<BlockedWeightsPass> {
  void runOnOperation() override {
    shape::Facts facts = factsOf(getOperation());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ContractOp> products;
      func.walk([&](ContractOp op) { products.push_back(op); });
      for (ContractOp op : products) {
        OpBuilder b(op);
        Rewriter(b, op, facts).rewrite(op);
      }
    }
  }
};
} // namespace
