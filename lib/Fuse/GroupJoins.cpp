//===- GroupJoins.cpp - Which roots fit into a kernel -----------------------===//
//
// Whether a root's points are those of a group, or a larger domain that repeats little, and what it reads there.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"
#include "TornImages.h"
#include "TurnedRows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Expr;

/// A value that a row program needs in two passes over the row is computed in both, and products and sums may be contracted to fused
/// operations in one and not in the other. A maximum then equals none of the values that it is the maximum of.
std::string Grouper::checkEquality(const Group &group, Operation *op) const {
  for (Operation *inner : trees.opsOf(op)) {
    auto compare = dyn_cast<ir::CompareOp>(inner);
    bool equality = compare && (compare.getKind() == ir::CompareKind::EQ || compare.getKind() == ir::CompareKind::NE);
    if (!equality || !isa<FloatType>(ir::elementOf(compare.getLhs())))
      continue;
    for (Value v : compare->getOperands())
      for (const Trees::Leaf &leaf : trees.leaves(v))
        if (Operation *member = leaf.value.getDefiningOp(); member && !isa<ir::ReduceOp>(member) && llvm::is_contained(group.members, member))
          return "it compares values of this kernel for equality, which are computed anew at each pass";
  }
  return "";
}

/// A gather along the last dimension by what a sort of the group gives, each row in its own order.
static bool isTakenInOrder(Operation *op, const Group &group) {
  auto gather = dyn_cast<ir::GatherNdOp>(op);
  if (!gather || !isa<ir::SortOp>(group.members.front()) || gather.getBatchDims() + 1 != uint64_t(ir::typeOf(gather.getX()).getRank()) ||
      gather.getBatchDims() + 2 != uint64_t(ir::typeOf(gather.getIndices()).getRank()))
    return false;
  Value order = gather.getIndices();
  while (isa_and_nonnull<ir::ReshapeOp, ir::TransposeOp>(order.getDefiningOp()))
    order = order.getDefiningOp()->getOperand(0);
  return order.getDefiningOp() == group.members.front();
}

/// A convolution with more than one place: tiles or lanes have its own results alone.
static bool makesImage(Operation *op) {
  auto conv = dyn_cast<ir::ConvOp>(op);
  return conv && hasPlaces(ir::dimsOf(conv.getResult()));
}

std::string Grouper::tryJoin(unsigned id, Operation *op) {
  for (unsigned p : producers(op))
    if (p != id && reaches(id, p))
      return "another operand is made from this kernel's results";
  if (groups[id].kind == GroupKind::Host)
    return "it is a step of the host program";
  if (groups[id].kind == GroupKind::Attention)
    return "attention takes no epilogue";
  if (groups[id].kind == GroupKind::Scatter)
    return isa<ir::CompactOp>(groups[id].members.front()) ? "where an element goes is known at its end" : "a scatter's updates are complete at its end";
  if (groups[id].weight + trees.weightOf(op) > largestKernel)
    return "the kernel is large enough";
  if (std::string why = checkEquality(groups[id], op); !why.empty())
    return why;
  if (readsTurned(groups[id], op) || tearsDepthwise(trees, groups[id].members, op))
    return "its elements would lie along another axis";
  Group trial = groups[id];
  auto reduce = dyn_cast<ir::ReduceOp>(op);
  if (reduce && llvm::any_of(trial.members, isCopy))
    return "its rows are brought into order first";
  if (reduce && (trial.kind == GroupKind::Contraction || isUnpackedProduct(trial.members.front())))
    return "a reduction does not fit a contraction's epilogue";
  if (reduce && trial.kind == GroupKind::Ordered)
    return "a reduction does not fit behind a scan, a sort or a transform";
  auto taken = isTakenInOrder(op, groups[id]) ? cast<ir::GatherNdOp>(op) : ir::GatherNdOp();
  if (!reduce && !taken && !isa<ir::ElementwiseInterface>(op))
    return "gathers, pads and concatenations read from memory";
  unsigned added = 0;
  size_t columnsBefore = columnAxes(trial);
  Value placed = reduce ? Value(reduce.getX()) : taken ? Value(taken.getIndices()) : Value(op->getResult(0));
  std::optional<Dims> indices = derive(trial, placed, added);
  if (indices && taken)
    indices->pop_back(); // the one coordinate
  if (!indices)
    return "the iteration domains are not provably compatible";
  if (trial.kind == GroupKind::Ordered && trial.domain.axes.size() != groups[id].domain.axes.size())
    return "it has more axes than the scan, sort or transform";
  std::string why = reduce  ? joinReduce(trial, reduce, *indices, added)
                    : taken ? joinTaken(trial, taken, *indices)
                            : joinPointwise(trial, op, *indices, added, columnsBefore);
  if (!why.empty())
    return why;
  trial.members.push_back(op);
  trial.weight += trees.weightOf(op);
  for (unsigned p : producers(op))
    if (p != id)
      trial.deps.insert(p);
  groups[id] = std::move(trial);
  groupOf[op] = id;
  return "";
}

