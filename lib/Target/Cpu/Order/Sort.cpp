//===- Sort.cpp - CPU code for sorting and selecting along an axis ---------===//
//
// A row's keys become words, an unsigned number with the index in its last bits, so that no two are equal. A function
// of the runtime (lib/Runtime/Sort.c) brings the first of them into order; then the results are computed at their
// indices; those that are the keys themselves are taken from the words. Where all of a row is wanted, words lie where its
// indices will be. Where few are wanted, they are not written down: a vector of keys is compared with the last of those
// kept, and mostly passed over. Where neighbouring rows lie side by side, a vector of rows is written down together. The
// first one of a row, or the first few of rows side by side, stay in registers, where it is known that no more are wanted.
//
//===----------------------------------------------------------------------===//

#include "FirstKeys.h"
#include "SortRows.h"
#include "SortValues.h"
#include "../Rows/RowSchedule.h"
#include "../VectorBuilder.h"
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
/// Keys of each row that stay in registers, where there are sixteen of them or elements are wide; otherwise four times as many, of which a key that is not
/// among the first changes none. The length up to which every key of a row is compared with the first
/// one: of longer rows most vectors are passed over.
constexpr unsigned keysKept = 4, shortRow = 1024;
/// Keys that lie apart are gathered into vectors, of which most are passed over, where no more than this are wanted.
constexpr int64_t mostSelected = 16;
/// Rows behind one another that are no longer than this have a lane each, which gathers its keys, where the first few are wanted. (Where it is one,
/// rows of a vector or more are searched in vectors.)
constexpr int64_t gatheredRow = 128, gatheredInHalves = 32; // the latter where a vector is less than a line: its gathers bring fewer at a time

namespace {
class SortEmitter : SortRows {
public:
  SortEmitter(KernelFunction &f, kernel::SortOp op);
  llvm::Error run();
  KernelPlan plan() const;

private:
  void emitItem(Value item);
  void emitRow(const BodyEmitter &row);
  void emitColumns(const BodyEmitter &row, Value block);
  int64_t mostKept() const { return wordBytes == 8 && f.isa.registers > 16 ? 4 * keysKept : keysKept; }
  void emitGathered(const BodyEmitter &row, Value block);
  void emitOrdered(const BodyEmitter &row, Value order);
  void emitFirst(const BodyEmitter &row);
  void emitFirstOfColumns(const BodyEmitter &side, unsigned count);
  Value paired(Value key);
  void emitSelected(const BodyEmitter &row);
  void emitStores(BodyEmitter &point, Value index);
  /// Loads of the keys give what the number in the word says.
  void bindKeys(BodyEmitter &point, Value index, Value number);
  Expr sortedWords() const;
  kernel::StoreOp indicesOfAll() const;
  Expr roomBegins(int64_t rows) const;
  void emitAt(BodyEmitter point, Value place, Value index);
  void writeWords(Value key, Value index, Value to, Value at, unsigned width);
  void writeAll(const BodyEmitter &row, Value from);
  void offer(const BodyEmitter &row, Value base, unsigned vectors, unsigned width);
  Value selected(const BodyEmitter &row, Value from);
  Value sorted(Value words);
  Value call(StringRef name, Type result, ValueRange arguments);
  void declareFunctions();
  void emitResults(const BodyEmitter &row, Value words, Value base, unsigned width);
  Value indices(Value base, unsigned width);

  unsigned wordBytes;            ///< 8: the key above the index; 16: one behind the other
  SmallVector<unsigned> rowAxes; ///< without `lane`
  std::optional<unsigned> lane;  ///< the row axis along which neighbours lie, where the sorted one is not contiguous
  int64_t longestGathered = 0;   ///< of rows that do not lie side by side, and yet have a lane each; 0: none has
  Value size, count, words, room, stride; ///< stride: bytes of a row's words
  BodyEmitter outer;
};
} // namespace

