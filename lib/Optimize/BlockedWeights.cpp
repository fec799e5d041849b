//===- BlockedWeights.cpp - Weights of few bits with scales in blocks ------===//
//
// A matrix of 4 or 8 bits, with a scale and a zero point for each run of rows of a column, is a fraction of what it is in floats, and
// reading it is what a product with few rows waits for. So it stays as it is, in words that a vector of columns unpacks.
// See docs/Rationale/Integers.md.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::opt {
#define GEN_PASS_DEF_BLOCKEDWEIGHTS
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

/// Columns side by side in memory, of which each has a word in turn.
constexpr int64_t panel = 32, wordBits = 32;
/// Of a run of rows with one scale and zero point.
constexpr int64_t shortestBlock = 16, longestBlock = 256;
/// Of a matrix that is worth unpacking, and that is worth evaluating here.
constexpr int64_t fewestElements = 1 << 12, mostElements = 64 << 20;

namespace {

/// (codes - zero) * scale, elements [depth][columns].
struct Matrix {
  int64_t depth, columns;
  std::vector<float> codes, zero, scale;
};

/// The same in words.
struct Packed {
  int64_t blocks, words, perWord, bits; ///< words of a block, codes of a word
  std::vector<int32_t> codes;           ///< [columns / panel][blocks][words][panel]
  std::vector<float> zero, scale;       ///< [columns / panel][blocks][panel]
};

class Rewriter {
public:
  Rewriter(OpBuilder &b, Operation *op, const shape::Facts &facts) : g(b, op->getLoc(), facts) {}
  bool rewrite(ContractOp op);

private:
  std::optional<Matrix> matrixOf(ContractOp op);
  Value unpacked(const Packed &p, int64_t panels);

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
  int64_t rows = t->shape()[0], columns = t->shape()[1];
  std::vector<float> r(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      r[transposed ? j * rows + i : i * columns + j] = float(t->floats[i * columns + j]);
  return r;
}

/// The second operand, where it is codes of a few bits in a constant, less zero points, times scales.
std::optional<Matrix> Rewriter::matrixOf(ContractOp op) {
  SmallVector<Operation *> views;
  Value v = op.getRhs();
  while (isa_and_nonnull<TransposeOp, ReshapeOp, SliceOp>(v.getDefiningOp())) {
    views.push_back(v.getDefiningOp());
    v = views.back()->getOperand(0);
  }
  auto mul = v.getDefiningOp<MulOp>();
  auto sub = mul ? mul.getLhs().getDefiningOp<SubOp>() : SubOp();
  Value codes = sub ? sub.getLhs() : mul ? mul.getLhs() : Value();
  auto cast = codes ? codes.getDefiningOp<CastOp>() : CastOp();
  auto integer = cast ? dyn_cast<IntegerType>(elementOf(cast.getX())) : IntegerType();
  if (!integer || integer.getWidth() > 8 || !elementOf(v).isF32() || !typeOf(v).hasStaticShape() || !typeOf(op.getRhs()).hasStaticShape())
    return std::nullopt;
  ArrayRef<int64_t> shape = typeOf(op.getRhs()).getShape();
  bool transposed = op.getRhsContract()[0] == 1;
  Matrix m{shape[transposed], shape[!transposed], {}, {}, {}};
  if (m.depth * m.columns < fewestElements || m.depth * m.columns > mostElements || m.columns % panel)
    return std::nullopt;
  auto take = [&](Value part, std::vector<float> &to) {
    std::optional<std::vector<float>> r = shown(part, views, transposed);
    if (r)
      to = std::move(*r);
    return r.has_value();
  };
  if (!take(mul.getRhs(), m.scale) || !take(codes, m.codes))
    return std::nullopt;
  std::optional<double> same = sub ? splatValue(sub.getRhs()) : 0;
  if (same)
    m.zero.assign(m.codes.size(), float(*same));
  return same || take(sub.getRhs(), m.zero) ? std::optional(std::move(m)) : std::nullopt;
}

/// Does each run of `block` rows have one scale and one zero point in every column?
static bool isInBlocks(const Matrix &m, int64_t block) {
  if (m.depth % block)
    return false;
  for (int64_t k = 0; k < m.depth; ++k)
    for (int64_t n = 0, first = k / block * block; n < m.columns; ++n)
      if (m.scale[k * m.columns + n] != m.scale[first * m.columns + n] || m.zero[k * m.columns + n] != m.zero[first * m.columns + n])
        return false;
  return true;
}

static std::optional<Packed> packed(const Matrix &m) {
  auto [low, high] = std::minmax_element(m.codes.begin(), m.codes.end());
  float least = *low, range = *high - *low;
  Packed p;
  p.bits = range < 16 ? 4 : 8;
  p.perWord = wordBits / p.bits;
  int64_t block = longestBlock;
  while (block >= shortestBlock && !isInBlocks(m, block))
    block /= 2;
  if (block < shortestBlock || range > 255)
    return std::nullopt;
  p.blocks = m.depth / block;
  p.words = block / p.perWord;
  p.codes.assign(m.depth / p.perWord * m.columns, 0);
  for (int64_t k = 0; k < m.depth; ++k)
    for (int64_t n = 0; n < m.columns; ++n) {
      int64_t word = (n / panel * (m.depth / p.perWord) + k / p.perWord) * panel + n % panel;
      p.codes[word] = int32_t(uint32_t(p.codes[word]) | uint32_t(m.codes[k * m.columns + n] - least) << (k % p.perWord * p.bits));
    }
  for (int64_t first = 0; first < m.columns; first += panel)
    for (int64_t k = 0; k < m.depth; k += block)
      for (int64_t n = first; n < first + panel; ++n) {
        p.zero.push_back(m.zero[k * m.columns + n] - least);
        p.scale.push_back(m.scale[k * m.columns + n]);
      }
  return p;
}

template <typename T> static ElementsAttr attributeOf(ArrayRef<int64_t> shape, Type element, const std::vector<T> &numbers) {
  ArrayRef<char> bytes(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T));
  return constantFromBytes(RankedTensorType::get(shape, element), bytes, "weights");
}

/// The matrix as [panels, blocks, words, codes of a word, columns of a panel].
Value Rewriter::unpacked(const Packed &p, int64_t panels) {
  Type i32 = g.b.getI32Type(), f32 = g.b.getF32Type();
  Dims dims{Expr(panels), Expr(p.blocks), Expr(p.words), Expr(p.perWord), Expr(panel)};
  auto constant = [&](ElementsAttr attr) { return g.b.create<ConstantOp>(g.loc, attr).getResult(); };
  Value words = g.broadcastTo(constant(attributeOf({panels, p.blocks, p.words, 1, panel}, i32, p.codes)), dims);
  Value shifts = g.binary<MulOp>(g.iota(dims, 3, i32), double(p.bits));
  Value codes = g.binary<AndOp>(g.binary<ShrOp>(words, shifts), double((1 << p.bits) - 1));
  auto perBlock = [&](const std::vector<float> &numbers) {
    bool same = llvm::all_equal(numbers);
    return same ? g.splat(numbers.front(), dims, f32)
                : g.broadcastTo(constant(attributeOf({panels, p.blocks, 1, 1, panel}, f32, numbers)), dims);
  };
  Value zero = perBlock(p.zero), centered = g.sub(g.cast(codes, f32), zero);
  return g.mul(centered, perBlock(p.scale));
}

bool Rewriter::rewrite(ContractOp op) {
  Value x = op.getLhs();
  int64_t rank = typeOf(x).getRank();
  if (!elementOf(x).isF32() || !elementOf(op.getResult()).isF32() || typeOf(op.getRhs()).getRank() != 2 || !op.getRhsBatch().empty() ||
      op.getRhsContract().size() != 1 || op.getLhsContract()[0] != rank - 1)
    return false;
  std::optional<Matrix> m = matrixOf(op);
  std::optional<Packed> p = m ? packed(*m) : std::nullopt;
  if (!p)
    return false;
  int64_t panels = m->columns / panel;
  Dims inner{Expr(panels), Expr(p->blocks), Expr(p->words), Expr(p->perWord), Expr(panel)}, rows = dimsOf(x), all, mine, ones;
  rows.pop_back();
  all.append(rows);
  all.append(inner);
  mine.append(rows);
  mine.append({Expr(1), inner[1], inner[2], inner[3], Expr(1)});
  ones.append(rows.size(), Expr(1));
  ones.append(inner);
  Value wide = g.broadcastTo(g.reshape(x, mine), all), w = g.broadcastTo(g.reshape(unpacked(*p, panels), ones), all);
  Value sum = g.reduce(ReduceKind::Sum, g.mul(wide, w), {rank, rank + 1, rank + 2}, /*keepDims=*/false);
  op.getResult().replaceAllUsesWith(g.reshape(sum, dimsOf(op.getResult())));
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
