//===- CodedProblem.cpp - Products with weights that are codes --------------===//

#include "CodedProblem.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

static AxisSet setOf(unsigned axis) { return AxisSet(1) << axis; }
static AxisSet setOf(ArrayRef<unsigned> axes) {
  AxisSet all = 0;
  for (unsigned a : axes)
    all |= setOf(a);
  return all;
}

static bool readsWords(Value v) {
  return llvm::any_of(lower::opsBelow(v), [](Operation *op) { return isa<kernel::LoadOp>(op) && op->getResult(0).getType().isInteger(32); });
}

/// The one load of words below a value that reads nothing else; null otherwise.
static kernel::LoadOp wordsBelow(Value v) {
  kernel::LoadOp words;
  for (Operation *op : lower::opsBelow(v)) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (load && (words || !load.getType().isInteger(32)))
      return {};
    words = load ? load : words;
  }
  return words;
}

/// A code as a float: the low bits of a word that is shifted by so many times its place in the word.
static bool takeCode(Value v, const BodyInfo &info, CodedProblem &p) {
  Operation *cast = v.getDefiningOp();
  auto mask = isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(cast) ? cast->getOperand(0).getDefiningOp<arith::AndIOp>() : arith::AndIOp();
  std::optional<int64_t> bits = mask ? getConstantIntValue(mask.getRhs()) : std::nullopt;
  if (!bits || (*bits != 15 && *bits != 255))
    return false;
  p.words = wordsBelow(mask);
  p.bits = *bits == 15 ? 4 : 8;
  AxisSet shifted = p.words ? info.axesOf(mask.getResult()) & ~info.axesOf(p.words.getResult()) : 0;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (shifted == setOf(a) && info.extents[a] == Expr(p.perWord())) {
      p.codeAxis = a;
      return true;
    }
  return false;
}

/// Takes (code - zero) * scale apart.
static bool takeWeights(Value v, const BodyInfo &info, CodedProblem &p) {
  if (auto mul = v.getDefiningOp<arith::MulFOp>())
    for (unsigned side : {0, 1})
      if (!p.scale && !readsWords(mul->getOperand(side))) {
        p.scale = mul->getOperand(side);
        v = mul->getOperand(1 - side);
      }
  if (auto sub = v.getDefiningOp<arith::SubFOp>()) {
    p.zero = sub.getRhs();
    v = sub.getLhs();
  }
  return takeCode(v, info, p);
}

/// Axes by their roles, and whether both operands lie as this problem's do.
static bool takeAxes(const BodyInfo &info, CodedProblem &p) {
  AxisSet summed = info.axesOf(p.product.sum.getAxes()), left = info.axesOf(p.product.lhs.getResult()), right = info.axesOf(p.product.rhs);
  if ((left & right) != summed || (left | right) != lower::allAxes(info) || !(summed & setOf(p.codeAxis)))
    return false;
  p.rowAxes = lower::axesIn(info, left & ~summed);
  p.depthAxes = lower::axesIn(info, summed & ~setOf(p.codeAxis));
  std::vector<unsigned> columns = lower::axesIn(info, right & ~summed);
  if (columns.empty() || info.extents[columns.back()] != Expr(CodedProblem::panelColumns) || (!p.depthAxes.empty() && p.depthAxes.back() > p.codeAxis))
    return false;
  p.columnAxis = columns.back();
  columns.pop_back();
  p.panelAxes = columns;
  std::optional<int64_t> panels = extentOf(info, p.panelAxes).constant(), depth = extentOf(info, p.allDepthAxes()).constant();
  if (!panels || !depth || *depth < 1 || *depth % p.groupDepth())
    return false;
  p.panels = *panels;
  p.depth = *depth;
  p.rows = extentOf(info, p.rowAxes);
  const Expr &words = info.exprOf(p.words);
  auto steps = [&](const Expr &e, ArrayRef<unsigned> axes, int64_t step) {
    std::optional<Expr> is = stepAlong(info, e, axes);
    return is && (extentOf(info, axes).isOne() || *is == Expr(step));
  };
  Expr rest = atZero(info, atZero(info, atZero(info, words, p.panelAxes), p.depthAxes), p.columnAxis);
  return rest.isZero() && steps(words, p.columnAxis, 1) && steps(words, p.depthAxes, CodedProblem::panelColumns) &&
         steps(words, p.panelAxes, *depth / p.perWord() * CodedProblem::panelColumns) && steps(info.exprOf(p.product.lhs), p.allDepthAxes(), 1);
}

/// How many depths have one zero point and scale: all axes behind those along which these vary.
static std::optional<int64_t> blockOf(const BodyInfo &info, const CodedProblem &p) {
  AxisSet vary = 0;
  for (Value v : {p.zero, p.scale})
    vary |= v ? info.axesOf(v) : 0;
  if (vary & (setOf(p.rowAxes) | setOf(p.codeAxis)))
    return std::nullopt;
  std::vector<unsigned> inner = p.depthAxes;
  size_t outer = 0;
  for (size_t i = 0; i < inner.size(); ++i)
    if (vary & setOf(inner[i]))
      outer = i + 1;
  int64_t block = p.perWord();
  for (unsigned a : ArrayRef(inner).drop_front(outer))
    block *= *info.extents[a].constant();
  // Words that are there together have one or two, and steps of several such groups whole blocks or parts of one.
  bool aligned = block == p.depth || (llvm::isPowerOf2_64(block) && 2 * block >= p.groupDepth());
  return aligned ? std::optional(block) : std::nullopt;
}

std::vector<unsigned> CodedProblem::columnAxes() const {
  std::vector<unsigned> axes = panelAxes;
  axes.push_back(columnAxis);
  return axes;
}

std::vector<unsigned> CodedProblem::allDepthAxes() const {
  std::vector<unsigned> axes = depthAxes;
  axes.push_back(codeAxis);
  return axes;
}

Expr CodedProblem::lhsStart(const BodyInfo &info) const { return atZero(info, info.exprOf(product.lhs), allDepthAxes()); }

bool CodedProblem::areConstant(kernel::GenericOp kernel) const {
  return llvm::all_of(lower::opsBelow(product.rhs), [&](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return !load || kernel.isConstant(cast<BlockArgument>(load.getRef()));
  });
}

bool CodedProblem::isCentered() const {
  FloatAttr constant;
  return zero && matchPattern(zero, m_Constant(&constant)) && constant.getValueAsDouble() == double(middle());
}

std::optional<CodedProblem> cuda::codedProblem(const BodyInfo &info) {
  kernel::ReduceOp sum = lower::onlySum(info);
  std::optional<lower::CodedProduct> product = sum ? lower::codedProduct(sum) : std::nullopt;
  if (!product || llvm::any_of(info.ops, [](Operation *op) { return isa<kernel::ContractOp, kernel::AttentionOp>(op); }))
    return std::nullopt;
  CodedProblem p{*product, {}, 0, {}, {}, {}, {}, {}, 0, 0, {}, 0, 0, 0, {}};
  if (!takeWeights(product->rhs, info, p) || !takeAxes(info, p))
    return std::nullopt;
  std::optional<int64_t> block = blockOf(info, p);
  if (!block)
    return std::nullopt;
  p.block = *block;
  for (Operation *op : info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(op)) {
      if (info.domainOf(s) != (setOf(p.rowAxes) | setOf(p.columnAxes())))
        return std::nullopt;
      p.stores.push_back(s);
    }
  return p;
}
