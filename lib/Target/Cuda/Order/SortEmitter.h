//===- SortEmitter.h - A block that sorts a part of a row ------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_SORTEMITTER_H
#define LATHE_LIB_TARGET_CUDA_SORTEMITTER_H

#include "SortWords.h"

namespace lathe::cuda {

/// Where a part of the results begins: words whose leading digits (those in `mask`) come before `prefix` come before
/// it.
struct SortBound {
  SortWord prefix, mask;
};

/// Words in memory, which are sorted in place of a row's own.
struct SortKept {
  Value highs, lows;
};

class SortEmitter : public SortWordEmitter {
public:
  SortEmitter(KernelFrame &frame, kernel::SortOp op, unsigned threads) : SortWordEmitter(frame, op), threads(threads) {}
  /// A part of a row's results.
  void emit();
  /// The best words of a stretch of a row, and the best of those (SortStretches.cpp).
  void emitStretch();
  void emitSurvivors();
  /// Words in shared memory.
  static unsigned capacity(kernel::SortOp op);

private:
  using Word = SortWord;
  using Bound = SortBound;

  void prepare();

  // Words
  Word wordAt(Value index);
  Word constant(int64_t v) { return {d.i64(v), isWide() ? d.i32(v) : Value()}; }
  Word masked(const Word &w, const Word &mask);
  Value less(const Word &x, const Word &y);
  Value same(const Word &x, const Word &y);
  Value digitOf(const Word &w, Value shift);
  Word placed(Value digit, Value shift);
  Values values(const Word &w) { return isWide() ? Values{w.high, w.low} : Values{w.high}; }
  Word wordOf(ValueRange v) { return {v[0], isWide() ? v[1] : Value()}; }
  /// The row's words, of which each thread has some: several are read before the first is looked at.
  Values eachWord(Values carried, llvm::function_ref<Values(const Word &, ValueRange)> body);
  void eachWord(llvm::function_ref<void(const Word &)> body);

  // Which words a part of the results has (SortParts.cpp)
  Values values(const Bound &b, Value rest);
  Bound boundOf(ValueRange v);
  Bound boundAt(Value rank);
  void findDigit(const Bound &bound, Value shift, Value rest);
  Value collect(Value from, Value to);
  Value collectBetween(Value from, Value to);
  Value storeBest(const Word &best, Value count);
  Value collectBest(Value count);
  void clearTaken();
  Value take();
  Value taken();

  // Sorting them
  Word load(Value at);
  void store(const Word &w, Value at);
  void sortWords(Value count);
  SortKept keptWords(Value stretches, Value results);
  void keep(const Word &w, const SortKept &to, Value at);
  void exchange(Value i, Value bit, Value block);
  void emitResults(Value from, Value to);

  unsigned threads;
  Value start, size;               ///< where the block's words begin in its row (null: there), and how many there are
  std::optional<SortKept> kept;    ///< they are these
  Value tid;
  Value highs, lows, counts, found; ///< arrays in shared memory
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SORTEMITTER_H
