//===- IntegerProducts.cpp - Products of quantised operands ----------------===//
//
// Models write a product of quantised numbers with their zero points taken off first, in i32 or, between Quantize and
// Dequantize, in floats. Machines multiply bytes. So the zero points go behind the sum, as sums over the other operand, and the
// scales behind that: see docs/Rationale/Integers.md.
//
//===----------------------------------------------------------------------===//

#include "QuantisedOperand.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::opt {
#define GEN_PASS_DEF_INTEGERPRODUCTS
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using namespace lathe::opt;
using shape::Expr;

namespace {

class Rewriter {
public:
  Rewriter(OpBuilder &b, Operation *op, const shape::Facts &facts, bool weights, bool depthwise, bool computed)
      : g(b, op->getLoc(), facts), weights(weights), depthwise(depthwise), computed(computed) {}
  bool rewrite(ContractOp op);
  bool keepWeights(ContractOp op);
  bool rewrite(ConvOp op);

private:
  bool multipliesLines(ConvOp op, const Quantised &x, const Quantised &w);
  bool rewriteDepthwise(ConvOp op, const Quantised &x, const Quantised &w);
  std::optional<Quantised> match(Value v) { return matchQuantised(g, v, CodesOf::Integers); }
  bool shrink(Quantised &q);
  std::optional<std::pair<Quantised, Quantised>> operandsOf(Operation *op);
  Value sumsOf(Value bytes, ArrayRef<int64_t> axes);
  Value placed(Value v, ContractOp op, bool lhs) { return placedAmongResults(g, v, op, lhs); }
  Value padded(const Quantised &x, ConvOp &op, SmallVector<Expr> &pads);
  Value perChannel(Value v, const Dims &dims) { return spreadOverChannels(g, v, dims); }
  Value scaled(Value sum, Value x, Value y, Operation *op);
  Type i32() { return g.b.getI32Type(); }

  GraphBuilder g;
  bool weights;   ///< that are quantised stay bytes beside floats
  bool depthwise; ///< convolutions of single channels stay bytes
  bool computed;  ///< products of two operands that are no constants, too
};

} // namespace

//===----------------------------------------------------------------------===//
// What an operand is
//===----------------------------------------------------------------------===//

/// A constant as signed bytes, without a zero point where its numbers fit.
bool Rewriter::shrink(Quantised &q) {
  auto c = q.bytes.getDefiningOp<ConstantOp>();
  std::optional<ConstantTensor> t = c ? readConstant(c.getValue()) : std::nullopt;
  if (!t || (elementOf(q.bytes).isSignlessInteger(8) && !q.zero))
    return false;
  std::optional<ConstantTensor> zero = q.zero ? numbersOf(q.zero) : std::nullopt;
  if (q.zero && !zero)
    return false;
  ConstantTensor less = *t;
  SmallVector<int64_t> strides = q.zero ? stridesOf(zero->shape()) : SmallVector<int64_t>();
  bool fits = true;
  int64_t at = 0;
  std::vector<int64_t> place(t->shape().size(), 0);
  for (int64_t i = 0; i < t->size(); ++i) {
    less.ints[i] -= q.zero ? zero->ints[at] : 0;
    fits &= less.ints[i] >= -128 && less.ints[i] <= 127;
    for (size_t d = place.size(); d-- > 0;) { // the next place, and where its zero point is
      int64_t step = q.zero && zero->shape()[d] > 1 ? strides[d] : 0;
      at += step;
      if (++place[d] < t->shape()[d])
        break;
      at -= step * t->shape()[d];
      place[d] = 0;
    }
  }
  bool flips = !fits && elementOf(q.bytes).isUnsignedInteger();
  if (!fits && !flips)
    return false;
  if (flips)
    for (int64_t i = 0; i < t->size(); ++i)
      less.ints[i] = t->ints[i] - 128;
  less.type = RankedTensorType::get(t->shape(), g.b.getIntegerType(8));
  q.bytes = g.b.create<ConstantOp>(g.loc, writeConstant(less, "bytes"));
  q.zero = flips ? g.binary<SubOp>(q.zero ? q.zero : g.splat(0, Dims(typeOf(q.bytes).getRank(), Expr(1)), i32()), 128) : Value();
  return true;
}

