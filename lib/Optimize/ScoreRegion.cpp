//===- ScoreRegion.cpp - Tensor expressions as the region of an attention --===//

#include "ScoreRegion.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using namespace lathe::ir;
using shape::Expr;

/// Bounds the recursion over the graph.
constexpr unsigned kMaxDepth = 200;

/// The region computes in f32 where the model has half types: the score itself is f32.
static bool isHalf(Type t) { return t.isF16() || t.isBF16(); }

ScoreRegion::ScoreRegion(GraphBuilder &outside, ArrayRef<Expr> base)
    : outside(outside), axes(outside.facts), base(base.begin(), base.end()), body(std::make_unique<Block>()),
      inside(outside.b.getContext()) {
  for (const Expr &e : base)
    axes.add(e);
  score = body->addArgument(inside.getF32Type(), outside.loc);
  for (unsigned i = 0; i < 4; ++i)
    body->addArgument(inside.getI64Type(), outside.loc);
  inside.setInsertionPointToEnd(body.get());
}

ScoreRegion::~ScoreRegion() {
  if (body) // not handed over: the ops inside refer to one another
    body->dropAllDefinedValueUses();
}

void ScoreRegion::setFactor(double factor) {
  if (factor != 1)
    score = inside.create<arith::MulFOp>(outside.loc, score, emitConstant(factor, inside.getF32Type()));
}

//===----------------------------------------------------------------------===//
// Properties of tensors
//===----------------------------------------------------------------------===//

bool ScoreRegion::dependsOnSource(Value v, unsigned depth) {
  if (v == source)
    return true;
  Operation *op = v.getDefiningOp();
  if (!op || depth > kMaxDepth || !(isView(op) || isa<ElementwiseInterface>(op)))
    return false;
  if (auto it = dependent.find(v); it != dependent.end())
    return it->second;
  bool any = false;
  for (Value x : op->getOperands())
    any |= dependsOnSource(x, depth + 1);
  return dependent[v] = any;
}

bool ScoreRegion::isIndexOnly(Value v, unsigned depth) {
  Operation *op = v.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return false;
  if (isa<IotaOp, SizeOp>(op) || splatValue(v))
    return true;
  if (!isView(op) && !isa<ElementwiseInterface>(op))
    return false;
  if (auto it = indexOnly.find(v); it != indexOnly.end())
    return it->second;
  bool all = true;
  for (Value x : op->getOperands())
    all = all && isIndexOnly(x, depth + 1);
  return indexOnly[v] = all;
}

