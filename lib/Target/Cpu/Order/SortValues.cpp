//===- SortValues.cpp - CPU code for sorts of whole rows without places -----===//
//
// Keys become unsigned numbers, which a function of the runtime (lib/Runtime/Sort.c) brings into order, and then the results. They are written where results
// of their width will be, if there are some. A zero and a NaN have one number each, whichever of them it is: where a row has any but the usual
// ones, they are put into their places once more, in the order in which they come, as a stable sort has them.
//
//===----------------------------------------------------------------------===//

#include "SortValues.h"
#include "SortRows.h"
#include "SortedKeys.h"
#include "../Rows/RowSchedule.h"
#include "lathe/Lower/SortKey.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

namespace {
class ValueSort : SortRows {
public:
  ValueSort(KernelFunction &f, kernel::SortOp op);
  llvm::Error run();
  KernelPlan plan() const;

private:
  void emitRow(const BodyEmitter &row);
  void emitResults(const BodyEmitter &row, Value sorted);
  /// Keys that have a number in common: the number of zeros and that of NaNs (i64), where each stands first, and whether there are any.
  struct Alike {
    std::array<Value, 2> numbers, first;
    Value any;
  };
  Alike findAlike(Value sorted);
  void placeAlike(const BodyEmitter &row, const Alike &alike);
  Value wide(Value number) { return number.getType().isInteger(64) ? number : b.create<arith::ExtUIOp>(f.loc, b.getI64Type(), number).getResult(); }
  Value hasUnusual(const BodyEmitter &row);
  kernel::StoreOp valuesOfAll() const;
  Expr roomBytes() const { return roomFor(info.extents[axis], wordBits / 8); }
  Value numberOf(Value key) { return lower::sortKey(b, f.loc, op, key); }
  void storeAt(BodyEmitter point, Value base, unsigned width, Value key);
  Value find(Value sorted, Value number);
  Value call(StringRef name, Type result, ValueRange arguments);
  void declareFunctions();
  Value compare(arith::CmpIPredicate p, Value x, Value y) { return b.create<arith::CmpIOp>(f.loc, p, x, y); }

  unsigned wordBits;
  SmallVector<unsigned> rowAxes;
  Value size, words, room;
};
} // namespace

/// Whether a value is made of the place that the sort gives, but for the keys that stand there.
static bool needsPlace(Value value, kernel::SortOp op, ArrayRef<kernel::LoadOp> keys, llvm::DenseSet<Operation *> &seen) {
  if (value == op.getResult())
    return true;
  Operation *made = value.getDefiningOp();
  if (!made || llvm::is_contained(keys, made) || !seen.insert(made).second)
    return false;
  return made->getNumRegions() || llvm::any_of(made->getOperands(), [&](Value v) { return needsPlace(v, op, keys, seen); });
}

bool cpu::sortsValues(const BodyInfo &info, kernel::SortOp op) {
  unsigned axis = *info.axisIndex(op.getAxis()), rankAxis = *info.axisIndex(op.getRankAxis());
  SmallVector<kernel::LoadOp> keys = loadsOfKeys(info, op);
  if (keys.empty() || info.extents[axis] != info.extents[rankAxis] || schedule::laneScore(info, axis) <= 0 || info.kernel->hasAttr("in_place"))
    return false; // a row with unusual zeros is read again when results are there
  llvm::DenseSet<Operation *> seen;
  return llvm::none_of(info.ops, [&](Operation *o) {
    return isa<kernel::StoreOp>(o) && llvm::any_of(o->getOperands(), [&](Value v) { return needsPlace(v, op, keys, seen); });
  });
}

ValueSort::ValueSort(KernelFunction &f, kernel::SortOp op)
    : SortRows(f, op), wordBits(lower::sortKeyBytes(op) > 4 ? 64 : 32) {
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != axis && a != rankAxis)
      rowAxes.push_back(a);
}

/// Results that are as wide as words, in a row.
kernel::StoreOp ValueSort::valuesOfAll() const {
  for (Operation *o : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(o); store && llvm::is_contained(keyLoads, store.getValue().getDefiningOp()))
      if (store.getIndices().empty() && !store.getPredicate() && store.getValue().getType().getIntOrFloatBitWidth() == wordBits &&
          schedule::stepAlong(info, store, rankAxis) == 1 && schedule::stepAlong(info, store, axis) == 0)
        return store;
  return {};
}

