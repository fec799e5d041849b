//===- RowCombine.cpp - The end of a reduction that threads share -----------===//
//
// What threads of a row have comes together: of a warp by shuffles, of a block in its shared memory, of a cluster's blocks by words that they send one another, of
// blocks that share a row by way of memory. Always in the same order.
//
//===----------------------------------------------------------------------===//

#include "../Combine.h"
#include "../Launch/GridBarrier.h"
#include "Cluster.h"
#include "RowEmitter.h"
#include "RowsTogether.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

Value RowEmitter::finish(kernel::ReduceOp reduce, Value partial) {
  kernel::Combiner kind = reduce.getKind();
  if (!lower::contains(axes.rows, s.lane))
    partial = combineLanes(d, kind, partial);
  if (s.together)
    return combineInGrid(reduce, partial);
  if (s.clusters && s.layout == schedule::ThreadRows::Block)
    return combineInCluster(kind, combineInBlock(kind, partial));
  return s.unit == 1 ? partial : combineInBlock(kind, partial);
}

/// Where a block's warps leave what they have. Blocks that share rows do so twice for each reduction, always in the same place.
Value RowEmitter::meetingPlace(Type stored, unsigned count) {
  if (!s.together)
    return frame.sharedArray("sum" + std::to_string(sharedSlots++), stored, count);
  if (place)
    d.barrier();
  else
    place = frame.sharedArray("sums", d.b.getI8Type(), s.threads / 32 * sharedValues(s) * 8);
  return place;
}

Value RowEmitter::combineInBlock(kernel::Combiner kind, Value partial) {
  if (s.layout == schedule::ThreadRows::Columns)
    return inColumns(kind, partial);
  Type element = getElementTypeOrSelf(partial.getType());
  Type stored = element.isInteger(1) ? d.b.getI8Type() : element;
  unsigned bytes = stored.getIntOrFloatBitWidth() / 8;
  for (unsigned m = std::min(s.unit, 32u) / 2; m; m /= 2)
    partial = combine(d, kind, partial, d.shuffleXor(partial, m));
  if (s.layout == schedule::ThreadRows::Lanes)
    return partial;
  unsigned warps = s.unit / 32;
  Value array = meetingPlace(stored, warps);
  Value tid = d.threadId();
  d.when(d.equal(d.rem(tid, 32), 0), [&] { d.store(partial, d.at(array, d.div(tid, 32), element), bytes); });
  d.barrier();
  Value out;
  for (unsigned w = 0; w < warps; ++w) {
    Value x = d.load(element, d.at(array, d.i32(w), element), bytes);
    out = out ? combine(d, kind, out, x) : x;
  }
  return out;
}

/// Threads of a warp that have the same rows first, then the warps, then the blocks of a cluster.
Value RowEmitter::inColumns(kernel::Combiner kind, Value partial) {
  auto vector = dyn_cast<VectorType>(partial.getType());
  unsigned width = vector ? vector.getNumElements() : 1, warps = s.threads / 32;
  Type element = getElementTypeOrSelf(partial.getType());
  Type stored = element.isInteger(1) ? d.b.getI8Type() : element;
  unsigned bytes = stored.getIntOrFloatBitWidth() / 8, values = s.columns * width;
  Value array = meetingPlace(stored, warps * values);
  auto slot = [&](Value warp, unsigned lane) {
    Value index = d.mul(d.add(d.mul(warp, s.columns), rowInBlock), width);
    return d.at(array, d.add(index, lane), element);
  };
  Value tid = d.threadId();
  Values lanes;
  for (unsigned i = 0; i < width; ++i) {
    Value x = d.extract(partial, i);
    for (unsigned m = 16; m >= s.columns; m /= 2)
      x = combine(d, kind, x, d.shuffleXor(x, m));
    lanes.push_back(x);
  }
  d.when(d.less(d.bitAnd(tid, 31), d.i32(s.columns)), [&] {
    for (unsigned i = 0; i < width; ++i)
      d.store(lanes[i], slot(d.div(tid, 32), i), bytes);
  });
  d.barrier();
  // A thread puts together what the warps have of one value, and leaves it where that of the first warp was.
  eachValue(values, [&](Value mine) {
    Value sum;
    for (unsigned w = 0; w < warps; ++w) {
      Value x = d.load(element, d.at(array, d.add(mine, int64_t(w) * values), element), bytes);
      sum = sum ? combine(d, kind, sum, x) : x;
    }
    d.store(sum, d.at(array, mine, element), bytes);
  });
  if (s.clusters)
    columnsOfCluster(kind, element, array, values);
  d.barrier();
  Value out = partial;
  for (unsigned i = 0; i < width; ++i)
    out = d.insert(out, d.load(element, slot(d.i32(0), i), bytes), i);
  return out;
}

