//===- SymbolicValue.cpp - Small integer tensors as size expressions -------===//
//
// An evaluator over the ops that shape arithmetic is made of. One table from op name to a function over the operands'
// expressions; anything else is known only where it follows from constants alone, in whatever element type.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/ElementWalk.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

namespace {

/// Shape operands are short; longer tensors are data.
constexpr int64_t kMaxElements = 1024;
/// Bounds the recursion on deep (or hostile) graphs.
constexpr unsigned kMaxDepth = 400;

using Known = std::optional<Dims>;

class Evaluator {
public:
  using Leaf = llvm::function_ref<Known(Value)>;
  Evaluator(const shape::Facts &facts, Leaf leaf) : facts(facts), leaf(leaf) {}
  Known eval(Value v, unsigned depth);
  const ConstantTensor *number(Value v, unsigned depth);

private:
  Known compute(Operation *op, unsigned depth);
  Known binary(Operation *op, ArrayRef<Known> in);
  Known gather(GatherOp op, const Dims &x, const Dims &indices);
  Known slice(SliceOp op, const Dims &x);
  Known concat(ConcatOp op, ArrayRef<Known> in);
  Known broadcast(BroadcastOp op, const Dims &x);
  Known transpose(TransposeOp op, const Dims &x);
  Known reduce(ReduceOp op, const Dims &x);
  Known scan(ScanOp op, const Dims &x);

  std::optional<ConstantTensor> computeNumber(Operation *op, unsigned depth);

  llvm::DenseMap<Value, Known> memo;
  llvm::DenseMap<Value, std::unique_ptr<ConstantTensor>> numbers;
  const shape::Facts &facts;
  Leaf leaf;
};

Known Evaluator::eval(Value v, unsigned depth) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  Operation *op = v.getDefiningOp();
  if (!type || depth > kMaxDepth || !type.hasStaticShape() || type.getNumElements() > kMaxElements ||
      !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  if (auto it = memo.find(v); it != memo.end())
    return it->second;
  Known r = op ? compute(op, depth) : std::nullopt;
  if (!r)
    if (const ConstantTensor *known = number(v, depth))
      r = llvm::map_to_vector(known->ints, [](int64_t i) { return Expr(i); });
  if (!r && leaf)
    r = leaf(v);
  if (r && int64_t(r->size()) != type.getNumElements())
    r = std::nullopt;
  return memo[v] = r;
}

Known constantValue(ConstantOp op) {
  auto dense = dyn_cast<DenseIntElementsAttr>(op.getValue());
  if (!dense)
    return std::nullopt;
  bool isUnsigned = dense.getElementType().isUnsignedInteger() || dense.getElementType().isInteger(1);
  Dims out;
  for (const APInt &v : dense.getValues<APInt>()) {
    if (v.getSignificantBits() > 64)
      return std::nullopt;
    out.push_back(Expr(isUnsigned ? int64_t(v.getLimitedValue(INT64_MAX)) : v.getSExtValue()));
  }
  return out;
}

std::optional<ConstantTensor> Evaluator::computeNumber(Operation *op, unsigned depth) {
  if (auto c = dyn_cast<ConstantOp>(op))
    return readConstant(c.getValue());
  if (auto s = dyn_cast<SizeOp>(op)) {
    ConstantTensor t(typeOf(s.getResult()));
    for (auto [i, e] : llvm::enumerate(exprsOf(s.getExprs()))) {
      std::optional<int64_t> c = facts.simplify(e).constant();
      if (!c)
        return std::nullopt;
      t.ints[i] = *c;
    }
    return t;
  }
  if (!canEvaluate(op))
    return std::nullopt;
  SmallVector<const ConstantTensor *> operands;
  for (Value v : op->getOperands()) {
    operands.push_back(number(v, depth + 1));
    if (!operands.back())
      return std::nullopt;
  }
  return evaluate(op, operands);
}

/// The elements of a value that follows from constants.
const ConstantTensor *Evaluator::number(Value v, unsigned depth) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  if (!type || depth > kMaxDepth || !type.hasStaticShape() || type.getNumElements() > kMaxElements || !isNumber(type.getElementType()) ||
      !v.getDefiningOp())
    return nullptr;
  if (auto it = numbers.find(v); it != numbers.end())
    return it->second.get();
  std::optional<ConstantTensor> t = computeNumber(v.getDefiningOp(), depth);
  auto owned = t ? std::make_unique<ConstantTensor>(std::move(*t)) : nullptr;
  return (numbers[v] = std::move(owned)).get();
}