bool ScoreRegion::spansMatrix(const Indices &at) const {
  bool q = false, k = false;
  for (const Index &i : at) {
    q |= llvm::is_contained(i.axes, unsigned(Q));
    k |= llvm::is_contained(i.axes, unsigned(K));
  }
  return q && k;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value ScoreRegion::promote(Value x) {
  return isHalf(x.getType()) ? Value(inside.create<arith::ExtFOp>(outside.loc, inside.getF32Type(), x)) : x;
}

Value ScoreRegion::emitConstant(double value, Type element) {
  Type type = isHalf(element) ? inside.getF32Type() : signless(element);
  if (isa<FloatType>(type))
    return inside.create<arith::ConstantOp>(outside.loc, inside.getFloatAttr(type, roundTo(value, type)));
  APInt bits(type.getIntOrFloatBitWidth(), uint64_t(int64_t(value)), /*isSigned=*/true);
  return inside.create<arith::ConstantOp>(outside.loc, inside.getIntegerAttr(type, bits));
}

Value ScoreRegion::addExtra(Value operand, const ExtraOrigin &origin) {
  for (auto [i, v] : llvm::enumerate(extraOperands))
    if (v == operand)
      return body->getArgument(1 + i);
  unsigned place = 1 + extraOperands.size();
  extraOperands.push_back(operand);
  origins.push_back(origin);
  return body->insertArgument(place, signless(elementOf(operand)), outside.loc);
}

Value ScoreRegion::sizeValue(const Expr &e) {
  if (std::optional<int64_t> c = e.constant())
    return inside.create<arith::ConstantOp>(outside.loc, inside.getI64IntegerAttr(*c));
  Value &operand = extraByKey["size " + e.str()];
  if (!operand)
    operand = outside.reshape(outside.size(e), Dims(4, Expr(1)));
  return addExtra(operand, {Value(), {}, e});
}

Value ScoreRegion::indexValue(const Index &i) {
  Value sum;
  for (unsigned a : i.axes) {
    if (sum)
      sum = inside.create<arith::MulIOp>(outside.loc, sum, sizeValue(axes.extent(a)));
    sum = sum ? Value(inside.create<arith::AddIOp>(outside.loc, sum, axisArgument(a))) : axisArgument(a);
  }
  if (!sum)
    return sizeValue(i.offset);
  if (i.step != 1)
    sum = inside.create<arith::MulIOp>(outside.loc, sum, sizeValue(Expr(i.step)));
  return i.offset.isZero() ? sum : inside.create<arith::AddIOp>(outside.loc, sum, sizeValue(i.offset));
}

//===----------------------------------------------------------------------===//
// Tensors at indices
//===----------------------------------------------------------------------===//

Value ScoreRegion::emit(Value tensor, const Indices &at, unsigned depth) {
  if (depth > kMaxDepth)
    return {};
  if (tensor == source) {
    if (sourceAt && !(*sourceAt == at))
      return {};
    sourceAt = at;
    return score;
  }
  if (elementOf(tensor).isF64() && spansMatrix(at))
    return {}; // the score is f32
  if (std::optional<double> c = splatValue(tensor))
    return emitConstant(*c, elementOf(tensor));
  auto key = std::make_pair(tensor.getAsOpaquePointer(), str(at));
  if (auto it = emitted.find(key); it != emitted.end())
    return it->second;
  Operation *op = tensor.getDefiningOp();
  bool onPath = dependsOnSource(tensor);
  bool cheap = op && (isView(op) || isa<GatherOp, GatherNdOp, ConstantOp>(op) || (isa<ElementwiseInterface>(op) && !isCostly(op)));
  Value scalar;
  // What costs much and does not differ between all elements is computed once, outside.
  bool indices = isIndexOnly(tensor) && (cheap || spansMatrix(at) || isa_and_nonnull<IotaOp, SizeOp>(op));
  bool gather = isa_and_nonnull<GatherOp, GatherNdOp>(op); // worth it where it reads along an axis; declines otherwise
  if (op && (onPath || indices || gather || (cheap && spansMatrix(at))))
    scalar = emitInline(op, at, depth + 1);
  if (!scalar && !onPath)
    scalar = emitExtra(tensor, at);
  return emitted[key] = scalar;
}

Value ScoreRegion::emitInline(Operation *op, const Indices &at, unsigned depth) {
  if (isa<ElementwiseInterface>(op))
    return emitElementwise(op, at, depth);
  if (isView(op)) {
    std::optional<Indices> inner = axes.operandOf(op, at);
    return inner ? emit(op->getOperand(0), *inner, depth) : Value();
  }
  if (auto iota = dyn_cast<IotaOp>(op))
    return emitIota(iota, at);
  if (auto size = dyn_cast<SizeOp>(op)) {
    std::optional<int64_t> place = at.empty() ? 0 : at[0].axes.empty() ? at[0].offset.constant() : std::nullopt;
    Dims exprs = exprsOf(size.getExprs());
    return place && *place >= 0 && *place < int64_t(exprs.size()) ? sizeValue(exprs[*place]) : Value();
  }
  if (auto constant = dyn_cast<ConstantOp>(op))
    return emitTable(constant, at);
  return isa<GatherOp, GatherNdOp>(op) ? emitGather(op, at, depth) : Value();
}

Value ScoreRegion::emitElementwise(Operation *op, const Indices &at, unsigned depth) {
  SmallVector<Value> scalars;
  for (Value x : op->getOperands()) {
    scalars.push_back(emit(x, at, depth));
    if (!scalars.back())
      return {};
  }
  if (isa<CastOp>(op))
    return emitCast(op, scalars[0]);
  if (Value decided = isa<CompareOp>(op) ? emitIntegerCompare(op, scalars) : Value())
    return decided;
  Value r = buildScalar(op, inside, outside.loc, scalars);
  return r ? promote(r) : r;
}

/// Comparisons of indices with a constant, as exported masks have them: that an index is not negative is known, and one
/// that was converted to a float is compared as an integer (which targets understand as a bound).
Value ScoreRegion::emitIntegerCompare(Operation *op, ValueRange scalars) {
  auto compare = cast<CompareOp>(op);
  std::optional<double> bound = splatValue(compare.getRhs());
  if (!bound)
    return {};
  if (auto index = dyn_cast<BlockArgument>(scalars[0]))
    return compare.getKind() == CompareKind::GE && *bound == 0 && index.getArgNumber() > extraOperands.size()
               ? emitConstant(1, inside.getI1Type())
               : Value();
  auto converted = scalars[0].getDefiningOp<arith::SIToFPOp>();
  // Below 2^23 both the bound and its neighbours are floats, so that rounding the other side cannot cross it.
  if (!converted || !converted.getIn().getType().isInteger(64) || std::trunc(*bound) != *bound || std::fabs(*bound) > (1 << 23))
    return {};
  using P = arith::CmpIPredicate;
  static const P predicates[] = {P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge};
  return inside.create<arith::CmpIOp>(outside.loc, predicates[unsigned(compare.getKind())], converted.getIn(),
                                      sizeValue(Expr(int64_t(*bound))));
}

Value ScoreRegion::emitCast(Operation *op, Value x) {
  Type to = elementOf(op->getResult(0));
  Type scalar = isHalf(to) ? inside.getF32Type() : signless(to);
  if (isa<FloatType>(x.getType()) && isa<FloatType>(scalar)) {
    unsigned from = x.getType().getIntOrFloatBitWidth(), width = scalar.getIntOrFloatBitWidth();
    if (from == width)
      return x;
    return from < width ? Value(inside.create<arith::ExtFOp>(outside.loc, scalar, x))
                        : Value(inside.create<arith::TruncFOp>(outside.loc, scalar, x));
  }
  Value r = buildScalar(op, inside, outside.loc, {x});
  return r ? promote(r) : r;
}

Value ScoreRegion::emitIota(IotaOp op, const Indices &at) {
  Value i = indexValue(at[op.getAxis()]);
  Type element = elementOf(op.getResult()), type = isHalf(element) ? inside.getF32Type() : signless(element);
  if (isa<FloatType>(type))
    return inside.create<arith::SIToFPOp>(outside.loc, type, i);
  if (type.isInteger(64))
    return i;
  return type.isInteger(1) ? Value() : Value(inside.create<arith::TruncIOp>(outside.loc, type, i));
}

std::optional<Index> ScoreRegion::tracedIndex(Value tensor, Indices at, unsigned depth) {
  for (; depth < kMaxDepth; ++depth) {
    Operation *op = tensor.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto iota = dyn_cast<IotaOp>(op))
      return isa<IntegerType>(elementOf(tensor)) ? std::optional<Index>(at[iota.getAxis()]) : std::nullopt;
    if (auto cast = dyn_cast<CastOp>(op)) {
      Type from = elementOf(cast.getX()), to = elementOf(tensor);
      if (!isa<IntegerType>(from) || !isa<IntegerType>(to) || from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
        return std::nullopt;
      tensor = cast.getX();
      continue;
    }
    if (auto concat = dyn_cast<ConcatOp>(op)) { // at a fixed place: one of the parts
      Index &i = at[concat.getAxis()];
      if (!i.axes.empty() || !i.offset.constant())
        return std::nullopt;
      int64_t place = *i.offset.constant();
      Value part;
      for (Value v : concat.getInputs()) {
        std::optional<int64_t> size = dimsOf(v)[concat.getAxis()].constant();
        if (!size)
          return std::nullopt;
        if (place < *size) {
          part = v;
          break;
        }
        place -= *size;
      }
      if (!part)
        return std::nullopt;
      i.offset = Expr(place);
      tensor = part;
      continue;
    }
    if (!isView(op))
      return std::nullopt;
    std::optional<Indices> inner = axes.operandOf(op, at);
    if (!inner)
      return std::nullopt;
    tensor = op->getOperand(0);
    at = *inner;
  }
  return std::nullopt;
}

/// A gather whose indices count along an axis of the whole dimension reads its operand at that axis.
Value ScoreRegion::emitGather(Operation *op, const Indices &at, unsigned depth) {
  Value x = op->getOperand(0), indices = op->getOperand(1);
  Dims dims = dimsOf(x);
  Indices inner;
  auto appendTraced = [&](const Indices &where) {
    std::optional<Index> i = tracedIndex(indices, where, depth);
    if (!i || !i->isPure() || i->axes.empty() || !outside.facts.provablyEqual(axes.product(i->axes), dims[inner.size()]))
      return false;
    inner.push_back(*i);
    return true;
  };
  if (auto gather = dyn_cast<GatherOp>(op)) {
    unsigned axis = gather.getAxis(), n = typeOf(indices).getRank();
    inner.append(at.begin(), at.begin() + axis);
    if (!appendTraced(Indices(at.begin() + axis, at.begin() + axis + n)))
      return {};
    inner.append(at.begin() + axis + n, at.end());
    return emit(x, inner, depth);
  }
  auto nd = cast<GatherNdOp>(op);
  int64_t coordinates = typeOf(indices).getShape().back(), lead = typeOf(indices).getRank() - 1;
  if (nd.getBatchDims() != 0 || coordinates < 0)
    return {};
  for (int64_t c = 0; c < coordinates; ++c) {
    Indices where(at.begin(), at.begin() + lead);
    where.emplace_back();
    where.back().offset = Expr(c);
    if (!appendTraced(where))
      return {};
  }
  inner.append(at.begin() + lead, at.end());
  return emit(x, inner, depth);
}

//===----------------------------------------------------------------------===//
// Constant masks
//===----------------------------------------------------------------------===//

namespace {
/// A matrix of two values: `low` where column - row <= last, else `high`.
struct Staircase {
  double low, high;
  int64_t last;
};
} // namespace

static std::optional<Staircase> asStaircase(const ConstantTensor &t, int64_t rows, int64_t columns) {
  auto at = [&](int64_t r, int64_t c) { return t.isFloat() ? t.floats[r * columns + c] : double(t.ints[r * columns + c]); };
  Staircase s{at(0, 0), at(0, 0), 0};
  // Row 0 says where the step is; one that starts in the high value has its step before column 0.
  int64_t step = 0;
  while (step < columns && at(0, step) == s.low)
    ++step;
  if (step == columns)
    return std::nullopt;
  s.high = at(0, step);
  s.last = step - 1;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      if (at(r, c) != (c - r <= s.last ? s.low : s.high))
        return std::nullopt;
  return s;
}

/// A triangular table (a causal mask that was stored as data) is a comparison of its indices.
Value ScoreRegion::emitTable(ConstantOp op, const Indices &at) {
  auto type = typeOf(op.getResult());
  SmallVector<int64_t> wide;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.getDimSize(d) != 1)
      wide.push_back(d);
  if (wide.size() != 2 || !spansMatrix(at) || type.getNumElements() > (int64_t(1) << 24))
    return {};
  std::optional<ConstantTensor> t = readConstant(op.getValue());
  std::optional<Staircase> s =
      t ? asStaircase(*t, type.getDimSize(wide[0]), type.getDimSize(wide[1])) : std::nullopt;
  if (!s)
    return {};
  Value row = indexValue(at[wide[0]]), column = indexValue(at[wide[1]]);
  Value bound = inside.create<arith::AddIOp>(outside.loc, row, sizeValue(Expr(s->last)));
  Value low = inside.create<arith::CmpIOp>(outside.loc, arith::CmpIPredicate::sle, column, bound);
  return inside.create<arith::SelectOp>(outside.loc, low, emitConstant(s->low, type.getElementType()),
                                        emitConstant(s->high, type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Extra operands
//===----------------------------------------------------------------------===//

/// The tensor as [B or 1, H or 1, Q or 1, K or 1].
Value ScoreRegion::emitExtra(Value tensor, const Indices &at) {
  SmallVector<unsigned> order;
  Dims atoms, target(4, Expr(1));
  for (const Index &i : at) {
    if (!i.isPure())
      return {};
    for (unsigned a : i.axes) {
      if (llvm::is_contained(order, a))
        return {};
      order.push_back(a);
      atoms.push_back(base[a]);
      target[a] = base[a];
    }
  }
  // An index that does not run over its whole dimension reads a part.
  if (!outside.facts.provablyEqual(shape::product(atoms), shape::product(dimsOf(tensor))))
    return {};
  std::string key = "at " + str(at) + std::to_string(reinterpret_cast<uintptr_t>(tensor.getAsOpaquePointer()));
  Value &operand = extraByKey[key];
  if (!operand) {
    SmallVector<int64_t> perm(order.size());
    for (size_t i = 0; i < perm.size(); ++i)
      perm[i] = i;
    llvm::sort(perm, [&](int64_t x, int64_t y) { return order[x] < order[y]; });
    if (llvm::is_sorted(perm))
      operand = outside.reshape(tensor, target);
    else
      operand = outside.reshape(outside.transpose(outside.reshape(tensor, atoms), perm), target);
  }
  return promote(addExtra(operand, {tensor, at, Expr(0)}));
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

Value ScoreRegion::emitRegion(Region &region, ValueRange operands) {
  Block &old = region.front();
  unsigned n = operands.size();
  SmallVector<Value> scalars;
  for (Value v : operands) {
    Dims dims = dimsOf(v);
    Indices at;
    for (unsigned d = 0; d < 4; ++d)
      at.push_back(dims[d].isOne() ? Index() : axes.spanning({d}));
    Value s = emit(v, at);
    if (!s)
      return {};
    // The old region expects the operand's own type.
    Type expected = old.getArgument(1 + scalars.size()).getType();
    if (s.getType() != expected)
      s = inside.create<arith::TruncFOp>(outside.loc, expected, s);
    scalars.push_back(s);
  }
  IRMapping map; // only now: every new extra operand moves the arguments behind it
  map.map(old.getArgument(0), score);
  for (unsigned i = 0; i < n; ++i)
    map.map(old.getArgument(1 + i), scalars[i]);
  for (unsigned a = 0; a < 4; ++a)
    map.map(old.getArgument(1 + n + a), axisArgument(a));
  for (Operation &op : old.without_terminator())
    inside.clone(op, map);
  return map.lookupOrDefault(old.getTerminator()->getOperand(0));
}

std::unique_ptr<Block> ScoreRegion::finish(Value result) {
  if (!result.getType().isF32())
    result = inside.create<arith::TruncFOp>(outside.loc, inside.getF32Type(), result);
  inside.create<YieldOp>(outside.loc, result);
  // What a failed attempt or a dropped side left behind.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (unsigned i = extraOperands.size(); i-- > 0;)
    if (body->getArgument(1 + i).use_empty()) {
      body->eraseArgument(1 + i);
      extraOperands.erase(extraOperands.begin() + i);
      origins.erase(origins.begin() + i);
    }
  strengthenMasks(*body, origins, base, outside.facts);
  return std::move(body);
}
