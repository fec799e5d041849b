//===- Sort.cpp - CPU code for sorting and selecting along an axis ---------===//
//
// A row's keys become words, an unsigned number with the index in its last bits, so that no two are equal. A function
// of the runtime (lib/Runtime/Sort.c) brings the first of them into order; then the results are computed at their
// indices. Where few are wanted, the words are not written down: a vector of keys is compared with the last of those
// kept, and mostly passed over.
//
//===----------------------------------------------------------------------===//

#include "RowSchedule.h"
#include "VectorBuilder.h"
#include "lathe/Lower/SortKey.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

/// Vectors of keys that share a branch.
constexpr unsigned keysTogether = 4;

namespace {
class SortEmitter {
public:
  SortEmitter(KernelFunction &f, kernel::SortOp op);
  llvm::Error run();
  KernelPlan plan() const;

private:
  void emitItem(Value item);
  void writeWords(const BodyEmitter &row, Value base, unsigned width);
  Value keyAt(const BodyEmitter &row, Value base, unsigned width);
  Value wordOf(Value key, Value base, unsigned width);
  void writeAll(const BodyEmitter &row, Value from);
  void offer(const BodyEmitter &row, Value base, unsigned vectors, unsigned width);
  Value selected(const BodyEmitter &row, Value from);
  Value sorted();
  Value call(StringRef name, Type result, ValueRange arguments);
  void declareFunctions();
  void emitResults(const BodyEmitter &row, Value words, Value base, unsigned width);
  /// Calls body(base, width) for an axis from `from` (whole vectors) on: in vectors where accesses run along it.
  void along(unsigned axis, Value from, Value extent, llvm::function_ref<void(Value, unsigned)> body);
  Value indices(Value base, unsigned width);
  Type lanes(unsigned width, Type element) { return width > 1 ? Type(VectorType::get({width}, element)) : element; }

  KernelFunction &f;
  const BodyInfo &info;
  kernel::SortOp op;
  VectorBuilder v;
  OpBuilder &b;
  unsigned axis, rankAxis;
  unsigned wordBytes; ///< 8: the key above the index; 16: one behind the other
  SmallVector<unsigned> rowAxes;
  Value size, count, words, room;
  BodyEmitter outer;
};
} // namespace

static Expr roomFor(const Expr &words, unsigned wordBytes) {
  return Expr::ceildiv(words * Expr(int64_t(wordBytes)), Expr(64)) * Expr(64);
}

SortEmitter::SortEmitter(KernelFunction &f, kernel::SortOp op)
    : f(f), info(f.info), op(op), v(f.b, f.loc, f.isa, f.b.getF32Type()), b(f.b), axis(*info.axisIndex(op.getAxis())),
      rankAxis(*info.axisIndex(op.getRankAxis())), wordBytes(lower::sortKeyBytes(op) > 4 ? 16 : 8),
      outer(info, f.b, f.loc, f.sizes, f.refs, f.hooks) {
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != axis && a != rankAxis)
      rowAxes.push_back(a);
}

KernelPlan SortEmitter::plan() const {
  KernelPlan plan;
  for (unsigned a : rowAxes)
    plan.items = plan.items * info.extents[a];
  plan.scratchBytes = roomFor(info.extents[axis], wordBytes) * Expr(2);
  plan.cost = info.extents[axis] * Expr(16) + info.extents[rankAxis] * Expr(32);
  return plan;
}

/// Functions of the runtime; `result` null: none.
Value SortEmitter::call(StringRef name, Type result, ValueRange arguments) {
  auto made = b.create<func::CallOp>(f.loc, name, result ? TypeRange(result) : TypeRange(), arguments);
  return result ? made.getResult(0) : Value();
}

void SortEmitter::declareFunctions() {
  OpBuilder::InsertionGuard guard(b);
  Type pointer = words.getType(), i64 = b.getI64Type();
  b.setInsertionPointToStart(b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>().getBody());
  auto declare = [&](StringRef name, TypeRange arguments, TypeRange results) {
    b.create<func::FuncOp>(f.loc, name, b.getFunctionType(arguments, results)).setPrivate();
  };
  if (wordBytes == 16)
    return declare("lathe_sort_wide_words", {pointer, pointer, i64, i64}, {pointer});
  declare("lathe_sort_words", {pointer, pointer, i64, i64, i64}, {pointer});
  declare("lathe_select_begin", {pointer, i64, i64, i64}, {i64});
  declare("lathe_select_offer", {pointer, i64, pointer, i64}, {});
  declare("lathe_select_end", {pointer, i64}, {pointer});
}

