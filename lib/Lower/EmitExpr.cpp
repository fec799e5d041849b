//===- EmitExpr.cpp - Index expressions as arithmetic ----------------------===//

#include "lathe/Lower/EmitExpr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Atom;
using shape::Expr;

Value lower::constantI64(OpBuilder &b, Location loc, int64_t value) {
  return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value));
}

static bool isNonNegative(const Atom &a) {
  if (a.kind == Atom::Kind::Symbol)
    return a.symbol == shape::SymbolKind::Size || a.symbol == shape::SymbolKind::Axis;
  if (a.kind == Atom::Kind::Mod)
    return true;
  bool first = lower::isNonNegative(a.operands[0]), second = lower::isNonNegative(a.operands[1]);
  return a.kind == Atom::Kind::Max ? first || second : first && second;
}

bool lower::isNonNegative(const Expr &e) {
  for (const Expr::Term &t : e.terms()) {
    if (t.coefficient < 0)
      return false;
    for (const Atom &a : t.atoms)
      if (!::isNonNegative(a))
        return false;
  }
  return true;
}

namespace {
/// Emits one expression. Operands are kept with their depth to order sums and products.
class ExprEmitter {
public:
  ExprEmitter(OpBuilder &b, Location loc, SymbolLookup lookup) : b(b), loc(loc), lookup(lookup) {}
  SymbolValue emit(const Expr &e);
  bool failed = false;

private:
  SymbolValue emitTerm(const Expr::Term &t);
  SymbolValue emitAtom(const Atom &a);
  SymbolValue emitDivision(const Atom &a);
  Value divisorOf(const Expr &e, Value v);

  /// Makes both scalars or both vectors.
  void unify(Value &x, Value &y) {
    if (x.getType() == y.getType())
      return;
    Value &scalar = isa<VectorType>(x.getType()) ? y : x;
    Type type = isa<VectorType>(x.getType()) ? x.getType() : y.getType();
    scalar = b.create<vector::SplatOp>(loc, type, scalar);
  }
  template <typename Op> Value binary(Value x, Value y) {
    unify(x, y);
    return b.create<Op>(loc, x, y);
  }
  template <typename Op> Value exact(Value x, Value y) {
    unify(x, y);
    return b.create<Op>(loc, x, y, arith::IntegerOverflowFlags::nsw);
  }
  Value compare(arith::CmpIPredicate p, Value x, Value y) {
    unify(x, y);
    return b.create<arith::CmpIOp>(loc, p, x, y);
  }
  Value select(Value c, Value x, Value y) {
    unify(x, y);
    return b.create<arith::SelectOp>(loc, c, x, y);
  }
  /// Combines the shallow parts first; parts of one depth keep their order.
  template <typename Op> SymbolValue combine(ArrayRef<SymbolValue> parts) {
    std::multimap<unsigned, Value> byDepth;
    for (const SymbolValue &p : parts)
      byDepth.insert({p.depth, p.value});
    Value all;
    for (auto &[depth, value] : byDepth)
      all = all ? exact<Op>(all, value) : value;
    return {all, byDepth.rbegin()->first};
  }

  OpBuilder &b;
  Location loc;
  SymbolLookup lookup;
};
} // namespace

SymbolValue ExprEmitter::emit(const Expr &e) {
  SmallVector<SymbolValue> parts;
  for (const Expr::Term &t : e.terms())
    parts.push_back(emitTerm(t));
  return parts.empty() ? SymbolValue{constantI64(b, loc, 0), 0} : combine<arith::AddIOp>(parts);
}

SymbolValue ExprEmitter::emitTerm(const Expr::Term &t) {
  SmallVector<SymbolValue> factors;
  if (t.coefficient != 1 || t.atoms.empty())
    factors.push_back({constantI64(b, loc, t.coefficient), 0});
  for (const Atom &a : t.atoms)
    factors.push_back(emitAtom(a));
  return combine<arith::MulIOp>(factors);
}

SymbolValue ExprEmitter::emitAtom(const Atom &a) {
  if (a.kind == Atom::Kind::Symbol) {
    SymbolValue v = lookup(a.name);
    if (v.value)
      return v;
    failed = true;
    return {constantI64(b, loc, 0), 0};
  }
  if (a.kind == Atom::Kind::FloorDiv || a.kind == Atom::Kind::Mod)
    return emitDivision(a);
  SymbolValue x = emit(a.operands[0]), y = emit(a.operands[1]);
  Value v = a.kind == Atom::Kind::Min ? binary<arith::MinSIOp>(x.value, y.value) : binary<arith::MaxSIOp>(x.value, y.value);
  return {v, std::max(x.depth, y.depth)};
}

/// 1 in place of 0: of an empty domain, where nothing is computed with the quotient.
Value ExprEmitter::divisorOf(const Expr &e, Value v) {
  std::optional<int64_t> c = e.constant();
  if (c && *c)
    return v;
  Value one = constantI64(b, loc, 1);
  if (lower::isNonNegative(e))
    return binary<arith::MaxSIOp>(v, one);
  return select(compare(arith::CmpIPredicate::eq, v, constantI64(b, loc, 0)), one, v);
}

SymbolValue ExprEmitter::emitDivision(const Atom &a) {
  bool mod = a.kind == Atom::Kind::Mod;
  SymbolValue x = emit(a.operands[0]), y = emit(a.operands[1]);
  unsigned depth = std::max(x.depth, y.depth);
  std::optional<int64_t> c = a.operands[1].constant();
  if (c && *c > 0 && llvm::isPowerOf2_64(*c)) {
    Value v = mod ? binary<arith::AndIOp>(x.value, constantI64(b, loc, *c - 1))
                  : binary<arith::ShRSIOp>(x.value, constantI64(b, loc, llvm::Log2_64(*c)));
    return {v, depth};
  }
  Value d = divisorOf(a.operands[1], y.value);
  bool isPositive = isNonNegative(a.operands[1]);
  if (isPositive && isNonNegative(a.operands[0]))
    return {mod ? binary<arith::RemUIOp>(x.value, d) : binary<arith::DivUIOp>(x.value, d), depth};
  // Truncated division, corrected where the remainder has not the divisor's sign.
  Value rem = binary<arith::RemSIOp>(x.value, d), zero = constantI64(b, loc, 0);
  Value wrong = compare(arith::CmpIPredicate::slt, isPositive ? rem : binary<arith::XOrIOp>(rem, d), zero);
  if (!isPositive)
    wrong = binary<arith::AndIOp>(wrong, compare(arith::CmpIPredicate::ne, rem, zero));
  if (mod)
    return {select(wrong, binary<arith::AddIOp>(rem, d), rem), depth};
  Value q = binary<arith::DivSIOp>(x.value, d);
  return {select(wrong, binary<arith::SubIOp>(q, constantI64(b, loc, 1)), q), depth};
}

Value lower::emitExpr(OpBuilder &b, Location loc, const Expr &e, SymbolLookup lookup) {
  if (e.isUnknown())
    return Value();
  ExprEmitter emitter(b, loc, lookup);
  Value v = emitter.emit(e).value;
  return emitter.failed ? Value() : v;
}