SortEmitter::SortEmitter(KernelFunction &f, kernel::SortOp op)
    : SortRows(f, op), wordBytes(lower::sortKeyBytes(op) > 4 ? 16 : 8), outer(info, f.b, f.loc, f.sizes, f.refs, f.hooks) {
  // Every key is read, and few of them are results: where keys lie side by side decides.
  int best = 0;
  for (unsigned a = 0; laneScore(info, axis) <= 0 && a < info.axes.size(); ++a)
    if (int score = laneScore(info, a); a != axis && a != rankAxis && score > best) {
      best = score;
      lane = a;
    }
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != axis && a != rankAxis && a != lane)
      rowAxes.push_back(a);
  std::optional<int64_t> few = info.extents[rankAxis].constant();
  int64_t longest = few == 1 ? v.lanes - 1 : f.isa.vectorBytes == 64 ? gatheredRow : gatheredInHalves;
  if (lane || rowAxes.empty() || !few || *few < 1 || *few > mostKept() || info.extents[axis].constant().value_or(0) > longest)
    return;
  auto rowsAlong = [&](unsigned a) { return std::min<int64_t>(info.extents[a].constant().value_or(INT64_MAX), v.lanes); };
  auto most = std::max_element(rowAxes.rbegin(), rowAxes.rend(), [&](unsigned a, unsigned b) { return rowsAlong(a) < rowsAlong(b); });
  lane = *most; // the innermost that fills a vector
  rowAxes.erase(std::prev(most.base()));
  longestGathered = longest;
}

/// What is not wanted is dropped before the rest is sorted: `spare` of Sort.c says how many more are.
Expr SortEmitter::sortedWords() const {
  const Expr &count = info.extents[rankAxis];
  return Expr::min(info.extents[axis], count + Expr::min(Expr::floordiv(count, 64), Expr(4096)) + Expr(64));
}

/// Where all of a row is wanted and its indices are a result, words are written to their places: they are as wide, and each is read before its index takes its
/// place. A row then needs the room beside them alone.
kernel::StoreOp SortEmitter::indicesOfAll() const {
  kernel::SortOp sort = op;
  if (lane || wordBytes != 8 || info.extents[axis] != info.extents[rankAxis] || f.kernel->hasAttr("in_place"))
    return {};
  for (Operation *o : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(o); store && store.getValue() == sort.getResult() && store.getIndices().empty())
      if (schedule::stepAlong(info, store, rankAxis) == 1 && schedule::stepAlong(info, store, axis) == 0)
        return store;
  return {};
}

/// Bytes before the room in which they are sorted, which takes as much again. Of a single row it may lie where words have been that were
/// dropped; those that are collected are a quarter of the row, and end before it.
Expr SortEmitter::roomBegins(int64_t rows) const {
  const Expr &size = info.extents[axis];
  if (indicesOfAll()) // the words lie there
    return Expr(0);
  return rows > 1 ? roomFor(size, wordBytes) * Expr(rows) : roomFor(Expr::max(size - sortedWords(), sortedWords()), wordBytes);
}

KernelPlan SortEmitter::plan() const {
  KernelPlan plan;
  for (unsigned a : rowAxes)
    plan.items = plan.items * info.extents[a];
  int64_t together = lane ? v.lanes : 1, rows = longestGathered ? 1 : together; // rows: of which the words are written down
  if (lane)
    plan.items = plan.items * Expr::ceildiv(info.extents[*lane], Expr(together));
  plan.scratchBytes = roomBegins(rows) + roomFor(sortedWords(), wordBytes);
  plan.cost = (info.extents[axis] * Expr(16) + info.extents[rankAxis] * Expr(32)) * Expr(together);
  return plan;
}

/// A function of the runtime for words of this size; `result` null: none.
Value SortEmitter::call(StringRef name, Type result, ValueRange arguments) {
  auto [verb, rest] = name.split('_');
  std::string full = ("lathe_" + verb + (wordBytes == 8 ? "_" : "_wide_") + rest).str();
  auto made = b.create<func::CallOp>(f.loc, full, result ? TypeRange(result) : TypeRange(), arguments);
  return result ? made.getResult(0) : Value();
}

