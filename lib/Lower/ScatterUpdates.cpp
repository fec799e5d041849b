//===- ScatterUpdates.cpp - The updates of a scatter on their own ----------===//

#include "lathe/Lower/ScatterUpdates.h"
#include "lathe/Lower/CollapseAxes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using kernel::Combiner;

/// The floats' forms give NaN when either is.
static Value combine(OpBuilder &b, Location loc, Combiner kind, Value x, Value y) {
  bool real = isa<FloatType>(x.getType());
  switch (kind) {
  case Combiner::Add:
    return real ? b.create<arith::AddFOp>(loc, x, y).getResult() : b.create<arith::AddIOp>(loc, x, y).getResult();
  case Combiner::Mul:
    return real ? b.create<arith::MulFOp>(loc, x, y).getResult() : b.create<arith::MulIOp>(loc, x, y).getResult();
  case Combiner::Max:
    return real ? b.create<arith::MaximumFOp>(loc, x, y).getResult() : b.create<arith::MaxSIOp>(loc, x, y).getResult();
  case Combiner::Min:
    return real ? b.create<arith::MinimumFOp>(loc, x, y).getResult() : b.create<arith::MinSIOp>(loc, x, y).getResult();
  case Combiner::UMax:
    return b.create<arith::MaxUIOp>(loc, x, y);
  case Combiner::UMin:
    return b.create<arith::MinUIOp>(loc, x, y);
  case Combiner::And:
    return b.create<arith::AndIOp>(loc, x, y);
  case Combiner::Or:
    return b.create<arith::OrIOp>(loc, x, y);
  case Combiner::Xor:
    return b.create<arith::XOrIOp>(loc, x, y);
  }
  return y;
}

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
