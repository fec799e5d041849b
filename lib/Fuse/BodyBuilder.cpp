//===- BodyBuilder.cpp - The scalar DAG of a kernel ------------------------===//

#include "BodyBuilder.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Expr;

static std::string textOf(ArrayRef<Expr> indices) {
  std::string out;
  for (const Expr &e : indices)
    out += e.str() + ";";
  return out;
}

BodyBuilder::BodyBuilder(Group &group, OpBuilder &b, const shape::Facts &given, llvm::function_ref<bool(Value)> inMemory,
                         llvm::function_ref<Value(Value)> refOf)
    : domain(group.domain), b(b), inMemory(inMemory), refOf(refOf), facts(given.clone()), reader(facts) {
  for (const Axis &a : domain.axes)
    facts.setAxis(a.name, a.extent);
}

Value BodyBuilder::emit(Value v, const Dims &given, Value predicate) {
  Dims indices = given;
  // Made once, at the one place that it has, however that is written.
  if (isa_and_nonnull<ir::ScanOp, ir::SortOp, ir::FftOp>(v.getDefiningOp()) && !inMemory(v)) {
    const Dims known = domain.known.lookup(v);
    if (domain.sameIndices(known, indices)) {
      indices = known;
      predicate = {};
    }
  }
  auto key = std::make_tuple(v.getAsOpaquePointer(), predicate ? predicate.getAsOpaquePointer() : nullptr, textOf(indices));
  if (auto it = memo.find(key); it != memo.end())
    return it->second;
  Value r = inMemory(v) ? load(v, domain.facts.simplify(flatten(ir::dimsOf(v), indices)), predicate)
                        : compute(v, indices, predicate);
  return memo[key] = r;
}

std::pair<Value, Expr> BodyBuilder::access(Value v, Dims indices) {
  auto [base, offset] = locate(domain, v, indices, inMemory);
  return {refOf(base), offset};
}

Value BodyBuilder::compute(Value v, const Dims &indices, Value predicate) {
  Operation *op = v.getDefiningOp();
  Location loc = op->getLoc();
  if (isView(op)) {
    auto [base, offset] = locate(domain, v, indices, inMemory);
    if (inMemory(base))
      return load(base, offset, predicate);
    return emit(op->getOperand(0), domain.backward(op, indices), predicate);
  }
  if (isa<ir::ElementwiseInterface>(op)) {
    SmallVector<Value> in;
    for (Value o : op->getOperands())
      in.push_back(emit(o, indices, predicate));
    return ir::buildScalar(op, b, loc, in);
  }
  // What has one place in the kernel's domain is not computed at another.
  if ((hasOwnLoop(op) || isHeavyRoot(op)) && !domain.sameIndices(domain.known.lookup(v), indices))
    wrongPlace = op;
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](ir::ConstantOp) { return splat(v); })
      .Case([&](ir::SizeOp o) { return sizeAt(o, indices); })
      .Case([&](ir::IotaOp o) { return iota(o, indices); })
      .Case([&](ir::ConcatOp o) { return concat(o, indices, predicate); })
      .Case([&](ir::PadOp o) { return pad(o, indices, predicate); })
      .Case([&](ir::GatherOp o) { return gather(o, indices, predicate); })
      .Case([&](ir::GatherNdOp o) { return gatherNd(o, indices, predicate); })
      .Case([&](ir::ReduceOp o) { return reduce(o, indices); })
      .Case([&](ir::ScanOp o) { return scan(o); })
      .Case([&](ir::SortOp o) { return sort(o); })
      .Case([&](ir::FftOp o) { return fft(o); })
      .Case([&](ir::ContractOp o) { return contract(o); })
      .Case([&](ir::AttentionOp o) { return attention(o); })
      .Case([&](ir::ConvOp o) { return conv(o); })
      .Case([&](ir::ScatterOp o) { return emit(o.getData(), indices, predicate); })
      .Default([](Operation *) { return Value(); });
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