void SortEmitter::declareFunctions() {
  Type pointer = words.getType(), i64 = b.getI64Type();
  std::string kind = wordBytes == 8 ? "" : "wide_";
  declare("lathe_sort_" + kind + "words", {pointer, pointer, i64, i64}, {pointer});
  declare("lathe_select_" + kind + "begin", {pointer, i64, i64, i64}, {i64});
  declare("lathe_select_" + kind + "offer", {pointer, i64, i64, pointer, i64}, {});
  declare("lathe_select_" + kind + "end", {pointer, pointer, i64, i64}, {pointer});
}

llvm::Error SortEmitter::run() {
  size = outer.emitExpr(info.extents[axis]);
  count = outer.emitExpr(info.extents[rankAxis]);
  words = f.scratch;
  declareFunctions();
  stride = outer.emitExpr(roomFor(info.extents[axis], wordBytes));
  Expr before = roomBegins(lane && !longestGathered ? v.lanes : 1);
  room = before.isZero() ? words : v.at(words, outer.emitExpr(before), b.getI8Type());
  v.loop(f.begin, f.end, 1, [&](Value item) { emitItem(item); });
  if (!outer.error().empty())
    return bug("kernel '{0}': {1}", f.kernel.getName(), outer.error());
  return llvm::Error::success();
}

void SortEmitter::emitItem(Value item) {
  BodyEmitter row = outer;
  Value block;
  if (lane)
    block = v.takeLast(item, v.ceilDiv(outer.emitExpr(info.extents[*lane]), int64_t(v.lanes)));
  bindItem(v, row, info, rowAxes, item);
  longestGathered ? emitGathered(row, block) : lane ? emitColumns(row, block) : emitRow(row);
}

void SortEmitter::emitOrdered(const BodyEmitter &row, Value order) {
  along(rankAxis, v.i(0), count, [&](Value base, unsigned width) { emitResults(row, order, base, width); });
}

/// A key as wide as the indices beside it.
Value SortEmitter::paired(Value key) {
  Type type = b.getIntegerType(wordBytes * 4);
  if (auto vector = dyn_cast<VectorType>(key.getType()))
    type = vector.clone(type);
  return key.getType() == type ? key : b.create<arith::ExtUIOp>(f.loc, type, key).getResult();
}

/// The first one of a row of a vector or more.
void SortEmitter::emitFirst(const BodyEmitter &row) {
  FirstKeys first(v, 1);
  auto offer = [&](Value base) {
    Value key = paired(numberAt(row, base, v.lanes)), index = indices(base, v.lanes);
    if (wordBytes == 8)
      index = b.create<arith::TruncIOp>(f.loc, key.getType(), index);
    return std::pair(key, index);
  };
  auto [key, index] = offer(v.i(0));
  first.begin(key, index);
  auto more = [&](Value base) {
    auto [key, index] = offer(base);
    first.offer(key, index);
  };
  first.setValues(v.loop(v.i(v.lanes), v.roundDown(size, v.lanes), v.lanes, first.values(), [&](Value base, VectorBuilder::Values held) {
    first.setValues(held);
    more(base);
    return first.values();
  }));
  more(v.sub(size, int64_t(v.lanes))); // those that were there already change nothing
  Value found = first.firstOfLanes();
  if (wordBytes == 8)
    found = b.create<arith::ExtUIOp>(f.loc, b.getI64Type(), found);
  emitAt(row, v.i(0), found);
}

/// The first ones of a vector of rows side by side.
void SortEmitter::emitFirstOfColumns(const BodyEmitter &side, unsigned count) {
  FirstKeys first(v, count);
  auto keyOf = [&](Value i) {
    BodyEmitter point = side;
    point.bindAxis(info.axes[axis], i);
    return paired(lower::sortKey(b, f.loc, op, point.emitLanes(op.getKey())));
  };
  auto splat = [&](Value i, Type type) -> Value {
    Value narrow = wordBytes == 8 ? b.create<arith::TruncIOp>(f.loc, b.getI32Type(), i).getResult() : i;
    return b.create<vector::SplatOp>(f.loc, type, narrow);
  };
  for (unsigned i = 0; i < count; ++i) {
    Value key = keyOf(v.i(i));
    first.begin(key, splat(v.i(i), key.getType()));
  }
  first.setValues(v.loop(v.i(count), size, 1, first.values(), [&](Value i, VectorBuilder::Values held) {
    first.setValues(held);
    Value key = keyOf(i);
    if (count > 2 * keysKept)
      return first.offered(key, splat(i, key.getType()));
    first.offer(key, splat(i, key.getType()));
    return first.values();
  }));
  for (unsigned i = 0; i < count; ++i) {
    Value index = first.index(i);
    if (wordBytes == 8)
      index = b.create<arith::ExtUIOp>(f.loc, lanes(v.lanes, b.getI64Type()), index);
    emitAt(side, v.i(i), index);
  }
}

