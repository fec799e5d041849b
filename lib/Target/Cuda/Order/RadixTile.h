//===- RadixTile.h - Words that a block puts into the order of a digit -------===//
#ifndef LATHE_LIB_TARGET_CUDA_RADIXTILE_H
#define LATHE_LIB_TARGET_CUDA_RADIXTILE_H

#include "SortWords.h"

namespace lathe::cuda {

/// A block and the words of one of its threads.
struct BlockShape {
  unsigned threads, each;
  int64_t room() const { return int64_t(threads) * each; }
  unsigned warps() const { return threads / 32; }
  int64_t sharedBytes(unsigned keyBytes) const {
    constexpr int64_t alignment = 1024; // of where dynamic shared memory begins
    return alignment + int64_t(warps()) * radixDigits * 4 + room() * (keyBytes > 4 ? 12 : 8);
  }
};

/// A tile of words, of which each thread keeps a few in registers, and the places in shared memory where they go by a digit. A warp has a piece
/// of the tile, 32 words at a time: those that share a digit tell one another apart by a mask, and a counter of the warp and the digit says how
/// many came before.
class RadixTileEmitter : public SortWordEmitter {
protected:
  RadixTileEmitter(KernelFrame &frame, kernel::SortOp op, BlockShape shape) : SortWordEmitter(frame, op), shape(shape) {}
  void prepare();
  SortWord load(Value at);
  void store(const SortWord &w, Value at);
  Value countAt(Value ofWarp, Value digit) { return d.at(counts, d.add(d.mul(ofWarp, int64_t(radixDigits)), digit), d.i32Type()); }
  void clearCounts();
  SortWord wordOf(ValueRange values, unsigned i) { return {values[i], isWide() ? values[shape.each + i] : Value()}; }
  /// A thread's words, one for each of the places: the high parts, then the low ones.
  Values collect(ValueRange places, llvm::function_ref<SortWord(Value at)> word);
  /// The bits that are not the same in all keys of the warp's words, set in some and in all of them.
  std::pair<Value, Value> combineBits(Value some, Value all);
  /// Puts the words that are inside into the order of the digit. Behind it `starts` says where each digit begins.
  void order(ValueRange words, ValueRange inside, Value shift);

  BlockShape shape;
  Value tid, lane, warp;
  Value counts, starts, sums, highs, lows; ///< in shared memory

private:
  Value sharersOf(Value digit, Value isInside);
  Values rankInWarps(ValueRange words, ValueRange inside, Value shift);
  void startDigits();
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_RADIXTILE_H
