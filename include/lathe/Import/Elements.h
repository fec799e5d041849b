//===- Elements.h - How large a tensor of a file may be ---------------------===//
#ifndef LATHE_IMPORT_ELEMENTS_H
#define LATHE_IMPORT_ELEMENTS_H

#include <algorithm>
#include <cstdint>

namespace lathe {

/// Multiplies a count of elements, which begins with 1, by a known size; one that is 0 counts as 1, so that what other sizes make of it
/// stays within 64 bits. False where that is more than 2^46: a tensor of a quarter of what addresses reach.
inline bool multiplyElements(int64_t &count, int64_t size) {
  return !__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count) && count <= (int64_t(1) << 46);
}

} // namespace lathe

#endif // LATHE_IMPORT_ELEMENTS_H
