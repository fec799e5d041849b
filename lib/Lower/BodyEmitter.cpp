//===- BodyEmitter.cpp - Emits a kernel's scalar DAG at a point ------------===//

#include "lathe/Lower/BodyEmitter.h"
#include "lathe/Lower/ExpandMath.h"
#include "lathe/Lower/FusedMultiplyAdd.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

BodyEmitter::BodyEmitter(const BodyInfo &info, OpBuilder &builder, Location loc, ValueRange sizes, ValueRange refs,
                         EmitHooks &hooks)
    : context(std::make_shared<Context>(
          Context{info, builder, loc, llvm::to_vector(sizes), llvm::to_vector(refs), hooks, {}})),
      axisValues(info.axes.size()) {}

//===----------------------------------------------------------------------===//
// The point
//===----------------------------------------------------------------------===//

void BodyEmitter::bindAxis(StringRef axis, Value index) {
  std::optional<unsigned> i = context->info.axisIndex(axis);
  if (!i) {
    fail("no axis '" + axis + "'", index.getType());
    return;
  }
  if (axisValues[*i]) { // bound again, to recompute a reduction: what was computed at the old point is not valid here
    SmallVector<Value> stale;
    for (auto &[v, x] : values)
      if (context->info.axesOf(v) >> *i & 1)
        stale.push_back(v);
    for (Value v : stale)
      values.erase(v);
  }
  axisValues[*i] = index;
}

void BodyEmitter::adopt(const BodyEmitter &outer) {
  for (auto &[v, x] : outer.values)
    values.try_emplace(v, x);
}

void BodyEmitter::bindLane(StringRef axis, Value base, unsigned lanes, Value laneMask) {
  bindAxis(axis, base);
  laneAxis = context->info.axisIndex(axis).value_or(-1);
  width = lanes;
  mask = laneMask;
  lanesLeft = {};
  laneIndices = {};
}

void BodyEmitter::bindValue(Value bodyValue, Value emitted) { values[bodyValue] = emitted; }

Value BodyEmitter::axisValue(StringRef axis) const {
  std::optional<unsigned> i = context->info.axisIndex(axis);
  return i ? axisValues[*i] : Value();
}

static bool has(AxisSet set, int axis) { return axis >= 0 && (set >> axis & 1); }

bool BodyEmitter::variesInLanes(Value bodyValue) const { return has(context->info.axesOf(bodyValue), laneAxis); }

Type BodyEmitter::laneType(Type element) const { return width > 1 ? VectorType::get({width}, element) : element; }

Value BodyEmitter::splat(Value scalar) {
  if (width == 1 || isa<VectorType>(scalar.getType()))
    return scalar;
  return context->b.create<vector::SplatOp>(context->loc, laneType(scalar.getType()), scalar);
}

Value BodyEmitter::fail(Twine message, Type type) {
  if (context->error.empty())
    context->error = message.str();
  return context->b.create<arith::ConstantOp>(context->loc, context->b.getZeroAttr(type));
}

//===----------------------------------------------------------------------===//
// Index expressions
//===----------------------------------------------------------------------===//

/// Symbols in the order of loop depth: sizes, axes from the outside in, indirect indices.
Value BodyEmitter::exprWith(const Expr &e, ValueRange indices) {
  Context &c = *context;
  auto lookup = [&](StringRef name) -> SymbolValue {
    for (unsigned i = 0; i < indices.size(); ++i)
      if (name == Expr::indirect(i).str())
        return {indices[i], 1000};
    if (std::optional<unsigned> axis = c.info.axisIndex(name)) {
      bool lane = int(*axis) == laneAxis;
      return {lane && laneIndices ? laneIndices : axisValues[*axis], lane ? 2000 : *axis + 1};
    }
    auto size = llvm::find(c.info.sizes, name);
    return size == c.info.sizes.end() ? SymbolValue{} : SymbolValue{c.sizes[size - c.info.sizes.begin()], 0};
  };
  Value v = lower::emitExpr(c.b, c.loc, e, lookup);
  return v ? v : fail("a symbol of '" + e.str() + "' has no value here", c.b.getI64Type());
}

