//===- TurnedRows.cpp - Rows that lie along another axis than they are read ===//

#include "TurnedRows.h"
#include "Groups.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Expr;

bool fuse::turnsRows(Operation *view) {
  constexpr int64_t few = 4; // as many lie in one line of a cache
  auto t = dyn_cast_or_null<ir::TransposeOp>(view);
  if (!t || t.getPerm().empty())
    return false;
  int64_t last = t.getPerm().size() - 1, from = t.getPerm().back();
  ir::Dims dims = ir::dimsOf(t.getX());
  Expr inner(1);
  for (int64_t d = from + 1; d <= last; ++d)
    inner = inner * dims[d];
  return from != last && dims[from].constant().value_or(few) >= few && inner.constant().value_or(few) >= few;
}

bool fuse::movesLast(Operation *view) {
  auto t = dyn_cast_or_null<ir::TransposeOp>(view);
  return t && !t.getPerm().empty() && t.getPerm().back() + 1 != int64_t(t.getPerm().size());
}

bool fuse::weavesOddly(Operation *view) {
  constexpr int64_t mostPlaces = 8;
  auto t = dyn_cast_or_null<ir::TransposeOp>(view);
  size_t rank = t ? t.getPerm().size() : 0;
  if (rank < 2 || t.getPerm()[rank - 2] != int64_t(rank) - 1)
    return false;
  ir::Dims dims = ir::dimsOf(t.getResult());
  auto joined = t->hasOneUse() ? dyn_cast<ir::ReshapeOp>(*t->user_begin()) : ir::ReshapeOp(); // to one dimension with what they lie between
  if (!joined || ir::dimsOf(joined.getResult()).back() != dims[rank - 2] * dims[rank - 1])
    return false;
  int64_t places = dims.back().constant().value_or(0);
  return places > 2 && places < mostPlaces && !llvm::isPowerOf2_64(places);
}

/// Whether places of an image [batch, channels, rows, columns] are turned in their planes: the lanes of a convolution's tile are channels, or places of a row.
static bool turnsPlanes(Operation *view) {
  auto t = dyn_cast<ir::TransposeOp>(view);
  return t && t.getPerm().size() >= 4 && t.getPerm()[0] == 0 && t.getPerm()[1] == 1 && turnsRows(view);
}

bool fuse::isCopy(Operation *op) {
  auto cast = dyn_cast_or_null<ir::CastOp>(op);
  return cast && cast.getX().getType() == cast.getType();
}

bool fuse::turnsBack(ir::TransposeOp back, ir::TransposeOp turned) {
  for (auto [d, p] : llvm::enumerate(back.getPerm()))
    if (turned.getPerm()[p] != int64_t(d))
      return false;
  return true;
}

/// Whether rows of the transposed value are reduced or scanned, and elements computed from them are kept in its order.
static bool keepsOrder(ir::TransposeOp turned) {
  constexpr size_t most = 64;
  int64_t last = turned.getPerm().size() - 1;
  llvm::SetVector<Value> whole; // in the same order, also where sizes of 1 in a run are spread
  whole.insert(turned.getResult());
  bool reduces = false, keeps = false;
  for (size_t i = 0; i < whole.size() && i < most; ++i)
    for (Operation *user : whole[i].getUsers()) {
      if (auto reduce = dyn_cast<ir::ReduceOp>(user)) {
        reduces |= llvm::is_contained(reduce.getAxes(), last);
        continue;
      }
      if (auto scan = dyn_cast<ir::ScanOp>(user)) {
        reduces = true;
        whole.insert(scan.getResult());
        continue;
      }
      if (auto back = dyn_cast<ir::TransposeOp>(user); back && turnsBack(back, turned))
        return false;
      bool sameOrder = isa<ir::ElementwiseInterface>(user) || (isView(user) && !isa<ir::TransposeOp, ir::ReshapeOp>(user));
      if (sameOrder && ir::typeOf(user->getResult(0)).getRank() == last + 1)
        whole.insert(user->getResult(0));
      else
        keeps |= i > 0;
    }
  return reduces && keeps;
}

int64_t fuse::repeatsElements(Operation *view) {
  constexpr int64_t fewest = 2, most = 8; // of more, a vector has a single one
  auto broadcast = dyn_cast_or_null<ir::BroadcastOp>(view);
  if (!broadcast || ir::dimsOf(broadcast.getX()).empty() || !ir::dimsOf(broadcast.getX()).back().isOne())
    return 0;
  int64_t times = ir::dimsOf(broadcast.getResult()).back().constant().value_or(0);
  return times >= fewest && times <= most ? times : 0;
}

/// Whether elements of the transposed value's rows are stored a few times side by side (an image with channels last, enlarged with channels first): lanes would
/// read the same elements, which lie apart, that many times.
static bool isStoredTwice(ir::TransposeOp turned) {
  Operation *user = turned;
  do {
    if (!user->hasOneUse())
      return false;
    user = *user->user_begin();
  } while (isa<ir::ReshapeOp>(user));
  return repeatsElements(user) != 0;
}

bool fuse::repeatsInRows(Operation *view) {
  auto row = dyn_cast<ir::ReshapeOp>(view);
  int64_t times = row ? repeatsElements(row.getX().getDefiningOp()) : 0;
  ir::Dims dims = times ? ir::dimsOf(row.getResult()) : ir::Dims();
  return !dims.empty() && dims.back() != Expr(times);
}