Value BodyBuilder::load(Value v, Expr offset, Value predicate, bool zeroElse) {
  Value ref = refOf(v);
  Location loc = v.getLoc();
  Type element = cast<kernel::RefType>(ref.getType()).getElementType();
  SmallVector<Value> operands;
  Expr own = ofOneOp(offset, operands);
  auto zero = [&]() -> Value { return b.create<arith::ConstantOp>(loc, b.getZeroAttr(element)); };
  Value fill = predicate && zeroElse ? zero() : Value();
  auto op = b.create<kernel::LoadOp>(loc, element, ref, b.getStringAttr(own.str()), operands, predicate, fill);
  Dims dims = ir::dimsOf(v);
  if (kernel::accessStaysInside(op, dims, reader))
    return op;
  Expr size = facts.simplify(shape::product(dims));
  // What is not proven is checked when the kernel runs.
  ++guarded;
  op.erase();
  Value inside = all(compare(arith::CmpIPredicate::sge, offset, Expr(0)), compare(arith::CmpIPredicate::slt, offset, size));
  auto guardedLoad = b.create<kernel::LoadOp>(loc, element, ref, b.getStringAttr(own.str()), operands, all(predicate, inside), zero());
  guardedLoad->setAttr("guarded", b.getUnitAttr());
  return guardedLoad;
}

Value BodyBuilder::emitOrZero(Value v, const Dims &indices, Value predicate) {
  if (!predicate)
    return emit(v, indices);
  if (inMemory(v) || isView(v.getDefiningOp())) {
    auto [base, offset] = locate(domain, v, indices, inMemory);
    if (inMemory(base))
      return load(base, offset, predicate, /*zeroElse=*/true);
  }
  Value x = emit(v, indices, predicate);
  Value zero = b.create<arith::ConstantOp>(v.getLoc(), b.getZeroAttr(x.getType()));
  return b.create<arith::SelectOp>(v.getLoc(), predicate, x, zero);
}

Value BodyBuilder::splat(Value v) {
  auto dense = cast<DenseElementsAttr>(cast<ir::ConstantOp>(v.getDefiningOp()).getValue());
  auto a = cast<TypedAttr>(dense.getSplatValue<Attribute>());
  if (auto i = dyn_cast<IntegerAttr>(a))
    a = IntegerAttr::get(ir::signless(i.getType()), i.getValue());
  else if (ir::isFloat8(a.getType()))
    a = IntegerAttr::get(ir::signless(a.getType()), cast<FloatAttr>(a).getValue().bitcastToAPInt());
  return b.create<arith::ConstantOp>(v.getLoc(), a);
}

Expr BodyBuilder::ofOneOp(const Expr &e, SmallVector<Value> &operands) const {
  std::map<std::string, Expr> rename;
  for (const std::string &s : e.symbols())
    if (auto it = indirects.find(s); it != indirects.end()) {
      rename[s] = Expr::indirect(operands.size());
      operands.push_back(it->second);
    }
  return e.substitute(rename);
}

Value BodyBuilder::index(const Expr &raw) {
  Expr e = domain.facts.simplify(raw);
  Location loc = b.getUnknownLoc();
  if (std::optional<int64_t> c = e.constant())
    return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(*c));
  SmallVector<Value> operands;
  Expr own = ofOneOp(e, operands);
  return b.create<kernel::IndexOp>(loc, b.getI64Type(), b.getStringAttr(own.str()), operands);
}

Value BodyBuilder::compare(arith::CmpIPredicate predicate, const Expr &x, const Expr &y) {
  return b.create<arith::CmpIOp>(b.getUnknownLoc(), predicate, index(x), index(y));
}

Value BodyBuilder::all(Value p, Value q) { return p && q ? b.create<arith::AndIOp>(p.getLoc(), p, q) : p ? p : q; }

Value BodyBuilder::sizeAt(ir::SizeOp op, const Dims &indices) {
  Dims exprs = ir::exprsOf(op.getExprs());
  Value r = index(exprs.back());
  for (int64_t i = int64_t(exprs.size()) - 2; i >= 0; --i)
    r = b.create<arith::SelectOp>(op.getLoc(), compare(arith::CmpIPredicate::eq, indices[0], Expr(i)), index(exprs[i]), r);
  return r;
}

/// An i64 as a scalar of an element type.
static Value fromI64(OpBuilder &b, Location loc, Value v, Type element) {
  Type to = ir::signless(element);
  if (isa<FloatType>(to))
    return b.create<arith::SIToFPOp>(loc, to, v);
  return to == v.getType() ? v : b.create<arith::TruncIOp>(loc, to, v);
}

Value BodyBuilder::iota(ir::IotaOp op, const Dims &indices) {
  return fromI64(b, op.getLoc(), index(indices[op.getAxis()]), ir::elementOf(op.getResult()));
}