/// 0, 1, .. width - 1.
Value BodyEmitter::laneSteps() {
  SmallVector<int64_t> steps(width);
  std::iota(steps.begin(), steps.end(), 0);
  return context->b.create<arith::ConstantOp>(context->loc, context->b.getI64VectorAttr(steps));
}

Value BodyEmitter::emitExpr(const Expr &e, ValueRange indices) {
  Context &c = *context;
  if (width == 1 || !has(c.info.axesOf(e), laneAxis))
    return exprWith(e, indices);
  laneIndices = c.b.create<arith::AddIOp>(c.loc, splat(axisValues[laneAxis]), laneSteps());
  Value v = exprWith(e, indices);
  laneIndices = {};
  return v;
}

/// Where an access goes: contiguous from a pointer, one uniform element, or an offset per lane.
BodyEmitter::Address BodyEmitter::addressOf(Operation *op, Value ref, ValueRange bodyIndices) {
  Context &c = *context;
  const Expr &e = c.info.exprOf(op);
  SmallVector<Value> indices;
  bool vectorIndex = false;
  for (Value v : bodyIndices) {
    indices.push_back(values.lookup(v));
    vectorIndex |= isa<VectorType>(indices.back().getType());
  }
  Type element = cast<kernel::RefType>(ref.getType()).getElementType();
  if (element.isInteger(1))
    element = c.b.getI8Type();
  Value base = c.refs[cast<BlockArgument>(ref).getArgNumber()];
  auto at = [&](Value offset) -> Value {
    return c.b.create<LLVM::GEPOp>(c.loc, base.getType(), element, base, ValueRange{offset}, /*inbounds=*/true);
  };
  auto offsetOf = [&](const Expr &part) -> Value {
    Value offset = exprWith(part, indices);
    return inPlace ? c.b.create<arith::SelectOp>(c.loc, inPlace, offset, constantI64(c.b, c.loc, 0)).getResult() : offset;
  };
  auto first = [&]() -> Value { // the first lane's
    if (!inPlace)
      return exprWith(e, indices);
    auto [shared, own] = splitByLanes(e, indices);
    return c.b.create<arith::AddIOp>(c.loc, offsetOf(shared), exprWith(own, indices));
  };
  std::optional<Expr::Linear> linear;
  if (laneAxis >= 0)
    linear = e.linearIn(c.info.axes[laneAxis]);
  bool uniform = !vectorIndex && !has(c.info.axesOf(e), laneAxis);
  if (width == 1 || uniform || (!vectorIndex && linear && linear->coefficient.isOne()))
    return {at(first()), {}, width > 1 && !uniform};
  Value offsets;
  if (linear && !vectorIndex) {
    // A stride: the first lane's offset as a scalar plus multiples of the stride.
    Value stride = splat(exprWith(linear->coefficient, {}));
    Value steady = c.b.create<arith::MulIOp>(c.loc, stride, laneSteps());
    offsets = c.b.create<arith::AddIOp>(c.loc, splat(first()), steady);
  } else {
    // What is the same in all lanes moves the pointer: points that differ in it alone share their offsets.
    auto [shared, own] = splitByLanes(e, indices);
    base = c.b.create<LLVM::GEPOp>(c.loc, base.getType(), element, base, ValueRange{offsetOf(shared)});
    laneIndices = c.b.create<arith::AddIOp>(c.loc, splat(axisValues[laneAxis]), laneSteps());
    offsets = splat(exprWith(own, indices));
  }
  laneIndices = {};
  return {base, offsets, true, linear && !vectorIndex ? linear->coefficient.constant().value_or(0) : 0};
}

