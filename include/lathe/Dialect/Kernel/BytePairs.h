//===- BytePairs.h - Weights of which pairs of products fit in 16 bits -----===//
//
// An instruction that multiplies unsigned bytes with signed ones and adds the products of neighbours in 16 bits saturates. It is exact
// for every unsigned byte where 255 times the sum of a pair's positive weights fits, and 255 times that of the negative ones: of
// seven bits all do, of eight most. So a panel of packed bytes may be followed by a list of the words that have another pair:
// 32-bit numbers, first how many, then the words in their order, at last the number of all words.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_KERNEL_BYTEPAIRS_H
#define LATHE_DIALECT_KERNEL_BYTEPAIRS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace lathe::kernel {

/// The attribute of a load of packed bytes, and of its kernel.pack: so many rows behind each panel, each as large as a word of all its
/// columns, hold the list. 0: all pairs of all panels fit, and there is none. Without it nothing is known, or the list is too long.
constexpr const char *pairsName = "pairs";

inline bool pairFits(int64_t x, int64_t y) {
  auto within = [](int64_t sum) { return -128 <= sum && sum <= 128; };
  return within(x) && within(y) && within(x + y);
}

/// The words with pairs that do not fit, of a panel [words][columns][4].
std::vector<int32_t> wordsBeyondPairs(llvm::ArrayRef<int8_t> panel, int64_t columns);
/// Rows of `columns` words for the list of so many.
int64_t rowsOfList(int64_t count, int64_t columns);
/// The list of a panel of `words` words.
std::vector<int32_t> listOfWords(llvm::ArrayRef<int32_t> beyond, int64_t words);

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_BYTEPAIRS_H
