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
};
/// Adds the entry points of a radix sort; `blockRoom`: the results that a block makes at once elsewhere. Nothing where
/// rows are known to be short.
llvm::Expected<std::optional<RadixLaunch>> addRadixSort(Generator &g, kernel::SortOp op, int64_t blockRoom);
constexpr unsigned radixThreads = 1024;
/// Values of a digit, of eight bits.
constexpr unsigned radixDigits = 256;

/// Words of a plan: a launch of a block for each row.
struct BlockSort {
  Value useful; ///< i1: rows that a block's shared memory holds, of which more than a few results are wanted
  Value entry, threads, shared;
  bool always;  ///< it is known to be useful
};
/// Adds entry points for rows that a block sorts digit by digit; nothing where rows are known to be longer or very short.
llvm::Expected<std::optional<BlockSort>> addBlockRadix(Generator &g, kernel::SortOp op);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SORTWORDS_H
