//===- BytePairs.cpp - Weights of which pairs of products fit in 16 bits ---===//

#include "lathe/Dialect/Kernel/BytePairs.h"

using namespace lathe;

std::vector<int32_t> kernel::wordsBeyondPairs(llvm::ArrayRef<int8_t> panel, int64_t columns) {
  std::vector<int32_t> beyond;
  int64_t bytes = 4 * columns;
  for (int64_t word = 0; word < int64_t(panel.size()) / bytes; ++word) {
    llvm::ArrayRef<int8_t> row = panel.slice(word * bytes, bytes);
    bool fits = true;
    for (int64_t i = 0; i < bytes; i += 2)
      fits &= pairFits(row[i], row[i + 1]);
    if (!fits)
      beyond.push_back(int32_t(word));
  }
  return beyond;
}

int64_t kernel::rowsOfList(int64_t count, int64_t columns) { return count ? (count + 2 + columns - 1) / columns : 0; }

std::vector<int32_t> kernel::listOfWords(llvm::ArrayRef<int32_t> beyond, int64_t words) {
  std::vector<int32_t> list{int32_t(beyond.size())};
  list.insert(list.end(), beyond.begin(), beyond.end());
  list.push_back(int32_t(words));
  return list;
}