void SortEmitter::emitRow(const BodyEmitter &row) {
  if (kernel::StoreOp store = indicesOfAll()) {
    BodyEmitter first = row;
    first.bindAxis(info.axes[rankAxis], v.i(0));
    words = first.addressOf(store);
  }
  if (laneScore(info, axis) <= 0 && info.extents[rankAxis].constant().value_or(INT64_MAX) > mostSelected) {
    writeAll(row, v.i(0));
    return emitOrdered(row, sorted(words));
  }
  if (info.extents[rankAxis].constant() != 1)
    return emitSelected(row);
  Value isVector = v.less(v.i(v.lanes - 1), size), isShort = v.less(size, v.i(shortRow));
  v.ifThen(b.createOrFold<arith::AndIOp>(f.loc, isVector, isShort), [&] { emitFirst(row); }, [&] { emitSelected(row); });
}

void SortEmitter::emitSelected(const BodyEmitter &row) {
  Value whole = v.roundDown(size, v.lanes);
  Value first = v.min(v.roundDown(v.add(count, int64_t(v.lanes) - 1), v.lanes), whole);
  v.loop(v.i(0), first, v.lanes,
         [&](Value base) { writeWords(numberAt(row, base, v.lanes), base, words, base, v.lanes); });
  Value few = call("select_begin", b.getI64Type(), {words, first, size, count});
  emitOrdered(row, v.ifValues(
                       v.equal(few, v.i(0)),
                       [&] {
                         writeAll(row, first);
                         return VectorBuilder::Values{sorted(words)};
                       },
                       [&] { return VectorBuilder::Values{selected(row, first)}; })[0]);
}

/// A vector of rows. What is left of them is in one that ends where they do: its first rows are sorted twice, which costs next to nothing
/// where the first keys stay in registers, and elsewhere less than rows one by one as long as few are.
void SortEmitter::emitColumns(const BodyEmitter &row, Value block) {
  Value rows = outer.emitExpr(info.extents[*lane]), first = v.mul(block, int64_t(v.lanes));
  std::optional<int64_t> few = info.extents[rankAxis].constant();
  bool isFew = few && *few >= 1 && *few <= mostKept();
  if (!f.kernel->hasAttr("in_place")) {
    Value last = v.sub(rows, int64_t(v.lanes)), mostTwice = v.i(isFew ? v.lanes : v.lanes / 2);
    Value overlaps = b.createOrFold<arith::AndIOp>(f.loc, v.less(v.i(-1), last), v.less(v.sub(first, last), mostTwice));
    first = v.select(overlaps, v.min(first, last), first);
  }
  Value left = v.sub(rows, first);
  auto single = [&](Value i) {
    BodyEmitter point = row;
    point.bindAxis(info.axes[*lane], v.add(first, i));
    return point;
  };
  auto wordsOf = [&](Value i) { return v.at(words, v.mul(i, stride), b.getI8Type()); };
  auto together = [&] {
    BodyEmitter side = row;
    side.bindLane(info.axes[*lane], first, v.lanes);
    if (isFew)
      return emitFirstOfColumns(side, *few);
    v.loop(v.i(0), size, 1, [&](Value i) {
      BodyEmitter point = side;
      point.bindAxis(info.axes[axis], i);
      Value keys = lower::sortKey(b, f.loc, op, point.emitLanes(op.getKey()));
      for (unsigned l = 0; l < v.lanes; ++l)
        writeWords(b.create<vector::ExtractOp>(f.loc, keys, int64_t(l)), i, wordsOf(v.i(l)), i, 1);
    });
    v.loop(v.i(0), v.i(v.lanes), 1, [&](Value i) { emitOrdered(single(i), sorted(wordsOf(i))); });
  };
  // Fewer rows than lanes: where the first few stay in registers, lanes that lie idle cost less than rows one by one, whose keys lie apart. Only a single
  // row is better searched along it.
  auto fewer = [&] {
    auto oneByOne = [&] { v.loop(v.i(0), left, 1, [&](Value i) { emitRow(single(i)); }); };
    if (!isFew)
      return oneByOne();
    auto masked = [&] {
      BodyEmitter side = row;
      side.bindLane(info.axes[*lane], first, v.lanes, v.firstLanes(left));
      emitFirstOfColumns(side, *few);
    };
    v.ifThen(v.less(left, v.i(2)), oneByOne, masked);
  };
  v.ifThen(v.less(left, v.i(v.lanes)), fewer, together);
}

