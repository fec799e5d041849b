//===- NarrowIndices.cpp - Places that fit into 32 bits ---------------------===//
//
// The place of a row's largest element is the smallest of the places at which it stands: a minimum of 64 bits, of which a vector holds half
// as many as of f32, and which AVX2 has no instruction for. Of rows that are shorter than 2^31 - 1 it is one of 32 bits.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/NarrowIndices.h"
#include "lathe/Lower/Combine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using shape::Expr;

/// A place or what stands for none, as an expression.
static std::optional<Expr> placeOf(Value v) {
  IntegerAttr number;
  if (auto constant = v.getDefiningOp<arith::ConstantOp>(); constant && (number = dyn_cast<IntegerAttr>(constant.getValue())))
    return Expr(number.getInt());
  auto index = v.getDefiningOp<kernel::IndexOp>();
  return index && index.getIndices().empty() ? std::optional(index.getIndexExpr()) : std::nullopt;
}

/// The choice between places that a reduction goes over; null where it is none.
static arith::SelectOp searched(kernel::ReduceOp op) {
  bool isExtreme = op.getKind() == kernel::Combiner::Min || op.getKind() == kernel::Combiner::Max;
  auto select = op.getValue().getDefiningOp<arith::SelectOp>();
  bool isSearch = isExtreme && op.getType().isInteger(64) && select && select->hasOneUse() && placeOf(select.getTrueValue()) &&
                  placeOf(select.getFalseValue());
  return isSearch ? select : arith::SelectOp();
}

static Value narrow(OpBuilder &b, Value v) { return b.create<arith::TruncIOp>(v.getLoc(), b.getI32Type(), v); }

void lower::narrowIndices(kernel::GenericOp kernel, shape::Facts facts) {
  for (unsigned i = 0; i < kernel.getAxisNames().size(); ++i)
    facts.setAxis(kernel.getAxisName(i), kernel.getAxisExtent(i));
  auto fits = [&](Value v) {
    Expr place = *placeOf(v);
    return facts.provablyLessEqual(Expr(-1), place) && facts.provablyLessEqual(place, Expr(mostNarrow));
  };
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<kernel::ReduceOp>())) {
    arith::SelectOp select = searched(op);
    if (!select || !fits(select.getTrueValue()) || !fits(select.getFalseValue()))
      continue;
    OpBuilder b(op);
    Location loc = op.getLoc();
    Value place = b.create<arith::SelectOp>(loc, select.getCondition(), narrow(b, select.getTrueValue()), narrow(b, select.getFalseValue()));
    Value best = b.create<kernel::ReduceOp>(loc, place.getType(), op.getKind(), place, op.getAxes());
    // An empty row has the identity of 64 bits, as before.
    Value none = identityOf(b, loc, op.getKind(), place.getType()), wideNone = identityOf(b, loc, op.getKind(), op.getType());
    Value isNone = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, best, none);
    Value wide = b.create<arith::ExtSIOp>(loc, op.getType(), best);
    op.replaceAllUsesWith(b.create<arith::SelectOp>(loc, isNone, wideNone, wide).getResult());
    op.erase();
    select.erase();
  }
}

llvm::SmallVector<Expr> lower::lengthsToNarrow(kernel::GenericOp kernel) {
  llvm::SmallVector<Expr> lengths;
  for (auto op : kernel.getBody().front().getOps<kernel::ReduceOp>()) {
    if (!searched(op))
      continue;
    for (Attribute axis : op.getAxes())
      for (unsigned i = 0; i < kernel.getAxisNames().size(); ++i)
        if (kernel.getAxisName(i) == cast<StringAttr>(axis).getValue() && !kernel.getAxisExtent(i).constant() &&
            !llvm::is_contained(lengths, kernel.getAxisExtent(i)))
          lengths.push_back(kernel.getAxisExtent(i));
  }
  return lengths;
}
