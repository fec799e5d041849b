//===- ScatterUpdates.cpp - The updates of a scatter on their own ----------===//

#include "lathe/Lower/ScatterUpdates.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Lower/CollapseAxes.h"
#include "lathe/Lower/Combine.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using kernel::Combiner;

/// A load of the result, which no other kernel may have, the combination and a store.
static kernel::StoreOp plainStore(kernel::StoreOp store, bool writeOut) {
  OpBuilder b(store);
  Location loc = store.getLoc();
  Value v = store.getValue();
  if (std::optional<Combiner> kind = store.getCombiner(); kind && writeOut) {
    Value old = b.create<kernel::LoadOp>(loc, v.getType(), store.getRef(), store.getOffsetAttr(), store.getIndices(),
                                         Value(), Value());
    v = combine(b, loc, *kind, old, v);
  }
  auto plain = b.create<kernel::StoreOp>(loc, v, store.getRef(), store.getOffsetAttr(), store.getIndices(), Value());
  store.erase();
  return plain;
}

ScatterUpdates lower::isolateUpdates(kernel::GenericOp kernel, bool writeOut) {
  ScatterUpdates updates;
  SmallVector<Operation *> body;
  for (Operation &op : kernel.getBody().front())
    body.push_back(&op);
  for (Operation *op : llvm::reverse(body)) {
    auto store = dyn_cast<kernel::StoreOp>(op);
    if (store && !store.getIndices().empty()) {
      updates.predicate = store.getPredicate();
      updates.update = store.getValue();
      updates.combiner = store.getCombiner();
      updates.store = plainStore(store, writeOut);
    } else if (store || (op->use_empty() && !(updates.predicate && updates.predicate.getDefiningOp() == op))) {
      op->erase();
    }
  }
  collapseAxes(kernel);
  return updates;
}

ScatterAxes lower::axesOf(ScatterUpdates updates, const BodyInfo &info) {
  ScatterAxes axes;
  AxisSet all = info.domainOf(updates.store) | (updates.predicate ? info.axesOf(updates.predicate) : 0);
  axes.own = info.axesOf(info.exprOf(updates.store));
  axes.serial = all & ~axes.own;
  for (Value v : updates.store.getIndices())
    axes.indexed |= info.axesOf(v);
  if (updates.predicate)
    axes.indexed |= info.axesOf(updates.predicate);
  return axes;
}

shape::Expr lower::placesOf(ScatterUpdates updates, const BodyInfo &info) {
  std::map<std::string, shape::Expr> last;
  for (auto [i, index] : llvm::enumerate(updates.store.getIndices())) {
    std::optional<shape::Expr> place = kernel::lastPlaceOf(index);
    if (!place)
      return shape::Expr::unknown();
    last[shape::Expr::indirect(i).str()] = *place;
  }
  for (unsigned a = 0; a < info.axes.size(); ++a)
    last[info.axes[a]] = info.extents[a] - shape::Expr(1);
  return info.exprOf(updates.store).substitute(last) + shape::Expr(1);
}

std::optional<SharedIndex> lower::widestIndex(ScatterUpdates updates) {
  std::optional<SharedIndex> widest;
  int64_t most = 0;
  for (Value v : updates.store.getIndices())
    if (std::optional<shape::Expr> last = kernel::lastPlaceOf(v)) {
      shape::Expr places = *last + shape::Expr(1);
      int64_t n = places.constant().value_or(INT64_MAX);
      if (n > most) {
        most = n;
        widest = {v, places};
      }
    }
  return widest;
}