/// The terms of a sum that are the same in all lanes, and the others.
std::pair<Expr, Expr> BodyEmitter::splitByLanes(const Expr &e, ValueRange indices) const {
  Expr shared(0), own(0);
  for (const Expr::Term &t : e.terms()) {
    Expr term(t.coefficient);
    for (const shape::Atom &a : t.atoms)
      term = term * Expr::fromAtom(a);
    bool varies = has(context->info.axesOf(term), laneAxis);
    for (unsigned i = 0; i < indices.size(); ++i)
      varies |= isa<VectorType>(indices[i].getType()) && term.mentions(Expr::indirect(i).str());
    (varies ? own : shared) = (varies ? own : shared) + term;
  }
  return {shared, own};
}

Value BodyEmitter::andMask(Value predicate) {
  if (!mask || !predicate)
    return mask ? mask : predicate;
  return context->b.create<arith::AndIOp>(context->loc, splat(predicate), splat(mask));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value BodyEmitter::emit(Value bodyValue) {
  if (Value known = values.lookup(bodyValue))
    return known;
  // The ops to emit, in body order: operands first, without recursion.
  std::set<unsigned> needed;
  SmallVector<Value> work{bodyValue};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (values.count(v) || isa<kernel::RefType>(v.getType()))
      continue;
    Operation *op = v.getDefiningOp();
    if (!op || isRootValue(v)) {
      values[v] = fail(op ? "the result of '" + op->getName().getStringRef() + "' is used before it is computed"
                          : Twine("a score is used outside its kernel.attention"),
                       v.getType());
      continue;
    }
    if (!needed.insert(context->info.position(op)).second)
      continue;
    if (Value chosen = decided(op))
      work.push_back(chosen);
    else
      work.append(op->operand_begin(), op->operand_end());
  }
  for (unsigned position : needed)
    emitOp(context->info.ops[position]);
  return values.lookup(bodyValue);
}

/// The operand that a selection gives where its condition is bound to a constant: the other one is not computed.
Value BodyEmitter::decided(Operation *op) const {
  auto select = dyn_cast<arith::SelectOp>(op);
  Value condition = select ? values.lookup(select.getCondition()) : Value();
  if (condition && matchPattern(condition, m_One()))
    return select.getTrueValue();
  return condition && matchPattern(condition, m_Zero()) ? select.getFalseValue() : Value();
}

Value BodyEmitter::emitLanes(Value bodyValue) { return splat(emit(bodyValue)); }

SmallVector<Value> BodyEmitter::valuesOf(ValueRange bodyValues) const {
  SmallVector<Value> out;
  for (Value v : bodyValues)
    out.push_back(values.lookup(v));
  return out;
}

void BodyEmitter::emitOp(Operation *op) {
  Value v;
  if (auto load = dyn_cast<kernel::LoadOp>(op))
    v = emitLoad(load);
  else if (auto index = dyn_cast<kernel::IndexOp>(op))
    v = emitExpr(context->info.exprOf(op), valuesOf(index.getIndices()));
  else if (op->getNumResults() != 1)
    v = fail("'" + op->getName().getStringRef() + "' has " + Twine(op->getNumResults()) + " results",
             context->b.getI64Type());
  else if (Value chosen = decided(op))
    v = values.lookup(chosen);
  else if (op->hasTrait<OpTrait::ConstantLike>())
    v = context->b.clone(*op)->getResult(0);
  else
    v = emitScalarOp(op);
  values[op->getResult(0)] = v;
}

/// Booleans lie in memory as bytes.
static Value fromMemory(OpBuilder &b, Location loc, Value v) {
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(v.getType()));
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, v, zero);
}

static Value toMemory(OpBuilder &b, Location loc, Value v) {
  Type type = b.getI8Type();
  if (auto vector = dyn_cast<VectorType>(v.getType()))
    type = VectorType::get(vector.getShape(), type);
  return b.create<arith::ExtUIOp>(loc, type, v);
}