Known iotaValue(IotaOp op) {
  ArrayRef<int64_t> shape = typeOf(op.getResult()).getShape();
  Dims out;
  forEach(shape, [&](int64_t, ArrayRef<int64_t> at) { out.push_back(Expr(at[op.getAxis()])); });
  return out;
}

Known Evaluator::compute(Operation *op, unsigned depth) {
  if (auto c = dyn_cast<ConstantOp>(op))
    return constantValue(c);
  if (auto s = dyn_cast<SizeOp>(op))
    return exprsOf(s.getExprs());
  if (auto i = dyn_cast<IotaOp>(op))
    return iotaValue(i);
  SmallVector<Known> in;
  for (Value v : op->getOperands()) {
    in.push_back(eval(v, depth + 1));
    // A select needs only the chosen side; everything else needs all operands.
    if (!in.back() && !isa<SelectOp>(op))
      return std::nullopt;
  }
  if (in.empty())
    return std::nullopt;
  if (isa<ReshapeOp>(op))
    return in[0];
  if (auto o = dyn_cast<CastOp>(op)) {
    if (!isa<IntegerType>(elementOf(o.getX())))
      return std::nullopt;
    if (!elementOf(o.getResult()).isInteger(1))
      return in[0];
    for (Expr &e : *in[0]) { // to bool: only what is decided
      std::optional<int64_t> c = e.constant();
      if (!c && !facts.provablyPositive(e))
        return std::nullopt;
      e = Expr(!c || *c != 0);
    }
    return in[0];
  }
  if (auto o = dyn_cast<GatherOp>(op))
    return gather(o, *in[0], *in[1]);
  if (auto o = dyn_cast<SliceOp>(op))
    return slice(o, *in[0]);
  if (auto o = dyn_cast<ConcatOp>(op))
    return concat(o, in);
  if (auto o = dyn_cast<BroadcastOp>(op))
    return broadcast(o, *in[0]);
  if (auto o = dyn_cast<TransposeOp>(op))
    return transpose(o, *in[0]);
  if (auto o = dyn_cast<ReduceOp>(op))
    return reduce(o, *in[0]);
  if (auto o = dyn_cast<ScanOp>(op))
    return scan(o, *in[0]);
  return binary(op, in);
}

/// 0 or 1 where the comparison is decided for all sizes.
std::optional<bool> decide(CompareKind kind, const Expr &a, const Expr &b, const shape::Facts &f) {
  bool lt = f.provablyLess(a, b), gt = f.provablyLess(b, a), eq = f.provablyEqual(a, b);
  bool le = lt || eq || f.provablyLessEqual(a, b), ge = gt || eq || f.provablyLessEqual(b, a);
  switch (kind) {
  case CompareKind::EQ:
    return eq ? std::optional<bool>(true) : lt || gt ? std::optional<bool>(false) : std::nullopt;
  case CompareKind::NE:
    return eq ? std::optional<bool>(false) : lt || gt ? std::optional<bool>(true) : std::nullopt;
  case CompareKind::LT:
    return lt ? std::optional<bool>(true) : ge ? std::optional<bool>(false) : std::nullopt;
  case CompareKind::LE:
    return le ? std::optional<bool>(true) : gt ? std::optional<bool>(false) : std::nullopt;
  case CompareKind::GT:
    return gt ? std::optional<bool>(true) : le ? std::optional<bool>(false) : std::nullopt;
  case CompareKind::GE:
    return ge ? std::optional<bool>(true) : lt ? std::optional<bool>(false) : std::nullopt;
  }
  return std::nullopt;
}

