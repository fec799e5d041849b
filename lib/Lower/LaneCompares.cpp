//===- LaneCompares.cpp - Places in the lanes against one place -------------===//
//
// Paddings, parts of concatenations and masks ask where a place lies. In neighbouring lanes places are a constant step apart, so that what is compared
// is small whatever the sizes are; where a vector lies on one side, a scalar is enough.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/BodyEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

/// Whether an index with the lanes' step of 1 is on one side of the bound in all of them: a vector lies in one part of a concatenation.
bool BodyEmitter::agreesInLanes(arith::CmpIOp compare) const {
  Context &c = *context;
  Operation *other = compare.getRhs().getDefiningOp();
  std::optional<Expr> bound;
  IntegerAttr number;
  if (matchPattern(compare.getRhs(), m_Constant(&number)))
    bound = Expr(number.getInt());
  else if (auto index = dyn_cast_or_null<kernel::IndexOp>(other); index && index.getIndices().empty())
    bound = c.info.exprOf(index);
  if (!bound)
    return false;
  Expr below = *bound - c.info.exprOf(compare.getLhs().getDefiningOp());
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sle:
    below = below + Expr(1);
    [[fallthrough]];
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sge:
    return c.hooks.isMultiple(below, width);
  default:
    return false;
  }
}

/// A comparison's predicate with its operands in the other order.
static arith::CmpIPredicate mirrored(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::sle:
    return arith::CmpIPredicate::sge;
  case arith::CmpIPredicate::sgt:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::sge:
    return arith::CmpIPredicate::sle;
  default:
    return predicate; // equality
  }
}

/// Compares an index that is linear in the lanes with a uniform value, on either side: c * lane against a scalar, in 32 bits. Vectors of i64
/// would take two registers and several instructions for every padding and every causal mask.
Value BodyEmitter::emitIndexCompare(Operation *op, ArrayRef<Value> operands) {
  Context &c = *context;
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || static_cast<int64_t>(compare.getPredicate()) > static_cast<int64_t>(arith::CmpIPredicate::sge))
    return {}; // unsigned
  bool turned = !isa<VectorType>(operands[0].getType());
  auto index = compare.getOperand(turned).getDefiningOp<kernel::IndexOp>();
  Value uniform = operands[!turned];
  if (!index || !index.getIndices().empty() || isa<VectorType>(uniform.getType()))
    return {};
  arith::CmpIPredicate predicate = turned ? mirrored(compare.getPredicate()) : compare.getPredicate();
  const Expr &e = c.info.exprOf(index);
  std::optional<Expr::Linear> linear = e.linearIn(c.info.axes[laneAxis]);
  std::optional<int64_t> step = linear ? linear->coefficient.constant() : std::nullopt;
  if (!step || *step < -1024 || *step > 1024)
    return {};
  if (!turned && *step == 1 && agreesInLanes(compare))
    return splat(c.b.create<arith::CmpIOp>(c.loc, predicate, exprWith(e, {}), uniform));
  Value left = c.b.create<arith::SubIOp>(c.loc, uniform, exprWith(e, {})); // at lane 0
  int64_t limit = int64_t(1) << 30;
  left = c.b.create<arith::MaxSIOp>(c.loc, left, constantI64(c.b, c.loc, -limit));
  left = c.b.create<arith::MinSIOp>(c.loc, left, constantI64(c.b, c.loc, limit));
  SmallVector<int32_t> steps;
  for (unsigned i = 0; i < width; ++i)
    steps.push_back(static_cast<int32_t>(i * *step));
  Value lanes = c.b.create<arith::ConstantOp>(c.loc, c.b.getI32VectorAttr(steps));
  Value bound = splat(c.b.create<arith::TruncIOp>(c.loc, c.b.getI32Type(), left));
  return c.b.create<arith::CmpIOp>(c.loc, predicate, lanes, bound);
}