Value BodyEmitter::emitLoad(kernel::LoadOp op) {
  Context &c = *context;
  bool boolean = op.getType().isInteger(1);
  Value fill = op.getFill() ? values.lookup(op.getFill()) : Value();
  if (boolean && fill)
    fill = toMemory(c.b, c.loc, fill);
  Type memory = boolean ? c.b.getI8Type() : op.getType();
  Value predicate = op.getPredicate() ? values.lookup(op.getPredicate()) : Value();
  if (Value together = c.hooks.loadTogether(op, predicate, fill))
    return together;
  if (predicate && !fill) // no value is wanted where the predicate is false: any will do
    fill = c.b.create<arith::ConstantOp>(c.loc, c.b.getZeroAttr(memory));
  Value v;
  if (predicate && !isa<VectorType>(predicate.getType()) && !(width == 1 && mask)) {
    // The same in all lanes: a branch around the whole access.
    bool varies = has(c.info.axesOf(op.getResult()), laneAxis);
    if (varies)
      fill = splat(fill);
    auto loaded = [&] { // one element is in range where the branch goes
      Value one = emitLoadAt(op, memory, fill, varies ? mask : Value());
      return varies ? splat(one) : one;
    };
    v = emitEither(predicate, fill.getType(), loaded, [&] { return fill; });
  } else if (Conditions all = conditionsOf(op); all.shared && all.own && (op.getRef().hasOneUse() || isPiece(op.getResult()))) {
    fill = splat(fill);
    v = emitEither(all.shared, fill.getType(), [&] { return splat(emitLoadAt(op, memory, fill, andMask(all.own))); }, [&] { return fill; });
  } else {
    inPlace = all.far;
    v = emitLoadAt(op, memory, fill, andMask(predicate));
    inPlace = {};
  }
  return boolean ? fromMemory(c.b, c.loc, v) : v;
}

/// Is it one of several pieces, of which a condition that is the same in all lanes takes one?
bool BodyEmitter::isPiece(Value loaded) const {
  SmallVector<Value> work{loaded};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    for (Operation *user : v.getUsers()) {
      if (auto select = dyn_cast<arith::SelectOp>(user); select && select.getCondition() != v && !variesInLanes(select.getCondition()))
        if (!matchPattern(select.getTrueValue(), m_Constant()) && !matchPattern(select.getFalseValue(), m_Constant()))
          return true;
      if (user->getNumResults() == 1 && !isRootValue(user->getResult(0)) && seen.insert(user).second)
        work.push_back(user->getResult(0));
    }
  }
  return false;
}

/// The parts of a conjunction, in order, those that are conjunctions themselves where `splits` says so.
static void eachConjunct(Value condition, llvm::function_ref<bool(Value)> splits, llvm::function_ref<void(Value)> each) {
  SmallVector<Value> work{condition};
  while (!work.empty()) {
    Value part = work.pop_back_val();
    if (auto both = part.getDefiningOp<arith::AndIOp>(); both && splits(part))
      work.append({both.getRhs(), both.getLhs()});
    else
      each(part);
  }
}

/// The conditions of a predicate in lanes. What would be read under an empty mask where those do not hold that are the same in all lanes, as the rows of another piece and
/// those around an image, may lie on no page at all, for which processors take hundreds of cycles: a branch goes around it. The many loads of a window have no branch
/// each. Where a whole plane of rows is outside they read from the array's beginning; single rows are few, most of them beside others of the array.
BodyEmitter::Conditions BodyEmitter::conditionsOf(kernel::LoadOp op) {
  Context &c = *context;
  Conditions all;
  if (!op.getPredicate() || width == 1 || !c.hooks.asksAllLanes())
    return all;
  int innermost = int(c.info.axes.size()) - 1;
  innermost -= innermost == laneAxis;
  AxisSet outer = innermost > 0 ? (AxisSet(1) << innermost) - 1 : 0;
  auto add = [&](Value &to, Value v) { to = to ? c.b.createOrFold<arith::AndIOp>(c.loc, to, v) : v; };
  auto inLanes = [&](Value condition) { return isa<VectorType>(values.lookup(condition).getType()); };
  eachConjunct(op.getPredicate(), inLanes, [&](Value condition) {
    Value v = values.lookup(condition);
    if (matchPattern(v, m_One()))
      return;
    if (inLanes(condition))
      return add(all.own, v);
    add(all.shared, v);
    eachConjunct(condition, [](Value) { return true; }, [&](Value part) {
      if (c.info.axesOf(part) & outer)
        add(all.far, values.lookup(part));
    });
  });
  return all;
}