llvm::Error SortEmitter::run() {
  size = outer.emitExpr(info.extents[axis]);
  count = outer.emitExpr(info.extents[rankAxis]);
  words = f.scratch;
  declareFunctions();
  room = v.at(words, outer.emitExpr(roomFor(info.extents[axis], wordBytes)), b.getI8Type());
  v.loop(f.begin, f.end, 1, [&](Value item) { emitItem(item); });
  if (!outer.error().empty())
    return bug("kernel '{0}': {1}", f.kernel.getName(), outer.error());
  return llvm::Error::success();
}

void SortEmitter::along(unsigned a, Value from, Value extent, llvm::function_ref<void(Value, unsigned)> body) {
  if (laneScore(info, a) > 0) {
    Value whole = v.roundDown(extent, v.lanes);
    v.loop(from, whole, v.lanes, [&](Value base) { body(base, v.lanes); });
    from = whole;
  }
  v.loop(from, extent, 1, [&](Value base) { body(base, 1); });
}

void SortEmitter::emitItem(Value item) {
  BodyEmitter row = outer;
  for (unsigned a : llvm::reverse(rowAxes)) {
    Value extent = outer.emitExpr(info.extents[a]);
    row.bindAxis(info.axes[a], v.rem(item, extent));
    item = v.div(item, extent);
  }
  Value order;
  if (wordBytes == 8 && laneScore(info, axis) > 0) {
    Value whole = v.roundDown(size, v.lanes);
    Value first = v.min(v.roundDown(v.add(count, int64_t(v.lanes) - 1), v.lanes), whole);
    v.loop(v.i(0), first, v.lanes, [&](Value base) { writeWords(row, base, v.lanes); });
    Value few = call("lathe_select_begin", b.getI64Type(), {words, first, size, count});
    order = v.ifValues(
        v.equal(few, v.i(0)),
        [&] {
          writeAll(row, first);
          return VectorBuilder::Values{sorted()};
        },
        [&] { return VectorBuilder::Values{selected(row, first)}; })[0];
  } else {
    writeAll(row, v.i(0));
    order = sorted();
  }
  along(rankAxis, v.i(0), count, [&](Value base, unsigned width) { emitResults(row, order, base, width); });
}

/// base, base + 1, ..
Value SortEmitter::indices(Value base, unsigned width) {
  if (width == 1)
    return base;
  SmallVector<int64_t> steps(width);
  std::iota(steps.begin(), steps.end(), 0);
  Value splat = b.create<vector::SplatOp>(f.loc, lanes(width, b.getI64Type()), base);
  return b.create<arith::AddIOp>(f.loc, splat, b.create<arith::ConstantOp>(f.loc, b.getI64VectorAttr(steps)));
}

Value SortEmitter::keyAt(const BodyEmitter &row, Value base, unsigned width) {
  BodyEmitter point = row;
  if (width > 1)
    point.bindLane(info.axes[axis], base, width);
  else
    point.bindAxis(info.axes[axis], base);
  return lower::sortKey(b, f.loc, op, width > 1 ? point.emitLanes(op.getKey()) : point.emit(op.getKey()));
}

/// Of 8 bytes.
Value SortEmitter::wordOf(Value key, Value base, unsigned width) {
  Type type = lanes(width, b.getI64Type());
  Value wide = b.create<arith::ExtUIOp>(f.loc, type, key), by = v.i(32);
  if (width > 1)
    by = b.create<vector::SplatOp>(f.loc, type, by);
  return b.create<arith::OrIOp>(f.loc, b.create<arith::ShLIOp>(f.loc, wide, by), indices(base, width));
}

void SortEmitter::writeWords(const BodyEmitter &row, Value base, unsigned width) {
  Value key = keyAt(row, base, width);
  Type i64 = b.getI64Type();
  if (wordBytes == 8) {
    b.create<LLVM::StoreOp>(f.loc, wordOf(key, base, width), v.at(words, base, i64), 8);
    return;
  }
  Value index = indices(base, width);
  for (unsigned l = 0; l < width; ++l) {
    auto lane = [&](Value x) -> Value {
      return width > 1 ? b.create<vector::ExtractOp>(f.loc, x, int64_t(l)).getResult() : x;
    };
    Value at = v.mul(v.add(base, int64_t(l)), 2);
    b.create<LLVM::StoreOp>(f.loc, lane(key), v.at(words, at, i64), 8);
    b.create<LLVM::StoreOp>(f.loc, lane(index), v.at(words, v.add(at, 1), i64), 8);
  }
}