//===----------------------------------------------------------------------===//
// Ops that read elsewhere
//===----------------------------------------------------------------------===//

Value BodyBuilder::concat(ir::ConcatOp op, const Dims &indices, Value predicate) {
  int64_t axis = op.getAxis();
  Expr at = indices[axis], begin(0);
  Value r;
  for (auto [i, x] : llvm::enumerate(op.getInputs())) {
    Expr end = domain.facts.simplify(begin + ir::dimsOf(x)[axis]);
    bool first = i == 0, last = i + 1 == op.getInputs().size();
    Value from = first ? Value() : compare(arith::CmpIPredicate::sge, at, begin);
    Value until = last ? Value() : compare(arith::CmpIPredicate::slt, at, end);
    Dims mine = indices;
    mine[axis] = at - begin;
    Value v = emit(x, mine, all(predicate, all(from, until)));
    r = r ? b.create<arith::SelectOp>(op.getLoc(), from, v, r) : v;
    begin = end;
  }
  return r;
}

Value BodyBuilder::pad(ir::PadOp op, const Dims &indices, Value predicate) {
  Dims low = ir::exprsOf(op.getLow()), dims = ir::dimsOf(op.getX()), mine;
  Dims high = ir::exprsOf(op.getHigh());
  Value inside;
  for (size_t i = 0; i < dims.size(); ++i) {
    mine.push_back(indices[i] - low[i]);
    if (domain.facts.provablyLess(mine[i], Expr(0)) || domain.facts.provablyLessEqual(dims[i], mine[i])) // a window that reads nothing but border
      return emit(op.getValue(), {}, predicate);
    if (!low[i].isZero())
      inside = all(inside, compare(arith::CmpIPredicate::sge, mine[i], Expr(0)));
    if (!high[i].isZero())
      inside = all(inside, compare(arith::CmpIPredicate::slt, mine[i], dims[i]));
  }
  Value x = emit(op.getX(), mine, all(predicate, inside));
  return inside ? b.create<arith::SelectOp>(op.getLoc(), inside, x, emit(op.getValue(), {}, predicate)) : x;
}

Value BodyBuilder::fromStart(Value v, const Expr &size) {
  Location loc = v.getLoc();
  if (v.getType().getIntOrFloatBitWidth() < 64)
    v = b.create<arith::ExtSIOp>(loc, b.getI64Type(), v);
  Value negative = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, v, index(Expr(0)));
  return b.create<arith::SelectOp>(loc, negative, b.create<arith::AddIOp>(loc, v, index(size)), v);
}

Expr BodyBuilder::indirect(Value v, const Expr &size) { return clamped(fromStart(v, size), size); }

Expr BodyBuilder::clamped(Value v, const Expr &size) {
  Location loc = v.getLoc();
  v = b.create<arith::MaxSIOp>(loc, b.create<arith::MinSIOp>(loc, v, index(size - Expr(1))), index(Expr(0)));
  Expr index = Expr::indirect(indirects.size());
  indirects[index.str()] = v;
  domain.facts.setAxis(index.str(), size);
  return index;
}

std::optional<Expr> BodyBuilder::exprOf(Value v, const Dims &indices) {
  Operation *op = v.getDefiningOp();
  if (!op || inMemory(v) || !ir::elementOf(v).isSignlessInteger(64))
    return std::nullopt;
  if (isView(op) && !isa<ir::GatherOp>(op))
    return exprOf(op->getOperand(0), domain.backward(op, indices));
  if (auto iota = dyn_cast<ir::IotaOp>(op))
    return indices[iota.getAxis()];
  if (isa<ir::ConstantOp>(op) && Trees::isSplat(v))
    return Expr(cast<DenseElementsAttr>(cast<ir::ConstantOp>(op).getValue()).getSplatValue<APInt>().getSExtValue());
  if (!isa<ir::AddOp, ir::SubOp, ir::MulOp>(op))
    return std::nullopt;
  std::optional<Expr> x = exprOf(op->getOperand(0), indices), y = x ? exprOf(op->getOperand(1), indices) : std::nullopt;
  if (!y || (isa<ir::MulOp>(op) && !x->constant() && !y->constant()))
    return std::nullopt;
  return facts.simplify(isa<ir::AddOp>(op) ? *x + *y : isa<ir::SubOp>(op) ? *x - *y : *x * *y);
}