Value BodyEmitter::emitGather(kernel::LoadOp op, Type memory, Value fill, Value active) {
  Context &c = *context;
  Address a = addressOf(op, op.getRef(), op.getIndices());
  bool perLane = a.vector || (active && isa<VectorType>(active.getType()) && op.getPredicate());
  if (!perLane && width > 1)
    active = {}; // one element for all lanes: in range at every point of the other axes
  if (width == 1 && !has(c.info.axesOf(op.getResult()), laneAxis) && !op.getPredicate())
    active = {};
  if (perLane && fill)
    fill = splat(fill);
  Access access{op, a.pointer, perLane ? laneType(memory) : memory, active ? (perLane ? splat(active) : active) : Value()};
  if (!perLane || (a.vector && !a.offsets))
    return c.hooks.load(c.b, c.loc, access, fill);
  auto gathered = [&] { return c.hooks.gather(c.b, c.loc, access, a.offsets ? a.offsets : splat(constantI64(c.b, c.loc, 0)), fill); };
  bool atEnds = c.hooks.asksAllLanes() && op.getPredicate() && access.mask && fill; // the sides of rows: most vectors have no such lane
  auto whereWanted = [&](llvm::function_ref<Value()> read) {
    Value any = c.b.create<LLVM::vector_reduce_or>(c.loc, c.b.getI1Type(), access.mask);
    return emitEither(any, fill.getType(), read, [&] { return fill; });
  };
  if (a.stride > 1 || a.stride == -1) {
    Value first = c.b.create<vector::ExtractOp>(c.loc, a.offsets, int64_t(0));
    Type element = getElementTypeOrSelf(access.type);
    Access strided = access;
    strided.pointer = c.b.create<LLVM::GEPOp>(c.loc, a.pointer.getType(), element, a.pointer, ValueRange{first}, /*inbounds=*/true);
    auto read = [&] { return c.hooks.loadStrided(c.b, c.loc, strided, a.stride, access.mask ? fill : Value()); };
    auto backwards = [&] {
      Value v = read();
      return v ? v : gathered();
    };
    if (a.stride == -1 && atEnds)
      return whereWanted(backwards);
    if (Value v = read())
      return v;
  }
  if (a.offsets && mayLieNear(op))
    return emitNear(access, a.offsets, fill);
  if (!c.hooks.asksAllLanes() || (a.offsets && !atEnds))
    return gathered();
  auto one = [&]() -> Value {
    Value v = splat(c.hooks.load(c.b, c.loc, {op, a.pointer, memory, {}}, {}));
    return c.b.create<arith::SelectOp>(c.loc, access.mask, v, fill);
  };
  return a.offsets ? whereWanted(gathered) : whereWanted(one);
}

/// What is computed where a condition holds, or elsewhere.
Value BodyEmitter::emitEither(Value condition, Type type, llvm::function_ref<Value()> then, llvm::function_ref<Value()> otherwise) {
  Context &c = *context;
  auto branch = c.b.create<scf::IfOp>(c.loc, TypeRange{type}, condition, true, true);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(branch.thenBlock());
  c.b.create<scf::YieldOp>(c.loc, then());
  c.b.setInsertionPointToStart(branch.elseBlock());
  c.b.create<scf::YieldOp>(c.loc, otherwise());
  return branch.getResult(0);
}

void BodyEmitter::emitStore(kernel::StoreOp store) { emitStoreOf(store, emit(store.getValue())); }

