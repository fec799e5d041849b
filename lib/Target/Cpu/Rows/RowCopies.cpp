//===- RowCopies.cpp - Stretches of rows that are copied as they are --------===//
//
// A repetition, a concatenation, a slice, the inside of a border: elements that lie side by side in an operand go to places side by side. What
// is long is left to the C library's memcpy, which knows how the machine that runs writes lines without reading them first.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;

/// Whether a condition is known to hold at the point, or to fail.
static std::optional<bool> decidedAt(const BodyEmitter &point, Value condition) {
  llvm::APInt known;
  Value bound = point.boundValue(condition);
  if (matchPattern(bound ? bound : condition, m_ConstantInt(&known)))
    return !known.isZero();
  auto both = condition.getDefiningOp<arith::AndIOp>();
  if (!both)
    return std::nullopt;
  std::optional<bool> first = decidedAt(point, both.getLhs()), second = decidedAt(point, both.getRhs());
  if (first && second)
    return *first && *second;
  return std::nullopt;
}

/// The load that the point's value is, where it is one that is read whatever the lane is.
static kernel::LoadOp loadedAt(const BodyEmitter &point, Value value) {
  while (auto select = value.getDefiningOp<arith::SelectOp>()) {
    std::optional<bool> holds = decidedAt(point, select.getCondition());
    if (!holds)
      return {};
    value = *holds ? select.getTrueValue() : select.getFalseValue();
  }
  auto load = value.getDefiningOp<kernel::LoadOp>();
  return load && (!load.getPredicate() || decidedAt(point, load.getPredicate()) == true) ? load : kernel::LoadOp();
}

/// Where what is stored along the lane is what is loaded, element by element, and the same load at all points: that load.
kernel::LoadOp RowEmitter::copied(const Points &outer, const Group &group) const {
  if (f.kernel.getKernelClass() != kernel::KernelClass::Loop || f.kernel->hasAttr("in_place") || group.goals.size() != 1)
    return {};
  auto store = dyn_cast<kernel::StoreOp>(group.goals[0].op);
  if (!store || group.goals[0].remaining || store.getPredicate() || !store.getIndices().empty())
    return {};
  kernel::LoadOp load = loadedAt(outer[0], store.getValue());
  bool isOne = llvm::all_of(outer, [&](const BodyEmitter &point) { return loadedAt(point, store.getValue()) == load; });
  auto sideBySide = [&](Operation *op) { return schedule::stepAlong(info, op, *schedule.lane) == 1; };
  Type type = store.getValue().getType();
  if (!load || !isOne || !load.getIndices().empty() || type.isInteger(1) || !sideBySide(load) || !sideBySide(store))
    return {};
  return load;
}

/// Whether rows are long enough for a stretch of theirs to be: open ones are where the condition of the way says so, since short ones go on in a
/// loop that a call would slow down.
bool RowEmitter::hasLongRows() const {
  const shape::Expr &row = info.extents[*schedule.lane];
  int64_t least = schedule::leastElementsCopied(info);
  return least && (row.constant() ? *row.constant() >= least : f.facts.provablyLessEqual(shape::Expr(least), row));
}

/// The copy of a stretch of a row, of `length` elements where that is known, if it is one that is long enough. From where on the stretch is left.
Value RowEmitter::copyLong(Points &outer, const Group &group, Value from, Value to, std::optional<int64_t> length) {
  int64_t least = schedule::leastElementsCopied(info);
  kernel::LoadOp load = hasLongRows() && length.value_or(least) >= least ? copied(outer, group) : kernel::LoadOp();
  if (!load)
    return from;
  Value count = b.create<arith::SubIOp>(loc, to, from), bytes = i64(load.getType().getIntOrFloatBitWidth() / 8);
  Value isLong = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, count, i64(least));
  either(isLong, [&] {
    Value size = b.create<arith::MulIOp>(loc, count, bytes);
    for (const BodyEmitter &point : outer) {
      BodyEmitter first = point;
      first.bindLane(info.axes[*schedule.lane], from, 1);
      Value source = first.addressOf(load), target = first.addressOf(cast<kernel::StoreOp>(group.goals[0].op));
      b.create<LLVM::MemcpyOp>(loc, target, source, size, /*isVolatile=*/false);
    }
  });
  return b.create<arith::SelectOp>(loc, isLong, to, from);
}