/// A list of numbers, read at what each element of the indices says: the result has the indices' places.
static bool readsTable(Operation *op) {
  auto gather = dyn_cast<ir::GatherOp>(op);
  return gather && gather.getX().getDefiningOp<ir::ConstantOp>() && ir::typeOf(gather.getX()).getRank() == 1;
}

std::optional<Dims> Grouper::derive(Group &trial, Value value, unsigned &added) {
  if (auto it = trial.domain.known.find(value); it != trial.domain.known.end())
    return it->second;
  std::optional<Dims> best;
  Domain bestDomain = trial.domain;
  Operation *op = value.getDefiningOp();
  // A root's own op is passed last; below a view or an inlined op the path of leaves() already ends at the value.
  std::vector<Trees::Leaf> leaves = op && trees.isRoot(op) ? trees.leavesOf(op) : trees.leaves(value);
  for (const Trees::Leaf &leaf : leaves) {
    // The nearest value on the way up whose indices are known.
    size_t first = leaf.path.size();
    auto it = trial.domain.known.end();
    for (; it == trial.domain.known.end() && first > 0; --first)
      it = trial.domain.known.find(leaf.path[first - 1]->getResult(0));
    first += it != trial.domain.known.end();
    if (it == trial.domain.known.end())
      it = trial.domain.known.find(leaf.value);
    if (it == trial.domain.known.end())
      continue;
    Domain d = trial.domain;
    std::optional<Dims> at = it->second;
    unsigned mine = 0;
    for (Operation *step : ArrayRef<Operation *>(leaf.path).drop_front(first)) {
      if (isView(step))
        at = d.forward(step, *at, mine);
      else if (!isa<ir::ElementwiseInterface>(step) && !readsTable(step))
        at = std::nullopt;
      if (!at)
        break;
    }
    if (at && (!best || mine < added)) {
      best = at;
      bestDomain = d;
      added = mine;
    }
  }
  trial.domain = bestDomain;
  return best;
}

std::string Grouper::checkReads(Group &trial, Value value, const Dims &indices) {
  Operation *op = value.getDefiningOp();
  bool leaf = Trees::isExternal(value) || (op && trees.isRoot(op));
  if (leaf) {
    auto it = trial.domain.known.find(value);
    bool member = op && llvm::is_contained(trial.members, op);
    if (member && (it == trial.domain.known.end() || !trial.domain.sameIndices(it->second, indices)))
      return "it reads another element than the one computed at the same point";
    if (it == trial.domain.known.end() && !trial.domain.divides(indices))
      trial.domain.known[value] = indices;
    return "";
  }
  if (!op || Trees::isSplat(value))
    return "";
  if (isView(op)) {
    // A view is where later readers may meet the same elements, also where the elements below it need divisions.
    if (!trial.domain.known.count(value) && !trial.domain.divides(indices))
      trial.domain.known[value] = indices;
    return checkReads(trial, op->getOperand(0), trial.domain.backward(op, indices));
  }
  if (isa<ir::ElementwiseInterface>(op)) {
    for (Value o : op->getOperands())
      if (std::string why = checkReads(trial, o, indices); !why.empty())
        return why;
    return "";
  }
  // Gathers, pads and concatenations read elsewhere: nothing below them may come from this kernel. Where a gather reads is computed at a point.
  auto gather = dyn_cast<ir::GatherOp>(op);
  for (const Trees::Leaf &l : trees.leaves(gather ? gather.getX() : value))
    if (llvm::is_contained(trial.members, l.value.getDefiningOp()))
      return "it gathers from a value of the same kernel";
  if (!gather)
    return "";
  auto first = indices.begin() + gather.getAxis();
  return checkReads(trial, gather.getIndices(), Dims(first, first + ir::typeOf(gather.getIndices()).getRank()));
}