void BodyEmitter::emitStoreOf(kernel::StoreOp store, Value value) {
  Context &c = *context;
  for (Value v : store.getIndices())
    emit(v);
  Value predicate = store.getPredicate() ? emit(store.getPredicate()) : Value();
  OpBuilder::InsertionGuard guard(c.b);
  Value active = mask;
  if (predicate && !isa<VectorType>(predicate.getType())) {
    auto branch = c.b.create<scf::IfOp>(c.loc, predicate, /*withElseRegion=*/false);
    c.b.setInsertionPointToStart(branch.thenBlock());
  } else {
    active = andMask(predicate);
  }
  if (store.getValue().getType().isInteger(1))
    value = toMemory(c.b, c.loc, value);
  Address a = addressOf(store, store.getRef(), store.getIndices());
  bool perLane = width > 1 && (a.vector || isa<VectorType>(value.getType()) || (active && active != mask));
  if (perLane)
    value = splat(value);
  else if (!has(c.info.domainOf(store), laneAxis))
    active = {};
  Access access{store, a.pointer, value.getType(), active ? (perLane ? splat(active) : active) : Value()};
  if (!perLane || (a.vector && !a.offsets)) {
    if (lanesLeft && access.mask && active == mask && isa<VectorType>(access.type))
      return storeLeft(access, value);
    c.hooks.store(c.b, c.loc, access, value);
    return;
  }
  c.hooks.scatter(c.b, c.loc, access, a.offsets ? a.offsets : splat(constantI64(c.b, c.loc, 0)), value);
}

/// All lanes, some under the mask, or none.
void BodyEmitter::storeLeft(const Access &access, Value value) {
  Context &c = *context;
  auto exceeds = [&](int64_t lanes) { return c.b.create<arith::CmpIOp>(c.loc, arith::CmpIPredicate::sgt, lanesLeft, constantI64(c.b, c.loc, lanes)); };
  auto store = [&](const Access &a) {
    c.hooks.store(c.b, c.loc, a, value);
    c.b.create<scf::YieldOp>(c.loc);
  };
  OpBuilder::InsertionGuard guard(c.b);
  auto all = c.b.create<scf::IfOp>(c.loc, TypeRange{}, exceeds(width - 1), /*addThenBlock=*/true, /*addElseBlock=*/true);
  c.b.setInsertionPointToStart(all.thenBlock());
  store({access.op, access.pointer, access.type, Value()});
  c.b.setInsertionPointToStart(all.elseBlock());
  auto some = c.b.create<scf::IfOp>(c.loc, TypeRange{}, exceeds(0), /*addThenBlock=*/true, /*addElseBlock=*/false);
  c.b.create<scf::YieldOp>(c.loc);
  c.b.setInsertionPointToStart(some.thenBlock());
  store(access);
}

//===----------------------------------------------------------------------===//
// arith and math ops
//===----------------------------------------------------------------------===//

static bool isHalf(Type t) {
  Type e = getElementTypeOrSelf(t);
  return isa<FloatType>(e) && e.getIntOrFloatBitWidth() < 32;
}

static Type withElement(Type shape, Type element) {
  auto v = dyn_cast<VectorType>(shape);
  return v ? VectorType::get(v.getShape(), element) : element;
}

/// A half value without its sign or with the other one: a matter of a bit. Null for other ops.
static Value emitSign(OpBuilder &b, Location loc, Operation *op, Value half) {
  if (!isa<math::AbsFOp, arith::NegFOp>(op))
    return {};
  bool clears = isa<math::AbsFOp>(op);
  Type bits = withElement(half.getType(), b.getI16Type());
  Attribute mask = b.getI16IntegerAttr(clears ? 0x7fff : -0x8000);
  if (auto vector = dyn_cast<VectorType>(bits))
    mask = DenseElementsAttr::get(vector, mask);
  Value m = b.create<arith::ConstantOp>(loc, cast<TypedAttr>(mask)), v = b.create<arith::BitcastOp>(loc, bits, half);
  v = clears ? b.create<arith::AndIOp>(loc, v, m).getResult() : b.create<arith::XOrIOp>(loc, v, m).getResult();
  return b.create<arith::BitcastOp>(loc, half.getType(), v);
}

