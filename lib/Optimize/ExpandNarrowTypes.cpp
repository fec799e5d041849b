//===- ExpandNarrowTypes.cpp - Narrow element types as bytes ---------------===//
//
// What the machine cannot compute in lies in bytes: one per element inside of the model, packed at its boundary. Conversions
// are written out: a table of the values one way, arithmetic on the bits of an f32 the other way.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <cmath>

namespace lathe::opt {
#define GEN_PASS_DEF_EXPANDNARROWTYPES
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

/// Which types are written out, and what their elements lie in.
struct Storage {
  bool float8; ///< machines convert those of isFloat8: they stay

  const NarrowType *expanded(Type element) const { return float8 && isFloat8(element) ? nullptr : narrowType(element); }
  /// Signed integers in i8, sign-extended; everything else in ui8.
  Type of(Type element) const {
    const NarrowType *narrow = expanded(element);
    if (!narrow)
      return element;
    bool isSigned = narrow->isInteger() && !element.isUnsignedInteger();
    return IntegerType::get(element.getContext(), 8, isSigned ? IntegerType::Signless : IntegerType::Unsigned);
  }
  Type ofTensor(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? tensor.clone(of(tensor.getElementType())) : type;
  }
  bool changes(Type tensor) const { return ofTensor(tensor) != tensor; }
};

//===----------------------------------------------------------------------===//
// Narrow to wide
//===----------------------------------------------------------------------===//

static float valueOf(const NarrowType &t, unsigned code) {
  if (t.bits == 8 && t.mantissa == 0) // f8E8M0
    return code == t.nan ? NAN : std::ldexp(1.0f, int(code) - t.bias);
  unsigned top = 1u << (t.bits - 1), magnitude = code & (top - 1);
  bool negative = code & top;
  if ((!t.hasNegativeZero && code == t.nan) || (t.hasNegativeZero && magnitude > t.last && magnitude != t.overflow))
    return NAN;
  if (t.hasNegativeZero && magnitude > t.last)
    return t.overflow == t.nan ? NAN : negative ? -INFINITY : INFINITY;
  unsigned one = 1u << t.mantissa, exponent = magnitude >> t.mantissa, fraction = magnitude & (one - 1);
  float v = exponent ? std::ldexp(float(one + fraction), int(exponent) - t.bias - t.mantissa)
                     : std::ldexp(float(fraction), 1 - t.bias - t.mantissa);
  return negative ? -v : v;
}

/// The numbers that the stored codes stand for, in a type that the machine computes in.
static Value decode(GraphBuilder &g, Value stored, const NarrowType &from, Type to) {
  if (from.isInteger())
    return g.cast(stored, to);
  SmallVector<float> values;
  for (unsigned code = 0; code < (1u << from.bits); ++code)
    values.push_back(valueOf(from, code));
  auto type = RankedTensorType::get({int64_t(values.size())}, g.b.getF32Type());
  Value table = g.b.create<ConstantOp>(g.loc, DenseElementsAttr::get(type, ArrayRef<float>(values)));
  return g.cast(g.gather(table, g.cast(stored, g.b.getI64Type()), 0), to);
}

//===----------------------------------------------------------------------===//
// Wide to narrow
//===----------------------------------------------------------------------===//

/// The low bits of bytes, extended to whole bytes again.
static Value lowBits(GraphBuilder &g, Value x, const NarrowType &to, Type storage) {
  x = g.cast(x, storage);
  double unused = 8 - to.bits;
  if (storage.isUnsignedInteger())
    return g.binary<AndOp>(x, double((1 << to.bits) - 1));
  return g.binary<ShrOp>(g.binary<ShlOp>(x, unused), unused);
}

/// The low bits of the integer; of a float's, truncated to i32.
static Value encodeInteger(GraphBuilder &g, Value x, const NarrowType &to, Type storage) {
  return lowBits(g, isa<FloatType>(elementOf(x)) ? g.cast(x, g.b.getI32Type()) : x, to, storage);
}

/// The code of an f32, rounded to nearest even.
static Value encodeFloat(GraphBuilder &g, Value x, const NarrowType &to, Type storage) {
  Type ui32 = g.b.getIntegerType(32, false);
  Value bits = g.bitcast(g.cast(x, g.b.getF32Type()), ui32);
  if (to.mantissa == 0) // f8E8M0: the exponent as it is
    return g.cast(g.binary<AndOp>(g.binary<ShrOp>(bits, 23), 255), storage);
  Value magnitude = g.binary<AndOp>(bits, double(0x7FFFFFFF)), sign = g.binary<ShrOp>(bits, 31);
  unsigned shift = 23 - to.mantissa;
  Value odd = g.binary<AndOp>(g.binary<ShrOp>(magnitude, shift), 1);
  Value rounded = g.binary<ShrOp>(g.add(g.binary<AddOp>(magnitude, double((1 << (shift - 1)) - 1)), odd), shift);
  Value normal = g.binary<SubOp>(rounded, double((127 - to.bias) << to.mantissa));
  // Below the smallest normal number the codes count its fractions.
  Value fractions = g.binary<MulOp>(g.bitcast(magnitude, g.b.getF32Type()), std::ldexp(1.0, to.bias - 1 + to.mantissa));
  Value subnormal = g.cast(g.unary<RoundOp>(fractions), ui32);
  auto is = [&](CompareKind kind, Value v, double limit) { return g.compare(kind, v, g.splatLike(limit, v)); };
  Value code = g.select(is(CompareKind::LT, magnitude, double((128 - to.bias) << 23)), subnormal, normal);
  code = g.select(is(CompareKind::GT, code, to.last), g.splatLike(to.overflow, code), code);
  Value withSign = g.binary<OrOp>(code, g.binary<ShlOp>(sign, to.bits - 1));
  code = to.hasNegativeZero ? withSign : g.select(is(CompareKind::EQ, code, 0), code, withSign);
  code = g.select(is(CompareKind::GT, magnitude, double(0x7F800000)), g.splatLike(to.nan, code), code);
  return g.cast(code, storage);
}

static Value encode(GraphBuilder &g, Value x, const NarrowType &to, Type storage) {
  return to.isInteger() ? encodeInteger(g, x, to, storage) : encodeFloat(g, x, to, storage);
}

//===----------------------------------------------------------------------===//
// Packed at the boundary
//===----------------------------------------------------------------------===//

/// Elements that share a byte lie in it from the low bits up.
static RankedTensorType packedType(RankedTensorType type, const NarrowType &narrow) {
  Expr count = shape::product(dimsOf(type)), perByte(8 / narrow.bits);
  return tensorType({Expr::ceildiv(count, perByte)}, IntegerType::get(type.getContext(), 8, IntegerType::Unsigned));
}

static Value unpack(GraphBuilder &g, Value bytes, const Dims &dims, const NarrowType &narrow, Type storage) {
  SmallVector<Value> parts;
  for (unsigned at = 0; at < 8; at += narrow.bits)
    parts.push_back(g.unsqueeze(lowBits(g, g.binary<ShrOp>(bytes, at), narrow, storage), {1}));
  Value all = g.concat(parts, 1);
  Expr count = g.facts.simplify(shape::product(dims)), places = dimsOf(bytes)[0] * Expr(8 / narrow.bits);
  return g.reshape(g.slice(g.reshape(all, {places}), 0, Expr(0), count), dims);
}

static Value pack(GraphBuilder &g, Value x, RankedTensorType to, const NarrowType &narrow) {
  int64_t perByte = 8 / narrow.bits;
  Dims dims = dimsOf(x);
  Expr count = g.facts.simplify(shape::product(dims)), bytes = dimsOf(to)[0], missing = bytes * Expr(perByte) - count;
  Value flat = g.binary<AndOp>(g.cast(g.reshape(x, {count}), to.getElementType()), double((1 << narrow.bits) - 1));
  flat = g.b.createOrFold<PadOp>(g.loc, tensorType({bytes * Expr(perByte)}, to.getElementType()), flat,
                                 g.scalar(0, to.getElementType()), exprArray(g.b, {Expr(0)}), exprArray(g.b, {missing}));
  Value rows = g.reshape(flat, {bytes, Expr(perByte)}), all;
  for (int64_t i = 0; i < perByte; ++i) {
    Value part = g.binary<ShlOp>(g.reshape(g.slice(rows, 1, Expr(i), Expr(1)), {bytes}), double(i * narrow.bits));
    all = all ? g.binary<OrOp>(all, part) : part;
  }
  return all;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

/// A cast or bitcast, and the types that it had.
struct Conversion {
  Operation *op;
  Type from, to;
};

class Expander {
public:
  Expander(func::FuncOp func, const shape::Facts &facts, Storage storage) : func(func), facts(facts), stored(storage), b(func.getContext()) {}
  void run();

private:
  GraphBuilder before(Operation *op) {
    b.setInsertionPoint(op);
    return GraphBuilder(b, op->getLoc(), facts);
  }
  void convert(const Conversion &c);
  void argument(BlockArgument a);
  void result(func::ReturnOp ret, unsigned i);

  func::FuncOp func;
  const shape::Facts &facts;
  Storage stored;
  OpBuilder b;
};

void Expander::convert(const Conversion &c) {
  GraphBuilder g = before(c.op);
  const NarrowType *from = stored.expanded(c.from), *to = stored.expanded(c.to);
  Value x = c.op->getOperand(0), r = x;
  Type storage = stored.of(c.to);
  if (isa<BitcastOp>(c.op))
    r = !to || to->bits == 8 ? g.bitcast(x, storage) : lowBits(g, x, *to, storage);
  else if (!to)
    r = decode(g, x, *from, c.to);
  else if (from && from->isInteger() && to->isInteger())
    r = lowBits(g, x, *to, storage);
  else
    r = encode(g, from ? decode(g, x, *from, g.b.getF32Type()) : x, *to, storage);
  c.op->getResult(0).replaceAllUsesWith(r);
  c.op->erase();
}

/// Called before other values change type: the uses of a packed argument read its elements from here on.
void Expander::argument(BlockArgument a) {
  auto type = cast<RankedTensorType>(a.getType());
  const NarrowType &narrow = *narrowType(type.getElementType());
  func.setArgAttr(a.getArgNumber(), "lathe.type", TypeAttr::get(type));
  if (narrow.bits == 8)
    return a.setType(stored.ofTensor(type));
  a.setType(packedType(type, narrow));
  b.setInsertionPointToStart(&func.getBody().front());
  GraphBuilder g(b, a.getLoc(), facts);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : a.getUses())
    uses.push_back(&use);
  Value elements = unpack(g, a, dimsOf(type), narrow, stored.of(type.getElementType()));
  for (OpOperand *use : uses)
    use->set(elements);
}

void Expander::result(func::ReturnOp ret, unsigned i) {
  auto type = cast<RankedTensorType>(func.getResultTypes()[i]);
  const NarrowType &narrow = *narrowType(type.getElementType());
  func.setResultAttr(i, "lathe.type", TypeAttr::get(type));
  if (narrow.bits < 8) {
    GraphBuilder g = before(ret);
    ret.setOperand(i, pack(g, ret.getOperand(i), packedType(type, narrow), narrow));
  }
}

/// The same bytes as elements of another type of 8 bits.
static ElementsAttr asBytes(ElementsAttr value, RankedTensorType type) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  return cast<DenseElementsAttr>(value).bitcast(type.getElementType());
}

