//===- HalfFloats.h - Rounding to floats of 16 bits ------------------------===//
//
// In integer arithmetic without branches, which a compiler makes vectors of: millions of weights are rounded one after the other.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SUPPORT_HALFFLOATS_H
#define LATHE_SUPPORT_HALFFLOATS_H

#include <cstdint>
#include <cstring>

namespace lathe {

/// The nearest bf16, ties to even; a NaN keeps the upper bits of its payload, and is quiet.
inline uint16_t bfloatBits(uint32_t f32) {
  uint32_t rounded = f32 + 0x7fff + (f32 >> 16 & 1), quiet = f32 | 0x400000;
  return uint16_t(((f32 & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16);
}

/// The nearest f16, likewise.
inline uint16_t halfBits(uint32_t f32) {
  constexpr uint32_t infinity = 0x7f800000, overflows = 0x47800000, normal = 0x38800000, half = 0x3f000000;
  uint32_t magnitude = f32 & 0x7fffffff, sign = f32 >> 16 & 0x8000;
  uint32_t usual = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // What is smaller than the normal numbers has the last place of 0.5 in f32: the sum rounds it there. Others are not added, so that
  // nothing here overflows.
  uint32_t small = magnitude < normal ? magnitude : 0, bits;
  float sum;
  std::memcpy(&sum, &small, 4);
  sum += 0.5f;
  std::memcpy(&bits, &sum, 4);
  uint32_t large = magnitude > infinity ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
  uint32_t result = magnitude < normal ? bits - half : magnitude < overflows ? usual : large;
  return uint16_t(sign | result);
}

} // namespace lathe

#endif // LATHE_SUPPORT_HALFFLOATS_H
