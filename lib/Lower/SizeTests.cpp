//===- SizeTests.cpp - What a kernel asks of its sizes ----------------------===//

#include "lathe/Lower/SizeTests.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using arith::CmpIPredicate;
using shape::Expr;

/// A number, or an expression over sizes alone.
static std::optional<Expr> ofSizes(kernel::GenericOp kernel, Value v) {
  IntegerAttr number;
  if (auto constant = v.getDefiningOp<arith::ConstantOp>(); constant && (number = dyn_cast<IntegerAttr>(constant.getValue())))
    return number.getType().isInteger(64) ? std::optional(Expr(number.getInt())) : std::nullopt;
  auto index = v.getDefiningOp<kernel::IndexOp>();
  if (!index || !index.getIndices().empty())
    return std::nullopt;
  for (unsigned i = 0; i < kernel.getAxisNames().size(); ++i)
    if (index.getIndexExpr().mentions(kernel.getAxisName(i)))
      return std::nullopt;
  return index.getIndexExpr();
}

/// Whether x <= y or x < y, as far as it is known.
static std::optional<bool> decide(const shape::Facts &facts, const Expr &x, const Expr &y, bool strict) {
  Expr one(strict ? 1 : 0), other(strict ? 0 : 1);
  if (facts.provablyLessEqual(x + one, y))
    return true;
  if (facts.provablyLessEqual(y + other, x))
    return false;
  return std::nullopt;
}

static std::optional<bool> decide(kernel::GenericOp kernel, const shape::Facts &facts, arith::CmpIOp op) {
  std::optional<Expr> x = ofSizes(kernel, op.getLhs()), y = ofSizes(kernel, op.getRhs());
  if (!x || !y)
    return std::nullopt;
  switch (op.getPredicate()) {
  case CmpIPredicate::sle:
  case CmpIPredicate::slt:
    return decide(facts, *x, *y, op.getPredicate() == CmpIPredicate::slt);
  case CmpIPredicate::sge:
  case CmpIPredicate::sgt:
    return decide(facts, *y, *x, op.getPredicate() == CmpIPredicate::sgt);
  default:
    return std::nullopt;
  }
}

static void foldAway(OpBuilder &b, Operation &op) {
  SmallVector<Value> folded;
  bool mayFold = op.getNumResults() == 1 && !op.hasTrait<OpTrait::ConstantLike>();
  for (unsigned trial = 0; mayFold && folded.empty() && trial < 2; ++trial) // the first may but put a constant behind
    mayFold = succeeded(b.tryFold(&op, folded));
  if (!folded.empty())
    op.getResult(0).replaceAllUsesWith(folded[0]);
}

void lower::settleSizeTests(kernel::GenericOp kernel, const shape::Facts &facts) {
  Block &body = kernel.getBody().front();
  bool settled = false;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    OpBuilder b(&op);
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (std::optional<bool> known = compare ? decide(kernel, facts, compare) : std::nullopt) {
      op.getResult(0).replaceAllUsesWith(b.create<arith::ConstantOp>(op.getLoc(), b.getBoolAttr(*known)));
      settled = true;
      continue;
    }
    if (settled)
      foldAway(b, op);
  }
  if (!settled)
    return;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.getNumResults() && op.use_empty())
      op.erase();
}

llvm::SmallVector<Expr> lower::testedSizes(kernel::GenericOp kernel) {
  constexpr int64_t hardlyAny = int64_t(1) << 32;
  llvm::SmallVector<Expr> sizes;
  for (auto op : kernel.getBody().front().getOps<arith::CmpIOp>()) {
    std::optional<Expr> number = ofSizes(kernel, op.getLhs()), size = ofSizes(kernel, op.getRhs());
    bool isTest = op.getPredicate() == CmpIPredicate::sle && number && size && number->constant().value_or(0) >= hardlyAny && !size->constant();
    if (isTest && !llvm::is_contained(sizes, *size))
      sizes.push_back(*size);
  }
  return sizes;
}