KernelPlan ValueSort::plan() const {
  KernelPlan plan;
  for (unsigned a : rowAxes)
    plan.items = plan.items * info.extents[a];
  plan.scratchBytes = roomBytes() * Expr(valuesOfAll() ? 1 : 2);
  plan.cost = info.extents[axis] * Expr(32);
  return plan;
}

Value ValueSort::call(StringRef name, Type result, ValueRange arguments) {
  return b.create<func::CallOp>(f.loc, (name + (wordBits == 64 ? "_wide_key" : "_key") + (name == "lathe_sort" ? "s" : "")).str(), TypeRange(result), arguments)
      .getResult(0);
}

void ValueSort::declareFunctions() {
  Type pointer = f.scratch.getType(), i64 = b.getI64Type();
  std::string kind = wordBits == 64 ? "_wide" : "";
  declare("lathe_sort" + kind + "_keys", {pointer, pointer, i64}, pointer);
  declare("lathe_find" + kind + "_key", {pointer, i64, i64}, i64);
}

llvm::Error ValueSort::run() {
  BodyEmitter outer(info, b, f.loc, f.sizes, f.refs, f.hooks);
  size = outer.emitExpr(info.extents[axis]);
  declareFunctions();
  words = f.scratch;
  room = valuesOfAll() ? f.scratch : v.at(f.scratch, outer.emitExpr(roomBytes()), b.getI8Type());
  v.loop(f.begin, f.end, 1, [&](Value item) {
    BodyEmitter row = outer;
    bindItem(v, row, info, rowAxes, item);
    emitRow(row);
    if (outer.error().empty() && !row.error().empty())
      outer = row;
  });
  return outer.error().empty() ? llvm::Error::success() : bug("kernel '{0}': {1}", f.kernel.getName(), outer.error());
}

void ValueSort::emitRow(const BodyEmitter &row) {
  if (kernel::StoreOp store = valuesOfAll()) {
    BodyEmitter first = row;
    first.bindAxis(info.axes[rankAxis], v.i(0));
    words = first.addressOf(store);
  }
  Type word = b.getIntegerType(wordBits);
  along(axis, v.i(0), size, [&](Value base, unsigned width) {
    Value number = numberAt(row, base, width);
    if (getElementTypeOrSelf(number.getType()) != word)
      number = b.create<arith::ExtUIOp>(f.loc, lanes(width, word), number);
    b.create<LLVM::StoreOp>(f.loc, number, v.at(words, base, word), wordBits / 8);
  });
  Value sorted = call("lathe_sort", words.getType(), {words, room, size});
  std::optional<Alike> alike;
  if (isa<FloatType>(op.getKey().getType()))
    alike = findAlike(sorted); // results may take the words' place
  emitResults(row, sorted);
  if (alike)
    placeAlike(row, *alike);
}

void ValueSort::storeAt(BodyEmitter point, Value base, unsigned width, Value key) {
  if (width > 1)
    point.bindLane(info.axes[rankAxis], base, width);
  else
    point.bindAxis(info.axes[rankAxis], base);
  for (kernel::LoadOp load : keyLoads)
    point.bindValue(load, key);
  for (Operation *o : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(o))
      point.emitStore(store);
}

void ValueSort::emitResults(const BodyEmitter &row, Value sorted) {
  Type word = b.getIntegerType(wordBits), bits = b.getIntegerType(op.getKey().getType().getIntOrFloatBitWidth());
  along(rankAxis, v.i(0), size, [&](Value base, unsigned width) {
    Value number = b.create<LLVM::LoadOp>(f.loc, lanes(width, word), v.at(sorted, base, word), wordBits / 8);
    if (bits != word)
      number = b.create<arith::TruncIOp>(f.loc, lanes(width, bits), number);
    storeAt(row, base, width, lower::keyOfNumber(b, f.loc, op, number).key);
  });
}

/// The first place of a number (i64) that is not smaller.
Value ValueSort::find(Value sorted, Value number) { return call("lathe_find", b.getI64Type(), {sorted, size, number}); }

