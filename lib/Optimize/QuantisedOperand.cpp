//===- QuantisedOperand.cpp - What operands of products are quantised from -===//

#include "QuantisedOperand.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Dialect/Lathe/Evaluate.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using namespace lathe::opt;
using shape::Expr;

bool opt::isByte(Type t) {
  auto i = dyn_cast<IntegerType>(t);
  return i && i.getWidth() == 8;
}

static bool isOne(const Expr &e) { return e.isOne(); }
bool opt::isScalar(Value v) { return llvm::all_of(dimsOf(v), isOne); }

bool opt::isOneAlong(Value v, ArrayRef<int64_t> axes) {
  Dims dims = v ? dimsOf(v) : Dims();
  return !v || llvm::all_of(axes, [&](int64_t a) { return dims[a].isOne(); });
}

bool opt::isConstant(Value v) {
  while (isa_and_nonnull<TransposeOp, ReshapeOp, BitcastOp>(v.getDefiningOp()))
    v = v.getDefiningOp()->getOperand(0);
  return v.getDefiningOp<ConstantOp>() != nullptr;
}

std::optional<ConstantTensor> opt::numbersOf(Value v) {
  Operation *op = v.getDefiningOp();
  if (auto c = dyn_cast_or_null<ConstantOp>(op))
    return readConstant(c.getValue());
  if (!op || !canEvaluate(op) || op->getNumOperands() != 1)
    return std::nullopt;
  std::optional<ConstantTensor> x = numbersOf(op->getOperand(0));
  return x ? evaluate(op, {&*x}) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Between an operand and the bytes that it is made of: the filter of a transposed convolution is rearranged dimension by dimension.
constexpr unsigned mostOps = 24;

namespace {
class Matcher {
public:
  Matcher(GraphBuilder &g, CodesOf codes) : g(g), codes(codes) {}
  std::optional<Quantised> match(Value v, unsigned depth = 0);

private:
  std::optional<Quantised> matchPart(Operation *op, unsigned depth);
  std::optional<Quantised> matchView(Operation *op, unsigned depth);
  std::optional<Quantised> matchCast(CastOp op, unsigned depth);
  std::optional<Quantised> matchConstant(Value v);
  Value small(Value v, int64_t rank);
  bool isCode(Type element) const { return codes == CodesOf::Integers ? isByte(element) : isFloat8(element); }

  GraphBuilder &g;
  CodesOf codes;
};
} // namespace

/// The value before it was spread to its dimensions, as a tensor of `rank` dimensions; null where it is no spread value.
Value Matcher::small(Value v, int64_t rank) {
  auto ranked = [&](Value x) {
    Dims dims(rank - typeOf(x).getRank(), Expr(1)), own = dimsOf(x);
    dims.append(own.begin(), own.end());
    return g.reshape(x, dims);
  };
  if (auto spread = v.getDefiningOp<BroadcastOp>())
    return ranked(spread.getX());
  if (auto cast = v.getDefiningOp<CastOp>()) {
    Value below = small(cast.getX(), rank);
    return below ? g.cast(below, elementOf(v)) : Value();
  }
  if (std::optional<double> splat = splatValue(v))
    return g.splat(*splat, Dims(rank, Expr(1)), elementOf(v));
  return v.getDefiningOp<ConstantOp>() ? v : Value();
}

/// Known numbers in i32 that fit into bytes. (Of a model in floats, all weights are asked: nothing of them is read.)
std::optional<Quantised> Matcher::matchConstant(Value v) {
  auto c = codes == CodesOf::Integers ? v.getDefiningOp<ConstantOp>() : ConstantOp();
  bool integers = c && isa<IntegerType>(elementOf(v));
  std::optional<ConstantTensor> t = integers ? readConstant(c.getValue()) : std::nullopt;
  if (!t || llvm::any_of(t->ints, [](int64_t x) { return x < -128 || x > 127; }))
    return std::nullopt;
  t->type = RankedTensorType::get(t->type.getShape(), g.b.getIntegerType(8));
  return Quantised{g.b.create<ConstantOp>(g.loc, writeConstant(*t, "bytes")), {}, {}};
}

/// A part of constant bytes without a zero point, or what surrounds them with zeros (the filter of a transposed convolution): constant bytes.
std::optional<Quantised> Matcher::matchPart(Operation *op, unsigned depth) {
  std::optional<Quantised> q = match(op->getOperand(0), depth + 1);
  std::optional<ConstantTensor> bytes = q && (!q->scale || isScalar(q->scale)) ? numbersOf(q->bytes) : std::nullopt;
  std::optional<ConstantTensor> zeros = bytes && q->zero ? numbersOf(q->zero) : std::nullopt;
  bool none = !q || !q->zero || (zeros && llvm::all_of(zeros->ints, [](int64_t z) { return z == 0; }));
  auto pad = dyn_cast<PadOp>(op);
  if (!bytes || !none || codes != CodesOf::Integers || (pad && splatValue(pad.getValue()) != std::optional(0.0)))
    return std::nullopt;
  Type byte = elementOf(q->bytes);
  SmallVector<Value> operands{q->bytes};
  SmallVector<const ConstantTensor *> numbers{&*bytes};
  std::optional<ConstantTensor> border;
  if (pad) {
    operands.push_back(g.scalar(0, byte));
    border = numbersOf(operands.back());
    numbers.push_back(&*border);
  }
  OperationState state(g.loc, op->getName(), operands, tensorType(dimsOf(op->getResult(0)), byte), op->getAttrs());
  Operation *ofBytes = g.b.create(state); // the same op, for its types and attributes alone
  std::optional<ConstantTensor> part = evaluate(ofBytes, numbers);
  ofBytes->erase();
  if (!part)
    return std::nullopt;
  Value scale = q->scale ? g.reshape(q->scale, Dims(typeOf(op->getResult(0)).getRank(), Expr(1))) : Value();
  return Quantised{g.b.create<ConstantOp>(g.loc, writeConstant(*part, "bytes")), {}, scale};
}

std::optional<Quantised> Matcher::matchView(Operation *op, unsigned depth) {
  std::optional<Quantised> q = match(op->getOperand(0), depth + 1);
  if (!q)
    return std::nullopt;
  Dims dims = dimsOf(op->getResult(0));
  auto each = [&](auto view) {
    for (Value *part : {&q->bytes, &q->zero, &q->scale})
      if (*part)
        *part = view(*part, part == &q->bytes);
  };
  if (auto t = dyn_cast<TransposeOp>(op)) {
    each([&](Value v, bool) { return g.transpose(v, t.getPerm()); });
  } else if (isa<BroadcastOp>(op)) {
    each([&](Value v, bool whole) {
      Dims leading(dims.size() - typeOf(v).getRank(), Expr(1)), own = dimsOf(v);
      leading.append(own.begin(), own.end());
      return whole ? g.broadcastTo(v, dims) : g.reshape(v, leading);
    });
  } else {
    if ((q->zero && !isScalar(q->zero)) || (q->scale && !isScalar(q->scale)))
      return std::nullopt;
    each([&](Value v, bool whole) { return g.reshape(v, whole ? dims : Dims(dims.size(), Expr(1))); });
  }
  return q;
}

/// From bytes; and of floats of 8 bits between floats, which the product's sum is wider than.
std::optional<Quantised> Matcher::matchCast(CastOp op, unsigned depth) {
  Type from = elementOf(op.getX());
  if (isCode(from))
    return Quantised{op.getX(), {}, {}};
  bool betweenFloats = isa<FloatType>(from) && isa<FloatType>(elementOf(op.getResult()));
  return codes == CodesOf::Floats && betweenFloats ? match(op.getX(), depth + 1) : std::nullopt;
}

std::optional<Quantised> Matcher::match(Value v, unsigned depth) {
  Operation *op = v.getDefiningOp();
  if (!op || depth > mostOps)
    return std::nullopt;
  int64_t rank = typeOf(v).getRank();
  if (isa<TransposeOp, BroadcastOp, ReshapeOp>(op))
    return matchView(op, depth);
  if (isa<SliceOp, PadOp>(op))
    return matchPart(op, depth);
  if (isa<ConstantOp>(op))
    return matchConstant(v);
  if (auto cast = dyn_cast<CastOp>(op))
    return matchCast(cast, depth);
  if (!isa<SubOp, MulOp>(op))
    return std::nullopt;
  unsigned codesAt = 0;
  std::optional<Quantised> q = match(op->getOperand(0), depth + 1);
  if (!q && codes == CodesOf::Floats && isa<MulOp>(op)) // scale * codes
    q = match(op->getOperand(codesAt = 1), depth + 1);
  Value other = q && !q->scale ? small(op->getOperand(1 - codesAt), rank) : Value();
  if (!other || (isa<SubOp>(op) && q->zero) || (isa<MulOp>(op) && !isa<FloatType>(elementOf(v))))
    return std::nullopt;
  if (isa<MulOp>(op)) {
    q->scale = other;
  } else if (codes == CodesOf::Integers) {
    q->zero = g.cast(other, g.b.getI32Type());
  } else { // formats allow a zero point of floats, and ask for 0
    std::optional<ConstantTensor> zeros = numbersOf(other);
    if (!zeros || llvm::any_of(zeros->floats, [](double x) { return x != 0; }))
      return std::nullopt;
  }
  return q;
}

std::optional<Quantised> opt::matchQuantised(GraphBuilder &g, Value v, CodesOf codes) { return Matcher(g, codes).match(v); }

//===----------------------------------------------------------------------===//
// Behind the sum
//===----------------------------------------------------------------------===//

Value opt::placedAmongResults(GraphBuilder &g, Value v, ContractOp op, bool lhs) {
  ArrayRef<int64_t> batch = lhs ? op.getLhsBatch() : op.getRhsBatch(), gone = lhs ? op.getLhsContract() : op.getRhsContract();
  SmallVector<int64_t> perm(batch);
  int64_t rank = typeOf(v).getRank();
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(gone, d))
      perm.push_back(d);
  size_t own = perm.size(), others = typeOf(op.getResult()).getRank() - own;
  perm.append(gone.begin(), gone.end());
  Dims dims = dimsOf(g.transpose(v, perm));
  dims.resize(own);
  dims.insert(dims.begin() + (lhs ? own : batch.size()), others, Expr(1));
  return g.broadcastTo(g.reshape(g.transpose(v, perm), dims), dimsOf(op.getResult()));
}

Value opt::spreadOverChannels(GraphBuilder &g, Value v, const Dims &dims) {
  Dims at(dims.size(), Expr(1));
  at[1] = dimsOf(v)[0];
  return g.broadcastTo(g.reshape(v, at), dims);
}
