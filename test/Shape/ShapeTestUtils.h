//===- ShapeTestUtils.h - Short forms for the shape tests ------------------===//
#ifndef LATHE_TEST_SHAPE_SHAPETESTUTILS_H
#define LATHE_TEST_SHAPE_SHAPETESTUTILS_H

#include "lathe/Shape/Facts.h"
#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

namespace lathe::shape {

/// The expression of a text that must parse.
inline Expr E(llvm::StringRef text) {
  llvm::Expected<Expr> e = Expr::parse(text);
  if (e)
    return *e;
  ADD_FAILURE() << llvm::toString(e.takeError());
  return Expr::unknown();
}

inline void PrintTo(const Expr &e, std::ostream *out) { *out << e.str(); }

/// A small reproducible generator of test inputs.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2654435761u + 1) {}
  int64_t in(int64_t low, int64_t high) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return low + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(high - low + 1));
  }

private:
  uint64_t state;
};

} // namespace lathe::shape

#endif // LATHE_TEST_SHAPE_SHAPETESTUTILS_H