/// Both operands, where both are quantised. In floats one is a constant, or both are computed: what these are is for attention's matching to see first.
std::optional<std::pair<Quantised, Quantised>> Rewriter::operandsOf(Operation *op) {
  Type element = elementOf(op->getResult(0));
  if (!element.isSignlessInteger(32) && !element.isF32())
    return std::nullopt;
  if (isByte(elementOf(op->getOperand(0))) || isConstant(op->getOperand(0)))
    return std::nullopt;
  std::optional<Quantised> x = match(op->getOperand(0)), y = x ? match(op->getOperand(1)) : std::nullopt;
  bool known = y && (isConstant(y->bytes) || (computed && isa<ContractOp>(op)));
  if (!y || (element.isF32() && (!known || !x->scale || !y->scale)))
    return std::nullopt;
  shrink(*y);
  return std::pair(*x, *y);
}

//===----------------------------------------------------------------------===//
// What goes behind the sum
//===----------------------------------------------------------------------===//

/// Sums of bytes over axes, which stay as dimensions of 1; those of a constant in memory at once.
Value Rewriter::sumsOf(Value bytes, ArrayRef<int64_t> axes) {
  auto c = bytes.getDefiningOp<ConstantOp>();
  std::optional<ArrayRef<char>> raw = c ? rawBytes(c.getValue()) : std::nullopt;
  if (!raw)
    return g.reduce(ReduceKind::Sum, g.cast(bytes, i32()), axes, /*keepDims=*/true);
  ArrayRef<int64_t> shape = typeOf(bytes).getShape();
  SmallVector<int64_t> kept(shape);
  for (int64_t a : axes)
    kept[a] = 1;
  ConstantTensor sums(RankedTensorType::get(kept, i32()));
  SmallVector<int64_t> strides = stridesOf(kept), place(shape.size(), 0);
  bool isSigned = elementOf(bytes).isSignlessInteger();
  for (char x : *raw) {
    int64_t at = 0;
    for (size_t d = 0; d < place.size(); ++d)
      at += kept[d] > 1 ? place[d] * strides[d] : 0;
    sums.ints[at] = int32_t(uint32_t(sums.ints[at]) + uint32_t(isSigned ? int8_t(x) : int(uint8_t(x))));
    for (size_t d = place.size(); d-- > 0 && ++place[d] == shape[d];)
      place[d] = 0;
  }
  return g.b.create<ConstantOp>(g.loc, writeConstant(sums, "sums"));
}

/// `sum` in place of the op's result, which is a float times both scales.
Value Rewriter::scaled(Value sum, Value x, Value y, Operation *op) {
  Type element = elementOf(op->getResult(0));
  if (!isa<FloatType>(element))
    return sum;
  return g.mul(g.cast(sum, element), g.mul(g.cast(x, element), g.cast(y, element)));
}

/// Floats times a quantised constant: it is multiplied as the bytes that it is, and scales per column go behind the sum.
bool Rewriter::keepWeights(ContractOp op) {
  if (!elementOf(op.getLhs()).isF32() || !elementOf(op.getResult()).isF32() || !op.getRhsBatch().empty() || op.getRhsContract().size() != 1)
    return false;
  std::optional<Quantised> y = match(op.getRhs());
  if (!y || !y->scale || typeOf(op.getRhs()).getRank() != 2 || !isOneAlong(y->scale, op.getRhsContract()))
    return false;
  shrink(*y);
  if (y->zero || !elementOf(y->bytes).isSignlessInteger(8) || !y->bytes.getDefiningOp<ConstantOp>())
    return false;
  Value sum = g.b.create<ContractOp>(g.loc, op.getResult().getType(), op.getLhs(), y->bytes, op.getLhsBatch(), op.getRhsBatch(),
                                     op.getLhsContract(), op.getRhsContract());
  op.getResult().replaceAllUsesWith(g.mul(sum, placed(y->scale, op, false)));
  op.erase();
  return true;
}