Value BodyBuilder::gather(ir::GatherOp op, const Dims &indices, Value predicate) {
  int64_t axis = op.getAxis(), rank = ir::typeOf(op.getIndices()).getRank();
  Dims at(indices.begin() + axis, indices.begin() + axis + rank), mine(indices.begin(), indices.begin() + axis);
  Expr size = ir::dimsOf(op.getX())[axis];
  std::optional<Expr> place = exprOf(op.getIndices(), at); // of frames of a signal, for one
  bool isFromStart = place && facts.provablyLessEqual(Expr(0), *place);
  if (isFromStart && !facts.provablyLess(*place, size))
    place = facts.simplify(Expr::max(Expr::min(*place, size - Expr(1)), Expr(0)));
  mine.push_back(isFromStart ? *place : indirect(emit(op.getIndices(), at, predicate), size));
  mine.append(indices.begin() + axis + rank, indices.end());
  return emit(op.getX(), mine, predicate);
}

Value BodyBuilder::gatherNd(ir::GatherNdOp op, const Dims &indices, Value predicate) {
  int64_t batch = op.getBatchDims(), rank = ir::typeOf(op.getIndices()).getRank();
  Dims dims = ir::dimsOf(op.getX()), mine(indices.begin(), indices.begin() + batch);
  int64_t n = ir::typeOf(op.getIndices()).getDimSize(rank - 1);
  for (int64_t i = 0; i < n; ++i) {
    Dims at(indices.begin(), indices.begin() + rank - 1);
    at.push_back(Expr(i));
    mine.push_back(indirect(emit(op.getIndices(), at, predicate), dims[batch + i]));
  }
  mine.append(indices.begin() + rank - 1, indices.end());
  return emit(op.getX(), mine, predicate);
}

//===----------------------------------------------------------------------===//
// Reductions, contractions, attention
//===----------------------------------------------------------------------===//

SmallVector<Attribute> BodyBuilder::removedAxes(ArrayRef<Dims> operands, const Dims &result) {
  std::vector<std::string> kept = domain.axesIn(result);
  SmallVector<Attribute> out;
  for (const Axis &a : domain.axes) {
    bool read = llvm::any_of(operands, [&](const Dims &d) { return llvm::is_contained(domain.axesIn(d), a.name); });
    if (read && !llvm::is_contained(kept, a.name))
      out.push_back(b.getStringAttr(a.name));
  }
  return out;
}

Value BodyBuilder::accumulate(kernel::Combiner kind, Value v, ArrayRef<Attribute> axes) {
  if (axes.empty())
    return v;
  Type type = v.getType();
  bool half = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  if (half)
    v = b.create<arith::ExtFOp>(v.getLoc(), b.getF32Type(), v);
  v = b.create<kernel::ReduceOp>(v.getLoc(), v.getType(), kind, v, b.getArrayAttr(axes));
  return half ? b.create<arith::TruncFOp>(v.getLoc(), type, v) : v;
}

Value BodyBuilder::reduce(ir::ReduceOp op, const Dims &indices) {
  using kernel::Combiner;
  bool isUnsigned = ir::isUnsignedElement(ir::elementOf(op.getX()));
  static const Combiner combiners[] = {Combiner::Add, Combiner::Mul, Combiner::Max, Combiner::Min, Combiner::And, Combiner::Or};
  Combiner kind = combiners[unsigned(op.getKind())];
  if (isUnsigned && kind == Combiner::Max)
    kind = Combiner::UMax;
  if (isUnsigned && kind == Combiner::Min)
    kind = Combiner::UMin;
  const Dims &read = domain.reads.find(op)->second[0];
  return accumulate(kind, emit(op.getX(), read), removedAxes({read}, indices));
}

Value BodyBuilder::scan(ir::ScanOp op) {
  using kernel::Combiner;
  static const Combiner combiners[] = {Combiner::Add, Combiner::Mul, Combiner::Max, Combiner::Min, Combiner::LogAddExp};
  Combiner kind = combiners[unsigned(op.getKind())];
  bool isUnsigned = ir::isUnsignedElement(ir::elementOf(op.getX()));
  if (isUnsigned && kind == Combiner::Max)
    kind = Combiner::UMax;
  if (isUnsigned && kind == Combiner::Min)
    kind = Combiner::UMin;
  const Dims read = domain.reads.find(op)->second[0];
  Value v = emit(op.getX(), read);
  Type type = v.getType();
  bool half = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  if (half)
    v = b.create<arith::ExtFOp>(op.getLoc(), b.getF32Type(), v);
  v = b.create<kernel::ScanOp>(op.getLoc(), v.getType(), kind, v, read[op.getAxis()].str(), op.getExclusive(), op.getReverse());
  return half ? b.create<arith::TruncFOp>(op.getLoc(), type, v) : v;
}