/// One element of an elementwise op.
std::optional<Expr> element(Operation *op, ArrayRef<Expr> x, const shape::Facts &f) {
  static const llvm::StringMap<std::optional<Expr> (*)(const Expr &, const Expr &)> arithmetic = {
      {"add", [](const Expr &a, const Expr &b) { return std::optional<Expr>(a + b); }},
      {"sub", [](const Expr &a, const Expr &b) { return std::optional<Expr>(a - b); }},
      {"mul", [](const Expr &a, const Expr &b) { return std::optional<Expr>(a * b); }},
      {"min", [](const Expr &a, const Expr &b) { return std::optional<Expr>(Expr::min(a, b)); }},
      {"max", [](const Expr &a, const Expr &b) { return std::optional<Expr>(Expr::max(a, b)); }}};
  StringRef name = op->getName().stripDialect();
  if (auto it = arithmetic.find(name); it != arithmetic.end())
    return it->second(x[0], x[1]);
  if (name == "neg")
    return -x[0];
  // Truncating and flooring division agree where the dividend is not negative; that is what sizes need.
  if (name == "div" || name == "floor_div" || name == "mod" || name == "rem") {
    if (!f.provablyPositive(x[1]) || (name != "floor_div" && name != "mod" && !f.provablyLessEqual(Expr(0), x[0])))
      return std::nullopt;
    return name == "div" || name == "floor_div" ? Expr::floordiv(x[0], x[1]) : Expr::mod(x[0], x[1]);
  }
  if (auto c = dyn_cast<CompareOp>(op)) {
    std::optional<bool> r = decide(c.getKind(), x[0], x[1], f);
    return r ? std::optional<Expr>(Expr(*r)) : std::nullopt;
  }
  std::optional<int64_t> a = x[0].constant(), b = x.size() > 1 ? x[1].constant() : std::nullopt;
  if (name == "not" && a && elementOf(op->getResult(0)).isInteger(1))
    return Expr(!*a);
  if (name == "and" && a && b)
    return Expr(*a & *b);
  if (name == "or" && a && b)
    return Expr(*a | *b);
  return std::nullopt;
}

Known Evaluator::binary(Operation *op, ArrayRef<Known> in) {
  if (!isa<ElementwiseInterface>(op))
    return std::nullopt;
  Dims out;
  size_t n = typeOf(op->getResult(0)).getNumElements();
  for (size_t i = 0; i < n; ++i) {
    if (isa<SelectOp>(op)) {
      std::optional<int64_t> c = in[0] ? (*in[0])[i].constant() : std::nullopt;
      if (!c || !in[*c ? 1 : 2])
        return std::nullopt;
      out.push_back((*in[*c ? 1 : 2])[i]);
      continue;
    }
    Dims x;
    for (const Known &k : in)
      x.push_back((*k)[i]);
    std::optional<Expr> e = element(op, x, facts);
    if (!e)
      return std::nullopt;
    out.push_back(*e);
  }
  return out;
}

Known Evaluator::gather(GatherOp op, const Dims &x, const Dims &indices) {
  ArrayRef<int64_t> shape = typeOf(op.getX()).getShape();
  int64_t axis = op.getAxis(), size = shape[axis], inner = 1, outer = 1;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
  Dims out;
  for (int64_t o = 0; o < outer; ++o)
    for (const Expr &index : indices) {
      std::optional<int64_t> i = index.constant();
      if (!i || *i < -size || *i >= size)
        return std::nullopt;
      for (int64_t k = 0; k < inner; ++k)
        out.push_back(x[(o * size + (*i < 0 ? *i + size : *i)) * inner + k]);
    }
  return out;
}

Known Evaluator::slice(SliceOp op, const Dims &x) {
  ArrayRef<int64_t> from = typeOf(op.getX()).getShape();
  SmallVector<int64_t> strides = stridesOf(from), starts;
  for (const Expr &e : exprsOf(op.getStarts())) {
    if (!e.constant())
      return std::nullopt;
    starts.push_back(*e.constant());
  }
  Dims out;
  bool inside = true;
  forEach(typeOf(op.getResult()).getShape(), [&](int64_t, ArrayRef<int64_t> at) {
    int64_t p = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t c = starts[d] + at[d] * op.getSteps()[d];
      inside &= c >= 0 && c < from[d];
      p += c * strides[d];
    }
    if (inside)
      out.push_back(x[p]);
  });
  return inside ? Known(out) : std::nullopt;
}

