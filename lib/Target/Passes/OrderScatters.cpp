//===- OrderScatters.cpp - Rows that are added at computed places ----------===//
//
// Where whole rows are added, their elements share a place, and to sort the places takes little beside reading the rows.
// A target can then add up the rows of one place after the other, as many at a time as it likes, in an order that is
// always the same.
//
//===----------------------------------------------------------------------===//

#include "Prune.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace lathe::target {
#define GEN_PASS_DEF_ORDERSCATTERS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using kernel::GenericOp;
using kernel::StoreOp;
using shape::Expr;

/// Fewer elements of a row are scattered one by one, and fewer updates are gone through as they come.
constexpr int64_t leastColumns = 8, leastUpdates = 256;

namespace {
struct Rows {
  StoreOp store;
  std::string axis; ///< the updates', the only one that places depend on
  Expr count, last; ///< how many they are, and the last place
};
} // namespace

static StoreOp updateOf(GenericOp kernel) {
  for (auto store : kernel.getBody().front().getOps<StoreOp>())
    if (!store.getIndices().empty())
      return store;
  return {};
}

static std::optional<Rows> rowsOf(GenericOp kernel) {
  StoreOp store = updateOf(kernel);
  if (!store || store.getCombiner() != kernel::Combiner::Add || !isa<FloatType>(store.getValue().getType()) || store.getIndices().size() != 1 ||
      matchPattern(store.getValue(), m_Constant()))
    return std::nullopt;
  kernel::ValueAxes axes = kernel::axesOfValues(kernel);
  Value place = store.getIndices()[0];
  std::set<std::string> placed = axes[place], all = axes[store.getValue()];
  if (store.getPredicate())
    placed.insert(axes[store.getPredicate()].begin(), axes[store.getPredicate()].end());
  std::optional<Expr> last = kernel::lastPlaceOf(place);
  if (placed.size() != 1 || !last)
    return std::nullopt;
  Rows rows{store, *placed.begin(), *kernel.getExtent(*placed.begin()), *last};
  Expr columns(1);
  for (const std::string &s : store.getOffsetExpr().symbols())
    if (std::optional<Expr> extent = kernel.getExtent(s)) {
      columns = columns * *extent;
      all.erase(s);
    }
  all.erase(rows.axis);
  bool isOwn = !store.getOffsetExpr().symbols().count(rows.axis);
  bool pays = columns.constant().value_or(leastColumns) >= leastColumns && rows.count.constant().value_or(leastUpdates) >= leastUpdates;
  return isOwn && all.empty() && pays ? std::optional<Rows>(rows) : std::nullopt;
}

/// What updates are sorted by: their place, or a place behind the last one.
static Value keyOf(OpBuilder &b, StoreOp store, const Expr &last) {
  Location loc = store.getLoc();
  Value key = store.getIndices()[0];
  std::optional<int64_t> known = last.constant();
  if (Value counts = store.getPredicate()) {
    Expr behind = last + Expr(1);
    Value none = known ? b.create<arith::ConstantIntOp>(loc, *known + 1, 64).getResult()
                       : b.create<kernel::IndexOp>(loc, b.getI64Type(), b.getStringAttr(behind.str()), ValueRange()).getResult();
    key = b.create<arith::SelectOp>(loc, counts, key, none);
  }
  return known && *known < INT32_MAX - 1 ? b.create<arith::TruncIOp>(loc, b.getI32Type(), key) : key;
}

/// A kernel that lists the numbers of the updates in the order of their places.
static Value makeOrder(GenericOp kernel, const Rows &rows) {
  OpBuilder b(kernel);
  auto copy = cast<GenericOp>(b.clone(*kernel));
  std::string rank = rows.axis + "_rank";
  SmallVector<Attribute> names{b.getStringAttr(rank)}, extents{b.getStringAttr(rows.count.str())};
  names.append(copy.getAxisNames().begin(), copy.getAxisNames().end());
  extents.append(copy.getAxisExtents().begin(), copy.getAxisExtents().end());
  auto order = b.create<GenericOp>(kernel.getLoc(), TypeRange{ir::tensorType({rows.count}, b.getI64Type())}, kernel::KernelClass::Sort,
                                   b.getStringAttr(kernel.getName() + "_order"), b.getArrayAttr(names), b.getArrayAttr(extents),
                                   kernel.getInputs(), kernel.getNodesAttr(), ArrayAttr(), DictionaryAttr());
  order.getBody().takeBody(copy.getBody());
  copy.erase();
  Block &body = order.getBody().front();
  unsigned out = body.getNumArguments() - 1;
  body.addArgument(kernel::RefType::get(b.getContext(), b.getI64Type()), kernel.getLoc());
  StoreOp store = updateOf(order);
  b.setInsertionPoint(store);
  auto sorted = b.create<kernel::SortOp>(store.getLoc(), b.getI64Type(), keyOf(b, store, rows.last), rows.axis, rank, false, false);
  b.create<StoreOp>(store.getLoc(), sorted, body.getArgument(out + 1), b.getStringAttr(rank), ValueRange(), Value());
  for (StoreOp old : llvm::make_early_inc_range(body.getOps<StoreOp>()))
    if (old.getRef() == body.getArgument(out))
      old.erase();
  body.eraseArgument(out);
  prune(order);
  return order.getOutputs()[0];
}

namespace {
struct OrderScattersPass : target::impl::OrderScattersBase<OrderScattersPass> {
  void runOnOperation() override {
    SmallVector<std::pair<GenericOp, Rows>> scatters;
    getOperation().walk([&](GenericOp kernel) {
      if (kernel.getKernelClass() == kernel::KernelClass::Scatter && kernel->hasAttr("in_place"))
        if (std::optional<Rows> rows = rowsOf(kernel))
          scatters.push_back({kernel, *rows});
    });
    for (auto &[kernel, rows] : scatters) {
      Value order = makeOrder(kernel, rows);
      unsigned number = kernel.getInputs().size();
      kernel.getInputsMutable().append(order);
      kernel.getBody().insertArgument(number, kernel::RefType::get(&getContext(), ir::elementOf(order)), order.getLoc());
      kernel->setAttr("order", Builder(&getContext()).getI64IntegerAttr(number));
    }
  }
};
} // namespace