Value BodyBuilder::sort(ir::SortOp op) {
  const Dims read = domain.reads.find(op)->second[0], result = domain.known.lookup(op.getResult());
  bool isUnsigned = ir::isUnsignedElement(ir::elementOf(op.getX()));
  return b.create<kernel::SortOp>(op.getLoc(), b.getI64Type(), emit(op.getX(), read), read[op.getAxis()].str(),
                                  result[op.getAxis()].str(), op.getDescending(), isUnsigned);
}

/// The name of the axis that an operand or the result has along the dimension of parts.
static std::string partsAxis(ir::FftOp op, const Dims &read, const Dims &result) {
  bool isReal = ir::dimsOf(op.getX())[op.getParts()].isOne();
  return (isReal ? result : read)[op.getParts()].str();
}

Value BodyBuilder::fft(ir::FftOp op) {
  using kernel::TransformKind;
  const Dims read = domain.reads.find(op)->second[0], result = domain.known.lookup(op.getResult());
  bool fromReal = ir::dimsOf(op.getX())[op.getParts()].isOne(), toReal = ir::dimsOf(op.getResult())[op.getParts()].isOne();
  TransformKind kind = fromReal ? TransformKind::R2C : toReal ? TransformKind::C2R : TransformKind::C2C;
  StringAttr turnAxis = op.getTurnDim() ? b.getStringAttr(result[*op.getTurnDim()].str()) : StringAttr();
  Value x = emit(op.getX(), read);
  Value y = b.create<kernel::FftOp>(op.getLoc(), x.getType(), kind, x, read[op.getAxis()].str(), result[op.getAxis()].str(),
                                    partsAxis(op, read, result), op.getLength(), turnAxis, op.getTurnsAttr(), op.getInverse());
  if (!op.getScale())
    return y;
  Value scale = b.create<arith::ConstantOp>(op.getLoc(), b.getFloatAttr(y.getType(), op.getScale()->convertToDouble()));
  return b.create<arith::MulFOp>(op.getLoc(), y, scale);
}

/// An operand of a product in the type of the sum: half types and floats of 8 bits sum in f32, bytes in i32.
static Value widened(OpBuilder &b, Value v, Type operand, Type sum) {
  if (isa<FloatType>(sum) && sum.getIntOrFloatBitWidth() < 32)
    sum = b.getF32Type();
  if (v.getType() == sum)
    return v;
  if (ir::isFloat8(operand)) { // f16 holds all of their numbers, as for a cast
    v = b.create<arith::BitcastOp>(v.getLoc(), operand, v);
    v = b.create<arith::ExtFOp>(v.getLoc(), b.getF16Type(), v);
  }
  if (isa<FloatType>(sum))
    return b.create<arith::ExtFOp>(v.getLoc(), sum, v);
  return ir::isUnsignedElement(operand) ? Value(b.create<arith::ExtUIOp>(v.getLoc(), sum, v))
                                        : Value(b.create<arith::ExtSIOp>(v.getLoc(), sum, v));
}

/// The sum of products of two values at each point.
Value BodyBuilder::sumOfProducts(Operation *op, Value x, Value y) {
  const std::vector<Dims> &reads = domain.reads.find(op)->second;
  Type sum = ir::signless(ir::elementOf(op->getResult(0)));
  x = widened(b, x, ir::elementOf(op->getOperand(0)), sum);
  y = widened(b, y, ir::elementOf(op->getOperand(1)), sum);
  Value p = isa<FloatType>(x.getType()) ? Value(b.create<arith::MulFOp>(op->getLoc(), x, y))
                                        : Value(b.create<arith::MulIOp>(op->getLoc(), x, y));
  Value r = accumulate(kernel::Combiner::Add, p, removedAxes(reads, domain.known.lookup(op->getResult(0))));
  return r.getType() == sum ? r : b.create<arith::TruncFOp>(op->getLoc(), sum, r);
}

