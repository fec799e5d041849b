//===- EmulatedTensorCore.cpp - Matrix instructions on the CPU -------------===//

#include "Emulator.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <vector>

using namespace lathe::emulator;
using llvm::StringRef;

extern uint64_t emulatedSharedBase; ///< of the block's shared memory

namespace {
enum class Element { BFloat, Half, TFloat, Signed, Unsigned, E4M3, E5M2 };
} // namespace

/// By a table: without instructions for it a conversion is a call.
static const float *halves() {
  static const std::vector<float> numbers = [] {
    std::vector<float> all(1 << 16);
    for (unsigned bits = 0; bits < all.size(); ++bits) {
      uint16_t code = uint16_t(bits);
      _Float16 f;
      memcpy(&f, &code, 2);
      all[bits] = float(f);
    }
    return all;
  }();
  return numbers.data();
}

static bool isInteger(Element e) { return e == Element::Signed || e == Element::Unsigned; }
static bool isFloat8(Element e) { return e == Element::E4M3 || e == Element::E5M2; }
static unsigned bytesOf(Element e) { return e == Element::TFloat ? 4 : isInteger(e) || isFloat8(e) ? 1 : 2; }

/// An element's bits, as its type has them.
template <typename Bits> static Bits bitsAt(const char *at) {
  Bits bits;
  memcpy(&bits, at, sizeof bits);
  return bits;
}

/// Elements from `at(0)`, `at(1)` and so on: what their type says is asked once for all of them.
template <typename At> static void readElements(Element e, unsigned count, float *out, At at) {
  auto each = [&](auto number) {
    for (unsigned k = 0; k < count; ++k)
      out[k] = number(at(k));
  };
  switch (e) {
  case Element::BFloat:
    return each([](const char *p) { return asFloat(uint32_t(bitsAt<uint16_t>(p)) << 16); });
  case Element::Half:
    return each([numbers = halves()](const char *p) { return numbers[bitsAt<uint16_t>(p)]; });
  case Element::TFloat:
    return each([](const char *p) { return asFloat(bitsAt<uint32_t>(p) & 0xffffe000u); });
  case Element::Signed:
    return each([](const char *p) { return float(bitsAt<int8_t>(p)); });
  case Element::Unsigned:
    return each([](const char *p) { return float(bitsAt<uint8_t>(p)); });
  case Element::E4M3:
  case Element::E5M2:
    return each([numbers = numbersOf(e == Element::E4M3 ? Float8::E4M3 : Float8::E5M2).data()](const char *p) { return numbers[bitsAt<uint8_t>(p)]; });
  }
}

static float readElement(Element e, const char *at) {
  float number;
  readElements(e, 1, &number, [&](unsigned) { return at; });
  return number;
}

static Element elementIn(StringRef text) {
  return text.contains("bf16") ? Element::BFloat : text.contains("tf32") ? Element::TFloat : Element::Half;
}

