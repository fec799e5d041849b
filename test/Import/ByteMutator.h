//===- ByteMutator.h - Random changes of any file --------------------------===//
//
// The same seed, the same change.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TEST_IMPORT_BYTEMUTATOR_H
#define LATHE_TEST_IMPORT_BYTEMUTATOR_H

#include "llvm/ADT/ArrayRef.h"
#include <random>
#include <string>

namespace lathe::test {

class ByteMutator {
public:
  explicit ByteMutator(unsigned seed) : random(seed) {}

  size_t pick(size_t n) { return n ? random() % n : 0; }
  template <typename T> const T &oneOf(llvm::ArrayRef<T> choices) { return choices[pick(choices.size())]; }
  /// Changes up to `most` bytes, and now and then cuts off the end.
  void mutateBytes(std::string &bytes, size_t most) {
    for (size_t n = 1 + pick(most); n > 0 && !bytes.empty(); --n)
      bytes[pick(bytes.size())] = char(pick(256));
    if (pick(8) == 0)
      bytes.resize(pick(bytes.size() + 1));
  }

private:
  std::mt19937 random;
};

} // namespace lathe::test

#endif // LATHE_TEST_IMPORT_BYTEMUTATOR_H