void Expander::run() {
  SmallVector<Conversion> conversions;
  SmallVector<Value> values;
  auto note = [&](Value v) {
    if (stored.changes(v.getType()))
      values.push_back(v);
  };
  func.walk([&](Operation *op) {
    if (isa<CastOp, BitcastOp>(op) &&
        (stored.changes(op->getOperand(0).getType()) || stored.changes(op->getResult(0).getType())))
      conversions.push_back({op, elementOf(op->getOperand(0)), elementOf(op->getResult(0))});
    llvm::for_each(op->getResults(), note);
    if (op != func.getOperation())
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArguments(), note);
  });
  Block &body = func.getBody().front();
  SmallVector<BlockArgument> arguments;
  for (BlockArgument a : body.getArguments())
    if (stored.changes(a.getType()))
      arguments.push_back(a);
  if (arguments.empty() && values.empty())
    return;
  for (Value v : values) {
    if (auto constant = v.getDefiningOp<ConstantOp>())
      constant.setValueAttr(asBytes(constant.getValue(), cast<RankedTensorType>(stored.ofTensor(v.getType()))));
    v.setType(stored.ofTensor(v.getType()));
  }
  for (BlockArgument a : llvm::reverse(arguments))
    argument(a);
  for (const Conversion &c : conversions)
    convert(c);
  auto ret = cast<func::ReturnOp>(body.getTerminator());
  for (unsigned i = 0; i < ret.getNumOperands(); ++i)
    if (stored.changes(func.getResultTypes()[i]))
      result(ret, i);
  func.setType(b.getFunctionType(body.getArgumentTypes(), ret.getOperandTypes()));
}

struct ExpandNarrowTypes : opt::impl::ExpandNarrowTypesBase<ExpandNarrowTypes> {
  using ExpandNarrowTypesBase::ExpandNarrowTypesBase;
  void runOnOperation() override {
    shape::Facts facts = factsOf(getOperation());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      Expander(func, facts, {float8}).run();
  }
};

} // namespace