Known Evaluator::concat(ConcatOp op, ArrayRef<Known> in) {
  ArrayRef<int64_t> shape = typeOf(op.getResult()).getShape();
  int64_t axis = op.getAxis(), outer = 1, inner = 1;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
  Dims out;
  for (int64_t o = 0; o < outer; ++o)
    for (auto [k, v] : llvm::zip(in, op.getInputs())) {
      int64_t run = typeOf(v).getDimSize(axis) * inner;
      out.append(k->begin() + o * run, k->begin() + (o + 1) * run);
    }
  return out;
}

Known Evaluator::broadcast(BroadcastOp op, const Dims &x) {
  ArrayRef<int64_t> from = typeOf(op.getX()).getShape();
  SmallVector<int64_t> strides = stridesOf(from);
  Dims out;
  forEach(typeOf(op.getResult()).getShape(), [&](int64_t, ArrayRef<int64_t> at) {
    int64_t p = 0, lead = at.size() - from.size();
    for (size_t d = 0; d < from.size(); ++d)
      p += from[d] == 1 ? 0 : at[d + lead] * strides[d];
    out.push_back(x[p]);
  });
  return out;
}

Known Evaluator::transpose(TransposeOp op, const Dims &x) {
  SmallVector<int64_t> strides = stridesOf(typeOf(op.getX()).getShape());
  Dims out;
  forEach(typeOf(op.getResult()).getShape(), [&](int64_t, ArrayRef<int64_t> at) {
    int64_t p = 0;
    for (size_t d = 0; d < at.size(); ++d)
      p += at[d] * strides[op.getPerm()[d]];
    out.push_back(x[p]);
  });
  return out;
}

Known Evaluator::reduce(ReduceOp op, const Dims &x) {
  auto combine = [&](const Expr &a, const Expr &b) -> std::optional<Expr> {
    switch (op.getKind()) {
    case ReduceKind::Sum:
      return a + b;
    case ReduceKind::Prod:
      return a * b;
    case ReduceKind::Max:
      return Expr::max(a, b);
    case ReduceKind::Min:
      return Expr::min(a, b);
    default:
      return std::nullopt;
    }
  };
  if (typeOf(op.getX()).getRank() != 1 || op.getAxes().size() != 1 || x.empty())
    return std::nullopt;
  Expr total = x[0];
  for (const Expr &e : ArrayRef<Expr>(x).drop_front()) {
    std::optional<Expr> next = combine(total, e);
    if (!next)
      return std::nullopt;
    total = *next;
  }
  return Dims{total};
}

/// Of a list: sums and products.
Known Evaluator::scan(ScanOp op, const Dims &x) {
  bool sums = op.getKind() == ScanKind::Sum;
  if (typeOf(op.getX()).getRank() != 1 || (!sums && op.getKind() != ScanKind::Prod))
    return std::nullopt;
  Dims out(x.size(), Expr(0));
  Expr total(sums ? 0 : 1);
  for (size_t n = 0; n < x.size(); ++n) {
    size_t i = op.getReverse() ? x.size() - 1 - n : n;
    Expr next = sums ? total + x[i] : total * x[i];
    out[i] = op.getExclusive() ? total : next;
    total = next;
  }
  return out;
}

} // namespace

std::optional<Dims> ir::symbolicValue(Value v) {
  return symbolicValue(v, shape::Facts(), nullptr); // sizes are at least 0; nothing else is assumed
}

std::optional<ConstantTensor> ir::knownNumbers(Value v, const shape::Facts &facts) {
  Evaluator evaluator(facts, nullptr);
  const ConstantTensor *known = evaluator.number(v, 0);
  return known ? std::optional<ConstantTensor>(*known) : std::nullopt;
}

std::optional<Dims> ir::symbolicValue(Value v, const shape::Facts &facts, llvm::function_ref<std::optional<Dims>(Value)> leaf) {
  return Evaluator(facts, leaf).eval(v, 0);
}
