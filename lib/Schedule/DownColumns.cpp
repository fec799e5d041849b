//===- DownColumns.cpp - Sums down columns, from memory ----------------------===//

#include "lathe/Schedule/Rows.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using lower::AxisSet;
using lower::BodyInfo;

static bool has(AxisSet set, unsigned axis) { return set >> axis & 1; }

/// Whether lanes read and write vectors, at places that no predicate and no other value decides.
static bool isPlain(const BodyInfo &info, Operation *op, unsigned lane) {
  auto plain = [&](auto access) {
    std::optional<int64_t> step = stepAlong(info, access, lane);
    return access.getIndices().empty() && !access.getPredicate() && step && (*step == 0 || *step == 1);
  };
  if (auto load = dyn_cast<kernel::LoadOp>(op))
    return plain(load);
  if (auto store = dyn_cast<kernel::StoreOp>(op))
    return plain(store);
  return true;
}

/// The axis that all reductions go along, each for itself, one value a lane.
static std::optional<unsigned> commonAxis(const BodyInfo &info, unsigned lane) {
  AxisSet along = 0;
  llvm::DenseSet<Operation *> behind; // what depends on a reduction
  for (Operation *op : info.ops) {
    bool isBehind = llvm::any_of(op->getOperands(), [&](Value v) { return v.getDefiningOp() && behind.contains(v.getDefiningOp()); });
    auto reduce = dyn_cast<kernel::ReduceOp>(op);
    if (reduce && (isBehind || !has(info.axesOf(reduce.getResult()), lane)))
      return std::nullopt;
    if (reduce)
      along |= info.axesOf(reduce.getAxes());
    if (reduce || isBehind)
      behind.insert(op);
  }
  if (llvm::popcount(along) != 1)
    return std::nullopt;
  return llvm::countr_zero(along);
}

int64_t schedule::bytesOfSum(kernel::ReduceOp op) { return std::max(4u, op.getType().getIntOrFloatBitWidth() / 8); }

int64_t schedule::columnsTogether(const BodyInfo &info, const RowSchedule &s) {
  int64_t bytes = 0;
  for (Operation *op : info.ops)
    if (auto reduce = dyn_cast<kernel::ReduceOp>(op))
      bytes += bytesOfSum(reduce);
  return std::max<int64_t>(s.laneBlock, llvm::bit_floor<uint64_t>(bytesOfSums / bytes));
}

std::optional<unsigned> schedule::summedDown(const BodyInfo &info, const RowSchedule &s) {
  bool isReduction = kernel::GenericOp(info.kernel).getKernelClass() == kernel::KernelClass::Reduction;
  if (!isReduction || !s.laneIsParallel || !s.laneBlock || s.width == 1 || s.jam || s.interleaves)
    return std::nullopt;
  std::optional<unsigned> axis = commonAxis(info, *s.lane);
  if (!axis || info.extents[*axis].constant().value_or(INT64_MAX) <= rowsTogether)
    return std::nullopt;
  AxisSet ofItems = s.itemSet() | AxisSet(1) << *s.lane;
  // A result may also have axes that the sum has not, and stand behind it many times.
  for (Operation *op : info.ops)
    if (!isPlain(info, op, *s.lane) || (isa<kernel::StoreOp>(op) && (info.domainOf(op) & ~ofItems)))
      return std::nullopt;
  return axis;
}