/// Whether the row has a NaN or a negative zero, by their bits.
Value ValueSort::hasUnusual(const BodyEmitter &row) {
  auto element = cast<FloatType>(op.getKey().getType());
  Type bits = b.getIntegerType(element.getWidth());
  auto isUnusual = [&](Value key) -> Value {
    bool isVector = isa<VectorType>(key.getType());
    Type type = lanes(isVector ? v.lanes : 1, bits);
    auto constant = [&](const APInt &x) -> Value {
      TypedAttr value = b.getIntegerAttr(bits, x);
      return b.create<arith::ConstantOp>(f.loc, isVector ? TypedAttr(DenseElementsAttr::get(cast<VectorType>(type), Attribute(value))) : value);
    };
    Value raw = b.create<arith::BitcastOp>(f.loc, type, key);
    Value size = b.create<arith::AndIOp>(f.loc, raw, constant(APInt::getSignedMaxValue(element.getWidth())));
    Value infinity = constant(APFloat::getInf(element.getFloatSemantics()).bitcastToAPInt());
    Value any = b.create<arith::OrIOp>(f.loc, compare(arith::CmpIPredicate::eq, raw, constant(APInt::getSignMask(element.getWidth()))),
                                       compare(arith::CmpIPredicate::ugt, size, infinity));
    return isVector ? b.create<vector::ReductionOp>(f.loc, vector::CombiningKind::OR, any).getResult() : any;
  };
  Value whole = v.roundDown(size, v.lanes), none = b.create<arith::ConstantOp>(f.loc, b.getBoolAttr(false));
  auto loop = [&](Value from, Value to, unsigned width, Value before) {
    return v.loop(from, to, width, {before}, [&](Value base, VectorBuilder::Values found) {
      return VectorBuilder::Values{b.create<arith::OrIOp>(f.loc, found[0], isUnusual(keyAt(row, base, width)))};
    })[0];
  };
  return loop(whole, size, 1, loop(v.i(0), whole, v.lanes, none));
}

ValueSort::Alike ValueSort::findAlike(Value sorted) {
  auto type = cast<FloatType>(op.getKey().getType());
  auto numberOfConstant = [&](const APFloat &x) { return wide(numberOf(b.create<arith::ConstantOp>(f.loc, b.getFloatAttr(type, x)))); };
  Value zero = numberOfConstant(APFloat::getZero(type.getFloatSemantics())), nan = numberOfConstant(APFloat::getNaN(type.getFloatSemantics()));
  Value zeros = find(sorted, zero), zerosEnd = find(sorted, v.add(zero, 1));
  bool nansFirst = op.getDescending();
  Value nans = nansFirst ? v.i(0) : find(sorted, nan), nansEnd = nansFirst ? find(sorted, v.add(nan, 1)) : size;
  Value any = b.create<arith::OrIOp>(f.loc, v.less(zeros, zerosEnd), v.less(nans, nansEnd));
  return {{zero, nan}, {zeros, nans}, any};
}

/// Zeros and NaNs in the order in which they come.
void ValueSort::placeAlike(const BodyEmitter &row, const Alike &alike) {
  auto place = [&] {
    v.loop(v.i(0), size, 1, {alike.first[0], alike.first[1]}, [&](Value i, VectorBuilder::Values next) {
      Value key = keyAt(row, i, 1), number = wide(numberOf(key));
      VectorBuilder::Values after;
      for (unsigned kind = 0; kind < 2; ++kind) {
        Value isOne = compare(arith::CmpIPredicate::eq, number, alike.numbers[kind]);
        v.ifThen(isOne, [&] { storeAt(row, next[kind], 1, key); });
        after.push_back(v.add(next[kind], b.create<arith::ExtUIOp>(f.loc, b.getI64Type(), isOne)));
      }
      return after;
    });
  };
  v.ifThen(alike.any, [&] { v.ifThen(hasUnusual(row), place); });
}

llvm::Error cpu::emitValueSort(KernelFunction &f, kernel::SortOp op, KernelPlan &plan) {
  ValueSort emitter(f, op);
  plan = emitter.plan();
  return emitter.run();
}