std::string Grouper::checkExtension(const Group &group, unsigned oldAxes) {
  std::set<std::string> reduced = group.domain.reducedAxes();
  if (reduced.empty())
    return "its domain is larger and the producer would be repeated";
  std::set<std::string> rows;
  for (const auto &[op, operands] : group.domain.reads)
    for (const std::string &a : group.domain.axesIn(group.domain.known.lookup(op->getResult(0))))
      rows.insert(a);
  for (unsigned i = 0; i < oldAxes; ++i)
    if (!rows.count(group.domain.axes[i].name) && !reduced.count(group.domain.axes[i].name))
      return "its domain is larger than the producer's rows";
  for (Operation *m : group.members)
    if (isHeavy(m) && !isa<ir::DivOp, ir::SqrtOp, ir::RsqrtOp>(m) &&
        llvm::any_of(group.domain.axesIn(group.domain.known.lookup(m->getResult(0))),
                     [&](const std::string &a) { return reduced.count(a); }))
      return "its domain is larger and an expensive row would be repeated";
  return "";
}

static Expr extentOf(ArrayRef<Axis> axes, llvm::function_ref<bool(const Axis &)> counts) {
  Expr extent(1);
  for (const Axis &axis : axes)
    if (counts(axis))
      extent = extent * axis.extent;
  return extent;
}

/// Whether another sum over the rows, in more axes, would compute much of each element again. A row of a few elements is written out, and what is the
/// same in all of its places is computed before the loop over these.
bool Grouper::repeatsRow(const Group &group) const {
  constexpr int64_t few = 8;
  constexpr unsigned mostRepeated = 16;
  std::set<std::string> reduced = group.domain.reducedAxes();
  auto isReduced = [&](const std::string &a) { return reduced.count(a) > 0; };
  Expr length = extentOf(group.domain.axes, [&](const Axis &axis) { return isReduced(axis.name); });
  unsigned weight = 0;
  for (Operation *m : group.members)
    if (llvm::any_of(group.domain.axesIn(group.domain.known.lookup(m->getResult(0))), isReduced))
      weight += trees.weightOf(m);
  return length.constant().value_or(few + 1) > few && weight > mostRepeated;
}

bool Grouper::repeatsSum(const Group &group, unsigned oldAxes) const {
  constexpr int64_t few = 8; // as many products cost less than a trip through memory, as many elements less than another launch
  constexpr int64_t longest = 256; // a longer sum is more work than another launch, however few elements it is made for again
  constexpr int64_t mostOfWindow = 64; // a convolution over more is a product of tiles, which have no places for more than their own results
  std::set<std::string> reduced = group.domain.reducedAxes();
  ArrayRef<Axis> axes = group.domain.axes;
  Expr length = extentOf(axes.take_front(oldAxes), [&](const Axis &axis) { return reduced.count(axis.name) > 0; });
  Expr elements = extentOf(axes.drop_front(oldAxes), [](const Axis &) { return true; });
  bool isWindow = llvm::any_of(group.members, llvm::IsaPred<ir::ConvOp>), once = extendsRows && !sumsWithinRows(group) && !isWindow;
  int64_t sum = length.constant().value_or(INT64_MAX), most = once ? INT64_MAX : isWindow ? mostOfWindow : longest;
  return !reduced.empty() && sum > few && elements.constant().value_or(few + 1) > (sum > most ? 1 : few);
}

/// Whether one of the sums has axes that the rows of another have not. A row program makes it within these rows, and so for each point of any other axis there.
bool Grouper::sumsWithinRows(const Group &group) const {
  std::set<size_t> axes; // how many each sum has left: those of rows are among them
  for (Operation *m : group.members)
    if (isa<ir::ReduceOp>(m))
      axes.insert(group.domain.axesIn(group.domain.known.lookup(m->getResult(0))).size());
  return axes.size() > 1;
}

std::string Grouper::checkCoverage(const Group &trial, Value value, const Dims &indices) const {
  return trial.domain.covers(ir::dimsOf(value), indices) ? "" : "the kernel's points are only some of its elements";
}