/// Whether rows are repeated element by element (an image enlarged to the nearest), and go through more than one pass: each would gather lanes anew.
static bool isReadTwice(ir::ReshapeOp row) {
  int64_t last = ir::typeOf(row.getResult()).getRank() - 1;
  return !row->hasOneUse() && repeatsInRows(row) && llvm::any_of(row->getUsers(), [&](Operation *user) {
    auto reduce = dyn_cast<ir::ReduceOp>(user);
    return reduce && llvm::is_contained(reduce.getAxes(), last);
  });
}

/// Puts a copy behind the view.
static void copyBehind(Operation *view) {
  OpBuilder b(view->getContext());
  b.setInsertionPointAfter(view);
  auto copy = b.create<ir::CastOp>(view->getLoc(), view->getResult(0).getType(), view->getResult(0));
  view->getResult(0).replaceAllUsesExcept(copy, copy);
}

void fuse::copyTurnedRows(Block &body, bool inPasses) {
  for (ir::TransposeOp turned : llvm::make_early_inc_range(body.getOps<ir::TransposeOp>()))
    if (turnsRows(turned) && (keepsOrder(turned) || isStoredTwice(turned)))
      copyBehind(turned);
  if (inPasses)
    for (ir::ReshapeOp row : llvm::make_early_inc_range(body.getOps<ir::ReshapeOp>()))
      if (isReadTwice(row))
        copyBehind(row);
}

//===----------------------------------------------------------------------===//
// Behind a group
//===----------------------------------------------------------------------===//

/// Whether elements at these indices are those of rows that are reduced.
static bool isOfRows(const Domain &domain, const Dims &indices) {
  std::set<std::string> reduced = domain.reducedAxes();
  return llvm::any_of(domain.axesIn(indices), [&](const std::string &a) { return reduced.count(a); });
}

bool Grouper::staysInOrder(const Group &group, Operation *view, const Domain &domain, const Dims &indices) const {
  if (isa<ir::ConvOp>(group.members.front()) && (weavesOddly(view) || (extendsRows && turnsPlanes(view))))
    return true;
  if (movesLast(view) && llvm::any_of(group.members, [&](Operation *m) { return trees.takesEach(m); }))
    return true;
  if (!turnsRows(view))
    return false;
  if (group.kind == GroupKind::Row && group.domain.reads.empty())
    return llvm::any_of(group.members, [&](Operation *m) { return trees.isLargeToTurn(m); });
  if (auto scan = group.kind == GroupKind::Ordered ? dyn_cast<ir::ScanOp>(group.members.front()) : ir::ScanOp())
    return llvm::none_of(trees.leaves(scan.getX()), [](const Trees::Leaf &leaf) { return llvm::any_of(leaf.path, turnsRows); });
  return readsAlongRows(group) && isOfRows(domain, indices);
}

bool Grouper::readsTurned(const Group &group, Operation *op) const {
  return isa<ir::ElementwiseInterface>(op) && llvm::any_of(trees.leavesOf(op), [&](const Trees::Leaf &leaf) {
    auto known = group.domain.known.find(leaf.value);
    if (!llvm::is_contained(group.members, leaf.value.getDefiningOp()) || known == group.domain.known.end())
      return false;
    bool twice = !storesBothWays && group.kind == GroupKind::Row && group.domain.reads.empty() && !leaf.value.hasOneUse();
    return llvm::any_of(leaf.path, [&](Operation *view) { return (twice && turnsRows(view)) || staysInOrder(group, view, group.domain, known->second); });
  });
}

/// Whether what the value is made of, element by element, comes from outside of the group in the order of its rows.
bool Grouper::comesInOrder(const Group &group, Value value, llvm::SmallPtrSetImpl<Operation *> &seen) const {
  return llvm::any_of(trees.leaves(value), [&](const Trees::Leaf &leaf) {
    if (ir::typeOf(leaf.value).getRank() <= 1 || llvm::any_of(leaf.path, turnsRows))
      return false;
    Operation *made = leaf.value.getDefiningOp();
    if (!llvm::is_contained(group.members, made))
      return true;
    return isa<ir::ElementwiseInterface>(made) && seen.insert(made).second &&
           llvm::any_of(made->getOperands(), [&](Value operand) { return comesInOrder(group, operand, seen); });
  });
}

bool Grouper::readsAlongRows(const Group &group) const {
  llvm::SmallPtrSet<Operation *, 8> seen;
  return group.kind == GroupKind::Row && llvm::any_of(group.members, [&](Operation *m) {
    auto reduce = dyn_cast<ir::ReduceOp>(m);
    auto reads = group.domain.reads.find(m);
    if (!reduce || reads == group.domain.reads.end() || !isOfRows(group.domain, {reads->second[0].back()}))
      return false;
    return comesInOrder(group, reduce.getX(), seen);
  });
}

bool Grouper::liesAcrossRows(const Group &group, Value value, const Dims &indices) const {
  bool across = !indices.empty() && isOfRows(group.domain, indices) && !isOfRows(group.domain, {indices.back()}) && !ir::dimsOf(value).back().isOne();
  return across && readsAlongRows(group);
}