Value BodyBuilder::contract(ir::ContractOp op) {
  const std::vector<Dims> &reads = domain.reads.find(op)->second;
  if (ir::elementOf(op.getLhs()) != ir::elementOf(op.getResult())) { // products of bytes
    Value x = emit(op.getLhs(), reads[0]);
    return sumOfProducts(op, x, emit(op.getRhs(), reads[1]));
  }
  SmallVector<Attribute> axes = removedAxes(reads, domain.known.lookup(op.getResult()));
  auto [lhs, lhsOffset] = access(op.getLhs(), reads[0]);
  auto [rhs, rhsOffset] = access(op.getRhs(), reads[1]);
  Type element = ir::signless(ir::elementOf(op.getResult())), wide = element;
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    wide = b.getF32Type();
  Value r = b.create<kernel::ContractOp>(op.getLoc(), wide, lhs, b.getStringAttr(lhsOffset.str()), rhs,
                                         b.getStringAttr(rhsOffset.str()), b.getArrayAttr(axes), DictionaryAttr());
  return wide == element ? r : b.create<arith::TruncFOp>(op.getLoc(), element, r);
}

Value BodyBuilder::attention(ir::AttentionOp op) {
  const std::vector<Dims> reads = domain.reads.find(op)->second;
  const Dims &result = domain.known.find(op.getResult())->second;
  auto [q, qOffset] = access(op.getQ(), reads[0]);
  auto [k, kOffset] = access(op.getK(), reads[1]);
  auto [v, vOffset] = access(op.getV(), reads[2]);
  auto axis = [&](const Expr &e) { return b.getStringAttr(e.asSymbol().value_or("")); };
  Type element = ir::signless(ir::elementOf(op.getResult()));
  auto r = b.create<kernel::AttentionOp>(
      op.getLoc(), b.getF32Type(), q, b.getStringAttr(qOffset.str()), k, b.getStringAttr(kOffset.str()), v,
      b.getStringAttr(vOffset.str()), axis(result[2]), axis(reads[1][2]), axis(reads[0][3]), axis(result[3]),
      op.getZeroMaskedAttr());
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&r.getScore());
  IRMapping map;
  Block &from = op.getScore().front();
  map.map(from.getArgument(0), body->addArgument(b.getF32Type(), op.getLoc()));
  auto outer = std::move(memo); // what the region computes is not visible outside, and not the other way round
  memo.clear();
  unsigned extras = op.getExtras().size();
  for (unsigned i = 0; i < extras; ++i)
    map.map(from.getArgument(1 + i), emit(op.getExtras()[i], reads[3 + i]));
  Expr at[] = {result[0], result[1], result[2], reads[1][2]};
  for (unsigned i = 0; i < 4; ++i)
    if (!from.getArgument(1 + extras + i).use_empty())
      map.map(from.getArgument(1 + extras + i), index(at[i]));
  for (Operation &o : from.without_terminator())
    b.clone(o, map);
  b.create<kernel::YieldOp>(op.getLoc(), map.lookup(cast<ir::YieldOp>(from.getTerminator()).getValue()));
  memo = std::move(outer);
  b.setInsertionPointAfter(r);
  Value out = r;
  if (element.getIntOrFloatBitWidth() < 32)
    out = b.create<arith::TruncFOp>(op.getLoc(), element, out);
  else if (element.isF64())
    out = b.create<arith::ExtFOp>(op.getLoc(), element, out);
  return out;
}

