//===- EmulatedTensorCore.cpp - Matrix instructions on the CPU -------------===//

#include "Emulator.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>

using namespace lathe::emulator;
using llvm::StringRef;

extern uint64_t emulatedSharedBase; ///< of the block's shared memory

namespace {
enum class Element { BFloat, Half, TFloat };
} // namespace

static float halfToFloat(uint16_t h) {
  _Float16 f;
  memcpy(&f, &h, 2);
  return float(f);
}

static float readElement(Element e, const char *at) {
  uint32_t bits = 0;
  memcpy(&bits, at, e == Element::TFloat ? 4 : 2);
  if (e == Element::Half)
    return halfToFloat(uint16_t(bits));
  return asFloat(e == Element::BFloat ? bits << 16 : bits & 0xffffe000u);
}

static unsigned bytesOf(Element e) { return e == Element::TFloat ? 4 : 2; }

static Element elementIn(StringRef text) {
  return text.contains("bf16") ? Element::BFloat : text.contains("tf32") ? Element::TFloat : Element::Half;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// Element (line, k) of a tile that a descriptor speaks of, in the 128-byte swizzle.
static float tileElement(uint64_t descriptor, Element e, bool byColumns, unsigned line, unsigned k) {
  uint64_t start = (descriptor & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4, stride = (descriptor >> 32 & 0x3fff) << 4;
  uint64_t at = byColumns ? start + line / 64 * leading + k / 8 * stride + k % 8 * 128 + line % 64 * 2
                          : start + line / 8 * stride + line % 8 * 128 + k * bytesOf(e);
  at ^= (at >> 7 & 7) << 4;
  // A descriptor holds the low 18 bits of an address; the rest is the same for all of a block's shared memory.
  return readElement(e, reinterpret_cast<const char *>((emulatedSharedBase & ~uint64_t(0x3ffff)) + at));
}

static Semantics wgmma(StringRef text) {
  unsigned columns = 0;
  text.split("m64n").second.split('k').first.getAsInteger(10, columns);
  Element e = elementIn(text);
  bool accumulate = false, byColumns = false, leftTurned = false;
  StringRef tail = text.rsplit('$').second.split(',').second; // " 1, 1, 1, 0, 0;"
  llvm::SmallVector<StringRef> flags;
  tail.rtrim("; ").split(flags, ',');
  accumulate = flags[0].trim() == "1";
  bool inRegisters = text.count('{') > 1;
  if (e != Element::TFloat)
    byColumns = flags.back().trim() == "1";
  if (e != Element::TFloat && !inRegisters)
    leftTurned = flags[flags.size() - 2].trim() == "1";
  unsigned depth = e == Element::TFloat ? 8 : 16, sums = columns / 2;
  return [=](const uint64_t *a, uint64_t *r) {
    unsigned lane = block->current->id % 32, warp = block->current->id / 32 % 4;
    const uint64_t *operands = a + (accumulate ? sums : 0);
    uint64_t right = operands[inRegisters ? 4 : 1];
    float left[2][16];
    if (inRegisters) {
      const Meeting::Words &all = block->meetWarp("wgmma of warp", llvm::ArrayRef(operands, 4));
      for (unsigned h = 0; h < 2; ++h)
        for (unsigned k = 0; k < 16; ++k) {
          uint64_t word = all[lane / 4 * 4 + k % 8 / 2][h + 2 * (k / 8)];
          uint16_t bits = uint16_t(word >> (16 * (k % 2)));
          left[h][k] = readElement(e, reinterpret_cast<const char *>(&bits));
        }
    } else {
      for (unsigned h = 0; h < 2; ++h)
        for (unsigned k = 0; k < depth; ++k)
          left[h][k] = tileElement(operands[0], e, leftTurned, 16 * warp + lane / 4 + 8 * h, k);
    }
    for (unsigned i = 0; i < sums; ++i) {
      unsigned column = i / 4 * 8 + lane % 4 * 2 + i % 2, h = i / 2 % 2;
      float sum = accumulate ? asFloat(a[i]) : 0;
      for (unsigned k = 0; k < depth; ++k)
        sum += left[h][k] * tileElement(right, e, byColumns, column, k);
      r[i] = fromFloat(sum);
    }
  };
}

//===----------------------------------------------------------------------===//
// ldmatrix and mma.sync
//===----------------------------------------------------------------------===//

/// Four 8x8 matrices of halves; lane 8 * i + r says where row r of matrix i lies.
static Semantics loadMatrices(bool transposed) {
  return [=](const uint64_t *a, uint64_t *r) {
    const Meeting::Words &all = block->meetWarp("ldmatrix of warp", a[0]);
    unsigned lane = block->current->id % 32;
    for (unsigned i = 0; i < 4; ++i) {
      auto element = [&](unsigned row, unsigned column) {
        uint16_t bits;
        memcpy(&bits, reinterpret_cast<const char *>((all[8 * i + row][0] & 0xffffffff) + 2 * column), 2);
        return uint64_t(bits);
      };
      unsigned major = lane / 4, minor = lane % 4 * 2;
      r[i] = transposed ? element(minor, major) | element(minor + 1, major) << 16
                        : element(major, minor) | element(major, minor + 1) << 16;
    }
  };
}

/// m16n8: for each 8 of the depth two registers of the left operand and one of the right one; four sums.
static Semantics multiplyMatrices(Element e, unsigned depth) {
  return [=](const uint64_t *a, uint64_t *r) {
    unsigned left = depth / 4, sums = left + depth / 8;
    const Meeting::Words &all = block->meetWarp("mma of warp", llvm::ArrayRef(a, sums));
    unsigned lane = block->current->id % 32;
    auto element = [&](unsigned line, unsigned reg, unsigned k) {
      uint16_t bits = uint16_t(all[line * 4 + k % 8 / 2][reg] >> (16 * (k % 2)));
      return readElement(e, reinterpret_cast<const char *>(&bits));
    };
    for (unsigned i = 0; i < 4; ++i) {
      float sum = asFloat(a[sums + i]);
      for (unsigned k = 0; k < depth; ++k)
        sum += element(lane / 4, i / 2 + k / 8 * 2, k) * element(lane % 4 * 2 + i % 2, left + k / 8, k);
      r[i] = fromFloat(sum);
    }
  };
}

Semantics lathe::emulator::tensorCoreInstructionFor(const std::string &text) {
  if (StringRef(text).starts_with("wgmma.mma_async"))
    return wgmma(text);
  if (StringRef(text).starts_with("ldmatrix"))
    return loadMatrices(StringRef(text).contains(".trans"));
  if (StringRef(text).starts_with("mma.sync"))
    return multiplyMatrices(elementIn(text), StringRef(text).contains("m16n8k16") ? 16 : 8);
  return nullptr;
}