/// Calls f with the number of each of so many values, which threads take in turn.
void RowEmitter::eachValue(unsigned values, llvm::function_ref<void(Value)> f) {
  for (unsigned first = 0; first < values; first += s.threads) {
    Value mine = d.add(d.threadId(), int64_t(first));
    d.when(d.less(mine, d.i32(values)), [&] { f(mine); });
  }
}

/// Every block leaves its values in its own shared memory; then each puts together those of all, in the same order everywhere.
void RowEmitter::columnsOfCluster(kernel::Combiner kind, Type element, Value array, unsigned values) {
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  Value words = behindKept(values);
  eachValue(values, [&](Value mine) {
    d.store(wordOf(d, d.load(element, d.at(array, mine, element), bytes)), d.at(words, mine, d.i64Type()), 8);
  });
  clusterBarrier(d);
  eachValue(values, [&](Value mine) {
    Value place = d.at(words, mine, d.i64Type());
    Value all = d.loop(d.i32(0), sharers, d.i32(1), Values{identityOf(d, kind, element)}, [&](Value rank, ValueRange carried) {
      return Values{combine(d, kind, carried[0], ofWord(d, readOfBlock(d, place, rank), element))};
    })[0];
    d.store(all, d.at(array, mine, element), bytes);
  });
}

/// What a block has comes to memory; the blocks that share rows read one another's, in the same order.
Value RowEmitter::combineInGrid(kernel::ReduceOp reduce, Value partial) {
  kernel::Combiner kind = reduce.getKind();
  Value own = combineInBlock(kind, partial);
  Type element = getElementTypeOrSelf(own.getType());
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  auto vector = dyn_cast<VectorType>(own.getType());
  unsigned width = vector ? vector.getNumElements() : 1;
  // A block's values, one for each of its columns.
  auto at = [&](Value block, unsigned lane) {
    Value column = rowInBlock ? d.add(d.mul(rowInBlock, width), int64_t(lane)) : d.i32(0);
    Value first = d.mul(d.add(d.mul(d.wide(d.gridSize()), waits), d.wide(block)), sharedValues(s));
    return d.byteAt(frame.scratch(), d.add(d.mul(d.add(first, d.wide(column)), 8), sharedHeadBytes));
  };
  Value first = d.less(inBlock, d.i32(1));
  d.when(first, [&] {
    for (unsigned i = 0; i < width; ++i)
      d.store(d.extract(own, i), at(d.blockId(), i), bytes);
  });
  Value counter = frame.scratch();
  arriveAtGrid(d, counter);
  awaitGrid(d, counter, d.mul(d.gridSize(), waits + 1));
  Value start = d.mul(d.div(d.blockId(), sharers), sharers);
  Value all = d.loop(inBlock, sharers, d.i32(s.unit), Values{identityOf(d, kind, own.getType())}, [&](Value i, ValueRange carried) {
    Value now = own;
    for (unsigned lane = 0; lane < width; ++lane)
      now = d.insert(now, d.load(element, at(d.add(start, i), lane), bytes), lane);
    return Values{combine(d, kind, carried[0], now)};
  })[0];
  ++waits;
  return combineInBlock(kind, all);
}

/// Words for the other blocks of a cluster, which lie in the same place in each.
Value RowEmitter::behindKept(unsigned words) {
  Value place = d.byteAt(keptBase, d.add(d.mul(keptSlots, int64_t(s.keptBytes)), int64_t(clusterWords) * 8));
  clusterWords += words;
  return place;
}

/// Lanes of a warp take what one block each has, and put it together in the same order everywhere. A block that has a row alone knows all.
Value RowEmitter::combineInCluster(kernel::Combiner kind, Value own) {
  const unsigned most = schedule::rowTuning.mostOfCluster;
  Type element = own.getType();
  exchange->turn = d.add(exchange->turn, 1);
  auto ofAll = [&] {
    Value x = ofWord(d, exchange->tell(wordOf(d, own)), element);
    Value all = d.select(d.less(d.rem(d.threadId(), int64_t(most)), sharers), x, identityOf(d, kind, element));
    for (unsigned m = most / 2; m; m /= 2)
      all = combine(d, kind, all, d.shuffleXor(all, m));
    return Values{all};
  };
  return d.choose(d.less(d.i32(1), sharers), ofAll, [&] { return Values{own}; })[0];
}