bool Rewriter::rewrite(ContractOp op) {
  std::optional<std::pair<Quantised, Quantised>> operands = operandsOf(op);
  if (!operands)
    return weights && keepWeights(op);
  auto [x, y] = *operands;
  ArrayRef<int64_t> xGone = op.getLhsContract(), yGone = op.getRhsContract();
  if (!isOneAlong(x.zero, xGone) || !isOneAlong(x.scale, xGone) || !isOneAlong(y.zero, yGone) || !isOneAlong(y.scale, yGone))
    return false;
  Value sum = g.b.create<ContractOp>(g.loc, tensorType(dimsOf(op.getResult()), i32()), x.bytes, y.bytes, op.getLhsBatch(),
                                     op.getRhsBatch(), xGone, yGone);
  if (x.zero)
    sum = g.sub(sum, g.mul(placed(x.zero, op, true), placed(sumsOf(y.bytes, yGone), op, false)));
  if (y.zero)
    sum = g.sub(sum, g.mul(placed(y.zero, op, false), placed(sumsOf(x.bytes, xGone), op, true)));
  if (x.zero && y.zero) {
    Expr depth(1);
    for (int64_t d : xGone)
      depth = depth * dimsOf(x.bytes)[d];
    Value count = g.broadcastTo(g.cast(g.size(g.facts.simplify(depth)), i32()), dimsOf(op.getResult()));
    sum = g.add(sum, g.mul(count, g.mul(placed(x.zero, op, true), placed(y.zero, op, false))));
  }
  Value r = x.scale && y.scale && isa<FloatType>(elementOf(op.getResult()))
                ? scaled(sum, placed(x.scale, op, true), placed(y.scale, op, false), op)
                : sum;
  op.getResult().replaceAllUsesWith(r);
  op.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The image with its border made: a border of zeros is one of zero points in bytes.
Value Rewriter::padded(const Quantised &x, ConvOp &op, SmallVector<Expr> &pads) {
  Dims given = exprsOf(op.getPads());
  pads.assign(given.begin(), given.end());
  if (!x.zero || llvm::all_of(pads, [](const Expr &e) { return e.isZero(); }))
    return x.bytes;
  size_t spatial = pads.size() / 2;
  Dims low(2, Expr(0)), high(2, Expr(0)), dims = dimsOf(x.bytes);
  for (size_t s = 0; s < spatial; ++s) {
    low.push_back(pads[s]);
    high.push_back(pads[spatial + s]);
    dims[s + 2] = g.facts.simplify(dims[s + 2] + pads[s] + pads[spatial + s]);
  }
  pads.assign(2 * spatial, Expr(0));
  Value zero = g.reshape(g.cast(x.zero, elementOf(x.bytes)), {});
  return g.b.create<PadOp>(g.loc, tensorType(dims, elementOf(x.bytes)), x.bytes, zero, exprArray(g.b, low), exprArray(g.b, high));
}

/// A zero point that is a byte, or lies within the bytes' range.
static bool isByteZero(Value zero) {
  if (std::optional<ConstantTensor> t = zero ? numbersOf(zero) : std::nullopt)
    return llvm::all_of(t->ints, [](int64_t z) { return z >= -128 && z <= 255; });
  while (zero && !isByte(elementOf(zero)) && isa_and_nonnull<CastOp, ReshapeOp>(zero.getDefiningOp()))
    zero = zero.getDefiningOp()->getOperand(0);
  return !zero || isByte(elementOf(zero));
}

/// Whether four taps of a line are multiplied at a time, as bytes: of signed weights in one or two dimensions, and an image that is
/// read at places a tap or a result apart.
bool Rewriter::multipliesLines(ConvOp op, const Quantised &x, const Quantised &w) {
  constexpr int64_t reach = 5; // of four taps in a vector of 16 bytes, from one of four results to the next
  constexpr int64_t mostTaps = 64; // of a line
  if (!depthwise || dimsOf(w.bytes).back().constant().value_or(mostTaps + 1) > mostTaps || w.zero || !elementOf(w.bytes).isSignlessInteger() || op.getStrides().size() > 2 || (x.zero && !numbersOf(x.zero)))
    return false;
  for (auto [stride, dilation] : llvm::zip(op.getStrides(), op.getDilations()))
    if ((stride != 1 && dilation != 1) || stride + dilation > reach)
      return false;
  return true;
}

/// A channel by itself has no neighbours to multiply four at a time but its taps. Other windows are floats: products of bytes and sums of so few of
/// them are exact in f32, whatever their order.
bool Rewriter::rewriteDepthwise(ConvOp op, const Quantised &x, const Quantised &w) {
  constexpr int64_t mostTaps = 114; // of at most 383 * 383 each: below 2^24
  Dims filter = dimsOf(w.bytes), dims = dimsOf(op.getResult());
  Expr taps(1);
  for (const Expr &d : llvm::drop_begin(filter))
    taps = taps * d;
  if (op.getGroups() == 1 || !filter[1].isOne() || !isConstant(w.bytes) || taps.constant().value_or(mostTaps + 1) > mostTaps ||
      !isByteZero(x.zero) || !isByteZero(w.zero) || multipliesLines(op, x, w))
    return false;
  auto whole = [&](const Quantised &q) {
    Value v = g.cast(q.bytes, g.b.getF32Type());
    return q.zero ? g.sub(v, g.broadcastTo(g.cast(q.zero, g.b.getF32Type()), dimsOf(v))) : v;
  };
  Value sum = g.b.create<ConvOp>(g.loc, tensorType(dims, g.b.getF32Type()), whole(x), whole(w), op.getStrides(), op.getDilations(),
                                 op.getPads(), op.getGroups());
  Type element = elementOf(op.getResult());
  Value r = isa<FloatType>(element) ? scaled(sum, g.broadcastTo(g.reshape(x.scale, {}), dims), perChannel(w.scale, dims), op)
                                    : g.cast(sum, element);
  op.getResult().replaceAllUsesWith(r);
  op.erase();
  return true;
}

bool Rewriter::rewrite(ConvOp op) {
  std::optional<std::pair<Quantised, Quantised>> operands = operandsOf(op);
  if (!operands)
    return false;
  auto [x, w] = *operands;
  SmallVector<int64_t> inner;
  for (int64_t d = 1; d < typeOf(w.bytes).getRank(); ++d)
    inner.push_back(d);
  if ((x.zero && !isScalar(x.zero)) || (x.scale && !isScalar(x.scale)) || !isOneAlong(w.zero, inner) || !isOneAlong(w.scale, inner))
    return false;
  if (rewriteDepthwise(op, x, w))
    return true;
  if (w.zero && op.getGroups() != 1) // a sum over each group of channels would be a convolution of its own kind
    return false;
  Dims dims = dimsOf(op.getResult());
  SmallVector<Expr> pads;
  Value image = padded(x, op, pads);
  auto convolve = [&](Value filter, const Dims &to) -> Value {
    return g.b.create<ConvOp>(g.loc, tensorType(to, i32()), image, filter, op.getStrides(), op.getDilations(), exprArray(g.b, pads),
                              op.getGroups());
  };
  auto scalarOf = [&](Value v) { return g.broadcastTo(g.reshape(v, {}), dims); };
  Value sum = convolve(w.bytes, dims);
  if (x.zero)
    sum = g.sub(sum, g.mul(scalarOf(x.zero), perChannel(sumsOf(w.bytes, inner), dims)));
  if (w.zero) {
    Dims one = dimsOf(w.bytes), single = dims;
    one[0] = single[1] = Expr(1);
    Value windows = g.broadcastTo(convolve(g.splat(1, one, g.b.getIntegerType(8)), single), dims);
    sum = g.sub(sum, g.mul(perChannel(w.zero, dims), windows));
    Expr count(1);
    for (int64_t d : inner)
      count = count * dimsOf(w.bytes)[d];
    if (x.zero) {
      Value depth = g.broadcastTo(g.cast(g.size(g.facts.simplify(count)), i32()), dims);
      sum = g.add(sum, g.mul(depth, g.mul(scalarOf(x.zero), perChannel(w.zero, dims))));
    }
  }
  Value r = isa<FloatType>(elementOf(op.getResult())) ? scaled(sum, scalarOf(x.scale), perChannel(w.scale, dims), op) : sum;
  op.getResult().replaceAllUsesWith(r);
  op.erase();
  return true;
}

namespace {
struct IntegerProductsPass : opt::impl::IntegerProductsBase<IntegerProductsPass> {
  using IntegerProductsBase::IntegerProductsBase;

  void runOnOperation() override {
    shape::Facts facts = factsOf(getOperation());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Operation *> products;
      func.walk([&](Operation *op) {
        if (isa<ContractOp, ConvOp>(op) && !isByte(elementOf(op->getOperand(0))))
          products.push_back(op);
      });
      for (Operation *op : products) {
        OpBuilder b(op);
        Rewriter r(b, op, facts, weights, depthwise, computed);
        if (auto c = dyn_cast<ContractOp>(op))
          r.rewrite(c);
        else
          r.rewrite(cast<ConvOp>(op));
      }
    }
  }
};
} // namespace
