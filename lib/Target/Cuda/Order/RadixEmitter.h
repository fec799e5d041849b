//===- RadixEmitter.h - Long rows sorted by all blocks of a GPU -------------===//
#ifndef LATHE_LIB_TARGET_CUDA_RADIXEMITTER_H
#define LATHE_LIB_TARGET_CUDA_RADIXEMITTER_H

#include "RadixTile.h"

namespace lathe::cuda {

/// The scratch memory begins with how many blocks share a row, and a counter for each group of such blocks.
constexpr int64_t firstRadixCounter = 32, mostRadixGroups = 1024, radixHeadBytes = 4 * (firstRadixCounter + mostRadixGroups);

class RadixEmitter : public RadixTileEmitter {
public:
  RadixEmitter(KernelFrame &frame, kernel::SortOp op, BlockShape shape) : RadixTileEmitter(frame, op, shape) {}
  void emit();
  static int64_t wordBytes(unsigned keyBytes) { return keyBytes > 4 ? 12 : 8; }
  /// What a group has besides its words: the bits of each block's keys, and of each digit and block how many words there are.
  static int64_t tableBytes() { return 16 + 4 * radixDigits; }

private:
  /// What becomes of a thread's words: where they go, and whether they are some of the row's (i1) or copies of others.
  using Sink = llvm::function_ref<void(llvm::ArrayRef<SortWord> words, ValueRange places, ValueRange inside)>;
  SortWord fetch(Value buffer, Value at);
  void put(const SortWord &w, Value buffer, Value at);
  Value fill(const lower::BodyEmitter &row, Value &target);
  void count(Value buffer, Value shift);
  void publish();
  void countBefore();
  void placeTiles();
  Values wordsOfTile(Value buffer, Value first);
  void placeDigits(Value inTile);
  void move(Value buffer, Value shift, Sink sink);
  Value pass(Value source, Value shift, Value target, Sink sink);
  Value meet(Value target);
  void prepareGroup();
  Value sortRow(const lower::BodyEmitter &row, Value target);

  Value size, sharers, group, part, from, to; ///< from, to: of the block's piece
  Value all, nexts, offsets;                  ///< in shared memory, of each digit: how many words the row has, where the next one goes, and
                                              ///< how far that is from its place in the tile
  Value bits, table, buffers[2];              ///< of the group
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_RADIXEMITTER_H