/// Ops that move half values without computing on them.
static bool movesOnly(Operation *op) { return isa<arith::SelectOp, arith::BitcastOp>(op); }

Value BodyEmitter::emitScalarOp(Operation *op) {
  Context &c = *context;
  SmallVector<Value> operands;
  bool vector = false;
  for (Value v : op->getOperands()) {
    operands.push_back(values.lookup(v));
    vector |= isa<VectorType>(operands.back().getType());
  }
  if (vector)
    if (Value v = emitIndexCompare(op, operands))
      return v;
  bool select = isa<arith::SelectOp>(op);
  if (vector)
    for (auto [i, v] : llvm::enumerate(operands))
      if (!(select && i == 0))
        v = splat(v);
  Type element = op->getResult(0).getType();
  Type type = vector ? laneType(element) : element;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return c.hooks.convertFloat(c.b, c.loc, operands[0], type);
  Type computed = type;
  if (isHalf(type))
    if (Value v = emitSign(c.b, c.loc, op, operands[0]))
      return v;
  if (!movesOnly(op)) {
    for (Value &v : operands)
      if (isHalf(v.getType()))
        v = c.hooks.convertFloat(c.b, c.loc, v, withElement(v.getType(), c.b.getF32Type()));
    if (isHalf(type))
      computed = withElement(type, c.b.getF32Type());
  }
  Value v = c.hooks.compute(c.b, c.loc, op, operands, computed);
  if (!v)
    v = emitDivision(op, operands, computed);
  if (!v) {
    OperationState state(c.loc, op->getName(), operands, computed, op->getAttrs());
    Operation *emitted = c.b.create(state);
    markRounding(op, emitted);
    if (computed != type && isa<math::SinOp, math::CosOp>(op))
      emitted->setAttr(ofHalfName, c.b.getUnitAttr());
    v = emitted->getResult(0);
  }
  return computed == type ? v : c.hooks.convertFloat(c.b, c.loc, v, type);
}

/// Integer division that cannot trap: a zero divisor (also of a lane that is masked out) gives 0, the smallest value divided
/// by -1 wraps around.
Value BodyEmitter::emitDivision(Operation *op, ArrayRef<Value> operands, Type type) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
           arith::CeilDivUIOp>(op))
    return {};
  Context &c = *context;
  auto constant = [&](int64_t v) -> Value {
    Attribute a = c.b.getIntegerAttr(getElementTypeOrSelf(type), v);
    if (auto vector = dyn_cast<VectorType>(type))
      a = DenseElementsAttr::get(vector, a);
    return c.b.create<arith::ConstantOp>(c.loc, cast<TypedAttr>(a));
  };
  auto is = [&](Value v, Value k) -> Value { return c.b.create<arith::CmpIOp>(c.loc, arith::CmpIPredicate::eq, v, k); };
  auto pick = [&](Value p, Value x, Value y) -> Value { return c.b.create<arith::SelectOp>(c.loc, p, x, y); };
  Value x = operands[0], y = operands[1], zero = constant(0);
  Value bad = is(y, zero);
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
  Value minusOne = isSigned ? is(y, constant(-1)) : Value();
  Value unsafe = isSigned ? Value(c.b.create<arith::OrIOp>(c.loc, bad, minusOne)) : bad;
  Value safe = pick(unsafe, constant(1), y);
  OperationState state(c.loc, op->getName(), {x, safe}, type, op->getAttrs());
  Value v = c.b.create(state)->getResult(0);
  if (isSigned) {
    Value special = isa<arith::RemSIOp>(op) ? zero : Value(c.b.create<arith::SubIOp>(c.loc, zero, x));
    v = pick(minusOne, special, v);
  }
  return pick(bad, zero, v);
}