/// Rows behind one another: of short ones a vector of rows, of longer ones one after the other.
void SortEmitter::emitGathered(const BodyEmitter &row, Value block) {
  auto oneByOne = [&] {
    Value first = v.mul(block, int64_t(v.lanes)), rows = outer.emitExpr(info.extents[*lane]);
    v.loop(first, v.min(v.add(first, int64_t(v.lanes)), rows), 1, [&](Value i) {
      BodyEmitter point = row;
      point.bindAxis(info.axes[*lane], i);
      emitRow(point);
    });
  };
  v.ifThen(v.less(v.i(longestGathered), size), oneByOne, [&] { emitColumns(row, block); });
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

/// The words of keys whose indices begin at `index`, as words `at` and following.
void SortEmitter::writeWords(Value key, Value index, Value to, Value at, unsigned width) {
  Type i64 = b.getI64Type(), type = lanes(width, i64);
  index = indices(index, width);
  if (wordBytes == 8) {
    Value wide = b.create<arith::ExtUIOp>(f.loc, type, key), by = v.i(32);
    if (width > 1)
      by = b.create<vector::SplatOp>(f.loc, type, by);
    Value word = b.create<arith::OrIOp>(f.loc, b.create<arith::ShLIOp>(f.loc, wide, by), index);
    b.create<LLVM::StoreOp>(f.loc, word, v.at(to, at, i64), 8);
    return;
  }
  for (unsigned l = 0; l < width; ++l) {
    auto one = [&](Value x) -> Value {
      return width > 1 ? b.create<vector::ExtractOp>(f.loc, x, int64_t(l)).getResult() : x;
    };
    Value place = v.mul(v.add(at, int64_t(l)), 2);
    b.create<LLVM::StoreOp>(f.loc, one(key), v.at(to, place, i64), 8);
    b.create<LLVM::StoreOp>(f.loc, one(index), v.at(to, v.add(place, 1), i64), 8);
  }
}

void SortEmitter::writeAll(const BodyEmitter &row, Value from) {
  along(axis, from, size,
        [&](Value base, unsigned width) { writeWords(numberAt(row, base, width), base, words, base, width); });
}

Value SortEmitter::sorted(Value words) {
  return call("sort_words", words.getType(), {words, room, size, count});
}

/// Keys from `base` on, which are kept where one comes before the last of those that are; a later one that is equal
/// does not.
void SortEmitter::offer(const BodyEmitter &row, Value base, unsigned vectors, unsigned width) {
  Type i64 = b.getI64Type();
  auto at = [&](unsigned i) { return v.add(base, int64_t(i * width)); };
  SmallVector<Value> keys;
  for (unsigned i = 0; i < vectors; ++i)
    keys.push_back(numberAt(row, at(i), width));
  Value last = b.create<LLVM::LoadOp>(f.loc, i64, words, 8), any;
  if (wordBytes == 8)
    last = b.create<arith::TruncIOp>(f.loc, getElementTypeOrSelf(keys[0].getType()),
                                     b.create<arith::ShRUIOp>(f.loc, last, v.i(32)));
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
      writeWords(keys[i], at(i), room, v.i(int64_t(i * width)), width);
    call("select_offer", {}, {words, size, count, room, v.i(int64_t(vectors * width))});
  });
}