/// Of both operands: those of bytes may differ (".s32.s8.u8", ".f32.e4m3.e5m2").
static std::pair<Element, Element> elementsIn(StringRef text) {
  if (size_t at = std::min(text.find(".e4m3"), text.find(".e5m2")); at != StringRef::npos) {
    auto format = [](StringRef type) { return type.starts_with(".e4m3") ? Element::E4M3 : Element::E5M2; };
    return {format(text.substr(at)), format(text.substr(at + 5))};
  }
  auto [head, types] = text.split(".s32");
  if (types.empty())
    return {elementIn(text), elementIn(text)};
  auto element = [](StringRef type) { return type.starts_with(".u8") ? Element::Unsigned : Element::Signed; };
  return {element(types), element(types.drop_front(3))};
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// Elements (line, 0 .. depth) of a tile that a descriptor speaks of, in the 128-byte swizzle.
static void readLine(uint64_t descriptor, Element e, bool byColumns, unsigned line, unsigned depth, float *out) {
  uint64_t start = (descriptor & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4, stride = (descriptor >> 32 & 0x3fff) << 4;
  // A descriptor holds the low 18 bits of an address; the rest is the same for all of a block's shared memory.
  uint64_t base = emulatedSharedBase & ~uint64_t(0x3ffff);
  unsigned bytes = bytesOf(e);
  readElements(e, depth, out, [=](unsigned k) {
    uint64_t at = byColumns ? start + line / 64 * leading + k / 8 * stride + k % 8 * 128 + line % 64 * 2
                            : start + line / 8 * stride + line % 8 * 128 + k * bytes;
    return reinterpret_cast<const char *>(base + (at ^ (at >> 7 & 7) << 4));
  });
}

/// A sum (its bits) and the products of two lines, one after the other.
static uint64_t multiplyLines(bool integers, const float *x, const float *y, unsigned depth, uint64_t sum) {
  if (!integers) {
    float f = asFloat(sum);
    for (unsigned k = 0; k < depth; ++k)
      f += x[k] * y[k];
    return fromFloat(f);
  }
  uint32_t all = uint32_t(sum);
  for (unsigned k = 0; k < depth; ++k)
    all += uint32_t(int32_t(x[k]) * int32_t(y[k]));
  return all;
}

static Semantics wgmma(StringRef text) {
  unsigned columns = 0;
  text.split("m64n").second.split('k').first.getAsInteger(10, columns);
  auto [e, rightElement] = elementsIn(text);
  bool accumulate = false, byColumns = false, leftTurned = false;
  StringRef tail = text.rsplit('$').second.split(',').second; // " 1, 1, 1, 0, 0;"
  llvm::SmallVector<StringRef> flags;
  tail.rtrim("; ").split(flags, ',');
  accumulate = flags[0].trim() == "1";
  bool inRegisters = text.count('{') > 1;
  bool half = bytesOf(e) == 2;
  if (half)
    byColumns = flags.back().trim() == "1";
  if (half && !inRegisters)
    leftTurned = flags[flags.size() - 2].trim() == "1";
  unsigned depth = 32 / bytesOf(e), sums = columns / 2;
  return [=, e = e, rightElement = rightElement](const uint64_t *a, uint64_t *r) {
    unsigned lane = block->current->id % 32, warp = block->current->id / 32 % 4;
    const uint64_t *operands = a + (accumulate ? sums : 0);
    uint64_t right = operands[inRegisters ? 4 : 1];
    float left[2][32];
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
        readLine(operands[0], e, leftTurned, 16 * warp + lane / 4 + 8 * h, depth, left[h]);
    }
    for (unsigned c = 0; c < sums / 2; ++c) { // a column, and its sums for two lines
      float line[32];
      readLine(right, rightElement, byColumns, c / 2 * 8 + lane % 4 * 2 + c % 2, depth, line);
      for (unsigned h = 0; h < 2; ++h) {
        unsigned i = c / 2 * 4 + 2 * h + c % 2;
        r[i] = multiplyLines(isInteger(e), left[h], line, depth, accumulate ? a[i] : 0);
      }
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
    float lines[2][16], columns[2][16];
    for (unsigned h = 0; h < 2; ++h)
      for (unsigned k = 0; k < depth; ++k) {
        lines[h][k] = element(lane / 4, h + k / 8 * 2, k);
        columns[h][k] = element(lane % 4 * 2 + h, left + k / 8, k);
      }
    for (unsigned i = 0; i < 4; ++i)
      r[i] = multiplyLines(/*integers=*/false, lines[i / 2], columns[i % 2], depth, a[sums + i]);
  };
}

/// Bytes: four of the depth in a word. m16n8k32 has a word of the left operand for each 8 rows and each half of the depth, m8n8k16 one.
static Semantics multiplyBytes(StringRef text) {
  auto [left, right] = elementsIn(text.split(' ').first);
  unsigned rows = text.contains("m16n8k32") ? 2 : 1, halves = rows;
  return [=, left = left, right = right](const uint64_t *a, uint64_t *r) {
    unsigned ofLeft = rows * halves, sums = ofLeft + halves;
    const Meeting::Words &all = block->meetWarp("mma of warp", llvm::ArrayRef(a, sums));
    unsigned lane = block->current->id % 32;
    auto element = [&](Element e, unsigned line, unsigned word, unsigned k) {
      char byte = char(all[line * 4 + k % 16 / 4][word] >> (8 * (k % 4)));
      return readElement(e, &byte);
    };
    float lines[2][32], columns[2][32];
    for (unsigned k = 0; k < 16 * halves; ++k) {
      for (unsigned h = 0; h < rows; ++h)
        lines[h][k] = element(left, lane / 4, h + k / 16 * rows, k);
      for (unsigned c = 0; c < 2; ++c)
        columns[c][k] = element(right, lane % 4 * 2 + c, ofLeft + k / 16, k);
    }
    for (unsigned i = 0; i < 2 * rows; ++i)
      r[i] = multiplyLines(isInteger(left), lines[i / 2], columns[i % 2], 16 * halves, a[sums + i]);
  };
}

/// Four products of bytes of two words, on top of a third.
static Semantics dotBytes(StringRef text) {
  bool left = text.starts_with("dp4a.u32"), right = text.split(' ').first.ends_with(".u32");
  auto at = [](uint64_t word, unsigned i, bool isUnsigned) { return isUnsigned ? int(uint8_t(word >> 8 * i)) : int(int8_t(word >> 8 * i)); };
  return [=](const uint64_t *a, uint64_t *r) {
    uint32_t sum = uint32_t(a[2]);
    for (unsigned i = 0; i < 4; ++i)
      sum += uint32_t(at(a[0], i, left) * at(a[1], i, right));
    *r = sum;
  };
}

static void pickBytes(const uint64_t *a, uint64_t *r) {
  uint64_t bytes = (a[0] & 0xffffffff) | a[1] << 32;
  *r = 0;
  for (unsigned i = 0; i < 4; ++i)
    *r |= (bytes >> (8 * (a[2] >> (4 * i) & 7)) & 0xff) << (8 * i);
}

/// Two floats rounded to a half type, the first one into the upper half of a word.
static Semantics roundPair(bool isBFloat) {
  return [isBFloat](const uint64_t *a, uint64_t *r) {
    auto round = [&](uint64_t bits) {
      if (!isBFloat) {
        _Float16 half = _Float16(asFloat(bits));
        uint16_t out;
        memcpy(&out, &half, 2);
        return uint64_t(out);
      }
      uint32_t word = uint32_t(bits);
      bool isNan = (word & 0x7fffffff) > 0x7f800000;
      return uint64_t(isNan ? 0x7fff : (word + 0x7fff + (word >> 16 & 1)) >> 16);
    };
    *r = round(a[0]) << 16 | round(a[1]);
  };
}

Semantics lathe::emulator::tensorCoreInstructionFor(const std::string &text) {
  if (StringRef(text).starts_with("wgmma.mma_async"))
    return wgmma(text);
  if (StringRef(text).starts_with("ldmatrix"))
    return loadMatrices(StringRef(text).contains(".trans"));
  if (StringRef(text).starts_with("dp4a"))
    return dotBytes(text);
  if (StringRef(text).starts_with("prmt"))
    return pickBytes;
  if (StringRef(text).starts_with("cvt.rn.bf16x2.f32") || StringRef(text).starts_with("cvt.rn.f16x2.f32"))
    return roundPair(StringRef(text).contains("bf16"));
  if (StringRef(text).starts_with("mma.sync") && bytesOf(elementsIn(StringRef(text).split(' ').first).first) == 1)
    return multiplyBytes(text);
  if (StringRef(text).starts_with("mma.sync"))
    return multiplyMatrices(elementIn(text), StringRef(text).contains("m16n8k16") ? 16 : 8);
  return nullptr;
}