Value BodyBuilder::conv(ir::ConvOp op) {
  const std::vector<Dims> reads = domain.reads.find(op)->second;
  Dims x = ir::dimsOf(op.getX());
  Value inside;
  for (size_t s = 2; s < x.size(); ++s) {
    if (!domain.facts.provablyLessEqual(Expr(0), reads[0][s]))
      inside = all(inside, compare(arith::CmpIPredicate::sge, reads[0][s], Expr(0)));
    if (!domain.facts.provablyLess(reads[0][s], x[s]))
      inside = all(inside, compare(arith::CmpIPredicate::slt, reads[0][s], x[s]));
  }
  // The border is zero whatever makes the image.
  Value a = emitOrZero(op.getX(), reads[0], inside);
  Value sum = sumOfProducts(op, a, emit(op.getW(), reads[1]));
  if (auto r = sum.getDefiningOp<kernel::ReduceOp>(); r && (r.getType().isInteger(32) || ir::isFloat8(ir::elementOf(op.getX())))) {
    SmallVector<Attribute> places; // of the window: a target of bytes packs the image by them
    bool taps = false; // a window of one place is a product of matrices, whose lines may become one
    for (const Expr &e : ArrayRef(reads[0]).drop_front(2)) {
      places.push_back(b.getStringAttr(e.str()));
      taps |= llvm::any_of(r.getAxes().getAsValueRange<StringAttr>(), [&](StringRef axis) { return e.mentions(axis.str()); });
    }
    if (taps)
      r->setAttr("slides", b.getArrayAttr(places));
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

static kernel::CombinerAttr combinerOf(ir::ScatterOp op) {
  using kernel::Combiner;
  bool isUnsigned = ir::isUnsignedElement(ir::elementOf(op.getData()));
  switch (op.getKind()) {
  case ir::ScatterKind::Set:
    return {};
  case ir::ScatterKind::Add:
    return kernel::CombinerAttr::get(op.getContext(), Combiner::Add);
  case ir::ScatterKind::Mul:
    return kernel::CombinerAttr::get(op.getContext(), Combiner::Mul);
  case ir::ScatterKind::Max:
    return kernel::CombinerAttr::get(op.getContext(), isUnsigned ? Combiner::UMax : Combiner::Max);
  case ir::ScatterKind::Min:
    return kernel::CombinerAttr::get(op.getContext(), isUnsigned ? Combiner::UMin : Combiner::Min);
  }
  return {};
}

/// Whether something of the body is at the places of an axis.
static bool mentions(Block &body, const Expr &axis) {
  std::set<std::string> symbols = axis.symbols();
  auto holds = [&](const Expr &e) {
    std::set<std::string> own = e.symbols();
    return llvm::any_of(symbols, [&](const std::string &s) { return own.count(s) != 0; });
  };
  return symbols.empty() || llvm::any_of(body, [&](Operation &o) {
           if (auto load = dyn_cast<kernel::LoadOp>(o))
             return holds(load.getOffsetExpr());
           auto index = dyn_cast<kernel::IndexOp>(o);
           return index && holds(index.getIndexExpr());
         });
}

/// An element goes behind as many as the mask has in front of it.
void BodyBuilder::storeCompact(ir::CompactOp op, Value out) {
  const Dims read = domain.reads.find(op)->second[0], dims = ir::dimsOf(op.getResult());
  Value mask = emit(op.getMask(), read), v = emit(op.getX(), read);
  Value counted = b.create<arith::ExtUIOp>(op.getLoc(), b.getI64Type(), mask);
  Value place = b.create<kernel::ScanOp>(op.getLoc(), counted.getType(), kernel::Combiner::Add, counted, read[0].str(), /*exclusive=*/true, /*reverse=*/false);
  Value inside = all(mask, b.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::slt, place, index(dims[0])));
  SmallVector<Value> operands;
  Expr offset = ofOneOp(clamped(place, dims[0]), operands);
  b.create<kernel::StoreOp>(op.getLoc(), v, out, b.getStringAttr(offset.str()), operands, inside);
}

void BodyBuilder::storeUpdates(ir::ScatterOp op, Value out) {
  const Dims at = domain.reads.find(op)->second[1], dims = ir::dimsOf(op.getData());
  Dims places;
  Value inside;
  unsigned next = 0;
  for (auto [d, place] : llvm::enumerate(op.getPlaces())) {
    if (place >= 0) {
      places.push_back(at[place]);
      continue;
    }
    Value i = fromStart(emit(op.getIndices()[next++], at), dims[d]);
    for (auto [predicate, limit] : {std::pair(arith::CmpIPredicate::sge, Expr(0)), std::pair(arith::CmpIPredicate::slt, dims[d])})
      inside = all(inside, b.create<arith::CmpIOp>(op.getLoc(), predicate, i, index(limit)));
    places.push_back(clamped(i, dims[d]));
  }
  Value v = emit(op.getUpdates(), at);
  SmallVector<Value> operands;
  Expr offset = ofOneOp(domain.facts.simplify(flatten(dims, places)), operands);
  // Equal updates of one place count each for itself: the store happens along their axes, though nothing in it depends on them.
  for (const Expr &axis : at)
    if (combinerOf(op) && !mentions(*b.getInsertionBlock(), axis))
      inside = all(inside, b.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::sge, index(axis), index(Expr(0))));
  auto store = b.create<kernel::StoreOp>(op.getLoc(), v, out, b.getStringAttr(offset.str()), operands, inside);
  if (kernel::CombinerAttr combiner = combinerOf(op))
    store.setCombinerAttr(combiner);
}