/// The words in order, of which the first ones were taken.
Value SortEmitter::selected(const BodyEmitter &row, Value from) {
  int64_t step = int64_t(v.lanes) * keysTogether;
  Value blocks = v.add(from, v.mul(v.div(v.sub(size, from), step), step));
  v.loop(from, blocks, step, [&](Value base) { offer(row, base, keysTogether, v.lanes); });
  along(axis, blocks, size, [&](Value base, unsigned width) { offer(row, base, 1, width); });
  return call("select_end", words.getType(), {words, room, size, count});
}

void SortEmitter::emitResults(const BodyEmitter &row, Value order, Value base, unsigned width) {
  Type i64 = b.getI64Type(), type = lanes(width, i64);
  auto splat = [&](int64_t number) {
    return width > 1 ? b.create<vector::SplatOp>(f.loc, type, v.i(number)).getResult() : v.i(number);
  };
  auto load = [&](Type type, Value at) { return b.create<LLVM::LoadOp>(f.loc, type, v.at(order, at, i64), 8).getResult(); };
  auto halves = [&](int64_t half) { // of wide words, which lie one behind the other
    Value all = width > 1 ? b.create<arith::ConstantOp>(f.loc, b.getZeroAttr(type)).getResult() : Value();
    for (unsigned l = 0; l < width; ++l) {
      Value one = load(i64, v.add(v.mul(v.add(base, int64_t(l)), 2), half));
      all = width > 1 ? b.create<vector::InsertOp>(f.loc, one, all, int64_t(l)).getResult() : one;
    }
    return all;
  };
  Value number, index;
  if (wordBytes == 8) {
    Value word = load(type, base);
    number = b.create<arith::ShRUIOp>(f.loc, word, splat(32));
    index = b.create<arith::AndIOp>(f.loc, word, splat(0xffffffff));
  } else {
    number = keyLoads.empty() ? Value() : halves(0);
    index = halves(1);
  }
  BodyEmitter point = row;
  if (width > 1)
    point.bindLane(info.axes[rankAxis], base, width);
  else
    point.bindAxis(info.axes[rankAxis], base);
  if (!keyLoads.empty())
    bindKeys(point, index, number);
  emitStores(point, index);
}

/// A zero and a NaN have one number, whichever of them it is: where there are any, they are loaded. They come in the order of their places.
void SortEmitter::bindKeys(BodyEmitter &point, Value index, Value number) {
  Type narrow = b.getIntegerType(op.getKey().getType().getIntOrFloatBitWidth());
  if (auto vector = dyn_cast<VectorType>(number.getType()))
    narrow = vector.clone(narrow);
  if (narrow != number.getType())
    number = b.create<arith::TruncIOp>(f.loc, narrow, number);
  lower::KeyOfNumber known = lower::keyOfNumber(b, f.loc, op, number);
  Value key = known.key, unsure = known.unsure;
  if (unsure) {
    if (isa<VectorType>(unsure.getType()))
      unsure = b.create<vector::ReductionOp>(f.loc, vector::CombiningKind::OR, unsure);
    auto loaded = [&] {
      BodyEmitter there = point;
      there.bindValue(op.getResult(), index);
      return VectorBuilder::Values{there.emitLanes(keyLoads.front())};
    };
    key = v.ifValues(unsure, loaded, [&] { return VectorBuilder::Values{key}; })[0];
  }
  for (kernel::LoadOp load : keyLoads)
    point.bindValue(load, key);
}

void SortEmitter::emitAt(BodyEmitter point, Value place, Value index) {
  point.bindAxis(info.axes[rankAxis], place);
  emitStores(point, index);
}

void SortEmitter::emitStores(BodyEmitter &point, Value index) {
  point.bindValue(op.getResult(), index);
  for (Operation *o : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(o))
      point.emitStore(store);
}

llvm::Error lathe::cpu::emitSort(KernelFunction &f, KernelPlan &plan) {
  for (Operation *o : f.info.ops)
    if (auto sort = dyn_cast<kernel::SortOp>(o)) {
      if (sortsValues(f.info, sort))
        return emitValueSort(f, sort, plan);
      SortEmitter emitter(f, sort);
      plan = emitter.plan();
      return emitter.run();
    }
  return bug("kernel '{0}' has no sort", f.kernel.getName());
}