std::string Grouper::joinPointwise(Group &trial, Operation *op, const Dims &indices, unsigned added, size_t columnsBefore) {
  if (added && trial.kind == GroupKind::Contraction)
    return "its domain is larger than the contraction's result";
  if (added)
    if (std::string why = checkExtension(trial, trial.domain.axes.size() - added); !why.empty())
      return why;
  if (added && llvm::any_of(trial.members, makesImage))
    return "a convolution stores no result twice";
  if (added && repeatsSum(trial, trial.domain.axes.size() - added))
    return "each of its elements would make the sum again";
  // Packed panels want one column axis.
  if (trial.kind == GroupKind::Contraction && columnAxes(trial) != columnsBefore)
    return "it would split the contraction's columns";
  std::set<std::string> reduced = trial.domain.reducedAxes();
  std::vector<std::string> mine = trial.domain.axesIn(indices);
  for (const Axis &a : trial.domain.axes)
    if (!reduced.count(a.name) && !llvm::is_contained(mine, a.name))
      return "its domain is smaller";
  if (std::string why = checkCoverage(trial, op->getResult(0), indices); !why.empty())
    return why;
  if (liesAcrossRows(trial, op->getResult(0), indices))
    return "its elements would lie along another axis than the rows";
  for (Value o : op->getOperands())
    if (std::string why = checkReads(trial, o, indices); !why.empty())
      return why;
  trial.domain.known[op->getResult(0)] = indices;
  return "";
}

std::string Grouper::joinTaken(Group &trial, ir::GatherNdOp op, const Dims &indices) {
  if (std::string why = checkCoverage(trial, op.getResult(), indices); !why.empty())
    return why;
  for (const Trees::Leaf &l : trees.leaves(op.getX()))
    if (llvm::is_contained(trial.members, l.value.getDefiningOp()))
      return "it gathers from a value of the same kernel";
  Dims coordinates = indices;
  coordinates.push_back(Expr(0));
  if (std::string why = checkReads(trial, op.getIndices(), coordinates); !why.empty())
    return why;
  trial.domain.known[op.getResult()] = indices;
  return "";
}

/// Whether a group that reduces these axes has too few rows left for work that has many of its own: what reduces a whole tensor is done in parts, of which there are as many as
/// there is room for, while rows of it would all wait for one another.
bool Grouper::leavesFewRows(const Group &group, const std::set<std::string> &reduced) const {
  constexpr int64_t fewRows = 16, fewPoints = 1 << 12;
  Expr points = extentOf(group.domain.axes, [](const Axis &) { return true; });
  Expr rows = extentOf(group.domain.axes, [&](const Axis &axis) { return !reduced.count(axis.name); });
  return rows.constant().value_or(fewRows) < fewRows && points.constant().value_or(fewPoints + 1) > fewPoints;
}

/// Elements that are made of several places, or of places apart, cost more at each pass over a row than their way through memory.
bool Grouper::takesWindows(Operation *member) const {
  constexpr unsigned several = 3;
  if (!isa<ir::ElementwiseInterface, ir::ConcatOp>(member))
    return false;
  Trees::Taps taps = trees.tapsOf(member);
  return (taps.count >= several && !isa<ir::ConcatOp>(member)) || (taps.stepped && taps.count > 1) || (extendsRows && taps.repeated) || trees.takesEach(member);
}

std::string Grouper::joinReduce(Group &trial, ir::ReduceOp op, const Dims &indices, unsigned added) {
  if (added)
    if (std::string why = checkExtension(trial, trial.domain.axes.size() - added); !why.empty())
      return why;
  if (llvm::any_of(trial.members, [&](Operation *m) { return takesWindows(m); }))
    return "its elements are made of windows, at each pass again";
  if (added && repeatsRow(trial))
    return "its domain is larger and much of each row would be repeated";
  Dims kept, gone;
  for (auto [i, e] : llvm::enumerate(indices))
    (llvm::is_contained(op.getAxes(), int64_t(i)) ? gone : kept).push_back(e);
  std::vector<std::string> goneAxes = trial.domain.axesIn(gone), keptAxes = trial.domain.axesIn(kept);
  for (const std::string &a : goneAxes)
    if (llvm::is_contained(keptAxes, a))
      return "it reduces a part of an axis";
  std::set<std::string> reduced = trial.domain.reducedAxes();
  bool compatible = reduced.empty() ? !keptAxes.empty() || trial.domain.axes.empty()
                                    : llvm::all_of(goneAxes, [&](const std::string &a) { return reduced.count(a); });
  if (!compatible)
    return reduced.empty() ? "it reduces everything and no parallel axis would be left" : "it reduces other axes";
  if (goneAxes.size() < reduced.size() && leavesFewRows(trial, reduced))
    return "it keeps axes of which another reduction leaves few rows";
  if (std::string why = checkCoverage(trial, op.getX(), indices); !why.empty())
    return why;
  if (std::string why = checkReads(trial, op.getX(), indices); !why.empty())
    return why;
  trial.domain.known[op.getResult()] = kept;
  trial.domain.reads[op] = {indices};
  return "";
}