void SortEmitter::writeAll(const BodyEmitter &row, Value from) {
  along(axis, from, size, [&](Value base, unsigned width) { writeWords(row, base, width); });
}

Value SortEmitter::sorted() {
  SmallVector<Value> arguments{words, room, size, count};
  if (wordBytes == 8)
    arguments.push_back(v.i(lower::sortKeyBytes(op)));
  return call(wordBytes == 8 ? "lathe_sort_words" : "lathe_sort_wide_words", words.getType(), arguments);
}

/// Keys from `base` on, which are kept where one comes before the last of those that are; a later one that is equal
/// does not.
void SortEmitter::offer(const BodyEmitter &row, Value base, unsigned vectors, unsigned width) {
  Type i64 = b.getI64Type();
  auto at = [&](unsigned i) { return v.add(base, int64_t(i * width)); };
  SmallVector<Value> keys;
  for (unsigned i = 0; i < vectors; ++i)
    keys.push_back(keyAt(row, at(i), width));
  Value last = b.create<arith::ShRUIOp>(f.loc, b.create<LLVM::LoadOp>(f.loc, i64, words, 8), v.i(32)), any;
  last = b.create<arith::TruncIOp>(f.loc, getElementTypeOrSelf(keys[0].getType()), last);
  if (width > 1)
    last = b.create<vector::SplatOp>(f.loc, keys[0].getType(), last);
  for (Value key : keys) {
    Value comes = b.create<arith::CmpIOp>(f.loc, arith::CmpIPredicate::ult, key, last);
    any = any ? b.create<arith::OrIOp>(f.loc, any, comes).getResult() : comes;
  }
  if (width > 1)
    any = b.create<vector::ReductionOp>(f.loc, vector::CombiningKind::OR, any);
  v.ifThen(any, [&] {
    for (unsigned i = 0; i < vectors; ++i)
      b.create<LLVM::StoreOp>(f.loc, wordOf(keys[i], at(i), width), v.at(room, v.i(int64_t(i * width)), i64), 8);
    call("lathe_select_offer", {}, {words, count, room, v.i(int64_t(vectors * width))});
  });
}

/// The words in order, of which the first ones are in a heap.
Value SortEmitter::selected(const BodyEmitter &row, Value from) {
  int64_t step = int64_t(v.lanes) * keysTogether;
  Value blocks = v.add(from, v.mul(v.div(v.sub(size, from), step), step));
  v.loop(from, blocks, step, [&](Value base) { offer(row, base, keysTogether, v.lanes); });
  along(axis, blocks, size, [&](Value base, unsigned width) { offer(row, base, 1, width); });
  return call("lathe_select_end", words.getType(), {words, count});
}

void SortEmitter::emitResults(const BodyEmitter &row, Value order, Value base, unsigned width) {
  BodyEmitter point = row;
  if (width > 1)
    point.bindLane(info.axes[rankAxis], base, width);
  else
    point.bindAxis(info.axes[rankAxis], base);
  Type i64 = b.getI64Type(), type = lanes(width, i64);
  Value index;
  if (wordBytes == 8) {
    Value mask = v.i(0xffffffff);
    if (width > 1)
      mask = b.create<vector::SplatOp>(f.loc, type, mask);
    Value word = b.create<LLVM::LoadOp>(f.loc, type, v.at(order, base, i64), 8);
    index = b.create<arith::AndIOp>(f.loc, word, mask);
  } else {
    for (unsigned l = 0; l < width; ++l) {
      Value one = b.create<LLVM::LoadOp>(f.loc, i64, v.at(order, v.add(v.mul(v.add(base, int64_t(l)), 2), 1), i64), 8);
      if (width == 1)
        index = one;
      else
        index = b.create<vector::InsertOp>(
            f.loc, one, index ? index : b.create<arith::ConstantOp>(f.loc, b.getZeroAttr(type)).getResult(),
            int64_t(l));
    }
  }
  point.bindValue(op.getResult(), index);
  for (Operation *o : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(o))
      point.emitStore(store);
}

llvm::Error lathe::cpu::emitSort(KernelFunction &f, KernelPlan &plan) {
  for (Operation *o : f.info.ops)
    if (auto sort = dyn_cast<kernel::SortOp>(o)) {
      SortEmitter emitter(f, sort);
      plan = emitter.plan();
      return emitter.run();
    }
  return bug("kernel '{0}' has no sort", f.kernel.getName());
}
