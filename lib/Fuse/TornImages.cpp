//===- TornImages.cpp - Images whose lines are not lines in memory ---------===//

#include "TornImages.h"
#include "TurnedRows.h"
#include "lathe/Dialect/Lathe/Lathe.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Expr;

bool fuse::hasPlaces(ArrayRef<Expr> dims) {
  return llvm::any_of(dims.drop_front(2), [](const Expr &size) { return !size.isOne(); });
}

bool fuse::tearsLines(Operation *view, size_t rank) {
  if (lastStep(view) != 1)
    return true;
  if (auto repeated = dyn_cast<ir::BroadcastOp>(view))
    return ir::dimsOf(repeated.getResult()).size() > rank;
  auto turned = dyn_cast<ir::TransposeOp>(view);
  ArrayRef<int64_t> perm = turned ? turned.getPerm() : ArrayRef<int64_t>();
  int64_t last = int64_t(perm.size()) - 1;
  bool channelsLast = perm.size() == rank && perm[1] == last; // they lie side by side for each place of a line
  return perm.size() > rank || (!perm.empty() && perm.back() != last && !channelsLast);
}

static bool isDepthwise(Operation *op) {
  auto conv = dyn_cast<ir::ConvOp>(op);
  return conv && conv.getGroups() > 1 && ir::dimsOf(conv.getW())[1].isOne();
}

/// Whether channels come to lie side by side for each place: lanes are channels then.
static bool putsChannelsLast(Operation *view, size_t rank) {
  auto turned = dyn_cast<ir::TransposeOp>(view);
  return turned && turned.getPerm().size() == rank && turned.getPerm().back() == 1;
}

bool fuse::tearsDepthwise(const Trees &trees, ArrayRef<Operation *> members, Operation *copy) {
  return isCopy(copy) && llvm::any_of(members, isDepthwise) && llvm::any_of(trees.leavesOf(copy), [&](const Trees::Leaf &leaf) {
    size_t rank = ir::typeOf(leaf.value).getRank();
    return llvm::is_contained(members, leaf.value.getDefiningOp()) &&
           llvm::any_of(leaf.path, [&](Operation *view) { return tearsLines(view, rank) && !putsChannelsLast(view, rank); });
  });
}

void fuse::copyTornImages(Block &body, bool inTiles) {
  llvm::DenseMap<Value, Value> copies;
  for (ir::ConvOp conv : llvm::make_early_inc_range(body.getOps<ir::ConvOp>())) {
    OpOperand *image = &conv->getOpOperand(0);
    while (auto pad = image->get().getDefiningOp<ir::PadOp>())
      image = &pad->getOpOperand(0);
    Value x = image->get(), base = x;
    bool torn = false, turned = false;
    size_t rank = conv.getStrides().size() + 2;
    for (; isView(base.getDefiningOp()); base = base.getDefiningOp()->getOperand(0)) {
      torn |= tearsLines(base.getDefiningOp(), rank);
      turned |= inTiles && turnsRows(base.getDefiningOp());
    }
    if (!torn || !(turned || hasPlaces(ir::dimsOf(conv.getW()))) || base.getDefiningOp<ir::ConstantOp>())
      continue;
    OpBuilder b(image->getOwner());
    auto [copy, isNew] = copies.try_emplace(x);
    if (isNew) {
      b.setInsertionPointAfterValue(x);
      copy->second = b.create<ir::CastOp>(conv.getLoc(), x.getType(), x);
    }
    image->set(copy->second);
  }
}
