//===- SortWords.h - What is sorted on a GPU --------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_SORTWORDS_H
#define LATHE_LIB_TARGET_CUDA_SORTWORDS_H

#include "../Generator.h"

namespace lathe::cuda {

/// A key as an unsigned number, below it the index: no two are equal. Of keys up to 32 bits, `high` holds the index as
/// well; else `low` has it.
struct SortWord {
  Value high, low;
};

class SortWordEmitter : public EntryEmitter {
protected:
  SortWordEmitter(KernelFrame &frame, kernel::SortOp op);
  bool isWide() const { return keyBytes > 4; }
  /// The word of an element, and a result, of the row that `row` is bound to.
  SortWord wordAt(const lower::BodyEmitter &row, Value index);
  /// Eight bits of the key; `shift` counts from the end of the high part.
  Value keyDigit(const SortWord &w, Value shift);
  void storeResult(const lower::BodyEmitter &row, const SortWord &w, Value rank);
  /// Several results, those that exist (i1): what they read is in flight together, where each word is one of the row's.
  void storeResults(const lower::BodyEmitter &row, llvm::ArrayRef<SortWord> words, ValueRange ranks, ValueRange exist);

private:
  lower::BodyEmitter resultAt(const lower::BodyEmitter &row, const SortWord &w, Value rank);

protected:
  kernel::SortOp op;
  unsigned axis, rankAxis, keyBytes;
  llvm::SmallVector<unsigned> rowAxes;
};

/// The rows of a sort.
shape::Expr rowsOf(const lower::BodyInfo &info, kernel::SortOp op);

/// Words of a plan: two launches, of which the blocks of the second wait for one another.
struct RadixLaunch {
  Value useful; ///< i1: rather than a block for a part of a row
  Value begin, beginGrid, sort, sortGrid, scratch;
  int64_t threads, shared; ///< of the second one
};
/// Adds the entry points of a radix sort; `blockRoom`: the results that a block makes at once elsewhere. Nothing where
/// rows are known to be short.
llvm::Expected<std::optional<RadixLaunch>> addRadixSort(Generator &g, kernel::SortOp op, int64_t blockRoom);
/// Values of a digit, of eight bits.
constexpr unsigned radixDigits = 256;

/// Results of a row that are picked from it without sorting it.
constexpr int64_t fewBest = 512;
/// Adds the entry points for a few best words of rows that are too few for a device, and says where they are useful (i1).
/// Nothing where rows are known to be short, or results to be many.
llvm::Expected<std::optional<LaunchWords>> addStretches(Generator &g, kernel::SortOp op, Value &useful);

/// Words of a plan: one launch.
struct BlockSort {
  Value useful; ///< i1
  Value entry, grid, threads, shared;
  bool always;  ///< it is known to be useful
};
/// Adds entry points for rows that a block sorts digit by digit, since its shared memory holds them and more than a few results
/// are wanted; nothing where rows are known to be longer or very short.
llvm::Expected<std::optional<BlockSort>> addBlockRadix(Generator &g, kernel::SortOp op);
/// Adds entry points for short rows of which a warp finds a few best words.
llvm::Expected<std::optional<BlockSort>> addWarpBest(Generator &g, kernel::SortOp op);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SORTWORDS_H
