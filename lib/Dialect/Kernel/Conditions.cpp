//===- Conditions.cpp - What the conditions of a kernel say of its indices -===//

#include "lathe/Dialect/Kernel/Legality.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::kernel;
using shape::Expr;
using P = arith::CmpIPredicate;

std::optional<Expr> kernel::lastPlaceOf(Value v) {
  auto low = v.getDefiningOp<arith::MaxSIOp>();
  auto high = low ? low.getLhs().getDefiningOp<arith::MinSIOp>() : arith::MinSIOp();
  if (!high || !matchPattern(low.getRhs(), m_Zero()))
    return std::nullopt;
  IntegerAttr constant;
  if (matchPattern(high.getRhs(), m_Constant(&constant)))
    return Expr(constant.getInt());
  auto last = high.getRhs().getDefiningOp<IndexOp>();
  return last && last.getIndices().empty() ? std::optional<Expr>(last.getIndexExpr()) : std::nullopt;
}

Expr IndirectNames::rename(const Expr &e, ValueRange indices, shape::Facts &facts) {
  if (indices.empty())
    return e;
  std::map<std::string, Expr> with;
  for (auto [i, v] : llvm::enumerate(indices)) {
    auto [it, isNew] = numbers.try_emplace(v, numbers.size());
    Expr name = Expr::indirect(it->second);
    with.emplace(Expr::indirect(i).str(), name);
    if (isNew)
      if (std::optional<Expr> last = lastPlaceOf(v))
        facts.setAxis(name.str(), *last + Expr(1));
  }
  return e.substitute(with);
}

/// An index expression or a constant.
std::optional<Expr> ConditionReader::indexOf(Value v) {
  if (auto index = v.getDefiningOp<IndexOp>())
    return names.rename(index.getIndexExpr(), index.getIndices(), facts);
  IntegerAttr constant;
  if (v.getType().isInteger(64) && matchPattern(v, m_Constant(&constant)))
    return Expr(constant.getInt());
  return std::nullopt;
}

Expr ConditionReader::offsetOf(Operation *access) {
  if (auto load = dyn_cast<LoadOp>(access))
    return names.rename(load.getOffsetExpr(), load.getIndices(), facts);
  auto store = cast<StoreOp>(access);
  return names.rename(store.getOffsetExpr(), store.getIndices(), facts);
}

/// A comparison of integers as expressions that are not negative where it holds.
static std::vector<Conjunct> comparison(P predicate, const Expr &x, const Expr &y) {
  switch (predicate) {
  case P::sge:
    return {{x - y, {}, true}};
  case P::sgt:
    return {{x - y - Expr(1), {}, true}};
  case P::sle:
    return {{y - x, {}, true}};
  case P::slt:
    return {{y - x - Expr(1), {}, true}};
  case P::eq:
    return {{x - y, {}, true}, {y - x, {}, true}};
  default:
    return {};
  }
}

std::vector<Conjunct> ConditionReader::atom(Value condition, bool holds) {
  if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
    std::optional<Expr> x = indexOf(compare.getLhs()), y = indexOf(compare.getRhs());
    P predicate = holds ? compare.getPredicate() : arith::invertPredicate(compare.getPredicate());
    if (x && y)
      if (std::vector<Conjunct> said = comparison(predicate, *x, *y); !said.empty())
        return said;
  }
  return {{Expr::unknown(), condition, holds}};
}

std::vector<Conjunct> ConditionReader::conjunctsOf(Value condition) {
  std::vector<Conjunct> out;
  SmallVector<Value> work;
  if (condition)
    work.push_back(condition);
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (auto both = v.getDefiningOp<arith::AndIOp>()) {
      work.append({both.getRhs(), both.getLhs()});
      continue;
    }
    for (Conjunct &c : atom(v, true))
      out.push_back(std::move(c));
  }
  return out;
}

std::vector<Conjunct> ConditionReader::conjunctsOfNot(Value condition) {
  return !condition || condition.getDefiningOp<arith::AndIOp>() ? std::vector<Conjunct>() : atom(condition, false);
}

bool kernel::isImplied(const Conjunct &wanted, ArrayRef<Conjunct> given, const shape::Facts &facts) {
  if (wanted.value)
    return llvm::any_of(given, [&](const Conjunct &c) { return c.value == wanted.value && c.holds == wanted.holds; });
  return llvm::any_of(given, [&](const Conjunct &c) { return !c.value && c.notNegative == wanted.notNegative; }) ||
         facts.provablyLessEqual(Expr(0), wanted.notNegative) ||
         llvm::any_of(given, [&](const Conjunct &c) { return !c.value && facts.provablyLessEqual(c.notNegative, wanted.notNegative); });
}
