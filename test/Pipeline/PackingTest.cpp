//===- PackingTest.cpp - Packed constants, element by element --------------===//

#include "Packing.h"
#include "lathe/Support/HalfFloats.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using lathe::pipeline::ElementCopy;
using lathe::pipeline::Packing;

/// What APFloat makes of a number's bits.
static uint64_t rounded(uint64_t bits, unsigned width, const llvm::fltSemantics &from, const llvm::fltSemantics &to) {
  APFloat v(from, APInt(width, bits));
  bool lossy;
  v.convert(to, APFloat::rmNearestTiesToEven, &lossy);
  return v.bitcastToAPInt().getZExtValue();
}

/// All exponents, with what decides about rounding: all upper halves, and lower ones about the ties.
TEST(HalfFloats, RoundLikeAPFloat) {
  for (uint32_t upper = 0; upper < 1 << 16; ++upper)
    for (uint32_t lower : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xf000u, 0xffffu}) {
      uint32_t bits = upper << 16 | lower;
      ASSERT_EQ(rounded(bits, 32, APFloat::IEEEsingle(), APFloat::IEEEhalf()), lathe::halfBits(bits)) << std::hex << bits;
      ASSERT_EQ(rounded(bits, 32, APFloat::IEEEsingle(), APFloat::BFloat()), lathe::bfloatBits(bits)) << std::hex << bits;
    }
}

TEST(ElementCopy, OfAllPairs) {
  MLIRContext context;
  Builder b(&context);
  std::mt19937_64 random(1);
  for (Type from : {Type(b.getF32Type()), Type(b.getF64Type()), Type(b.getF16Type()), Type(b.getBF16Type())})
    for (Type to : {Type(b.getF32Type()), Type(b.getF64Type()), Type(b.getF16Type()), Type(b.getBF16Type())})
      for (auto [inStep, outStep] : {std::pair<int64_t, int64_t>(1, 1), {3, 1}, {1, 5}, {2, 2}}) {
        ElementCopy copy(from, to);
        constexpr int64_t count = 100;
        std::vector<char> in(1 + count * inStep * copy.inBytes), out(1 + count * outStep * copy.outBytes);
        for (char &c : in)
          c = char(random());
        copy(in.data() + 1, inStep, out.data() + 1, outStep, count);
        for (int64_t i = 0; i < count; ++i) {
          uint64_t before = 0, after = 0;
          std::memcpy(&before, &in[1 + i * inStep * copy.inBytes], copy.inBytes);
          std::memcpy(&after, &out[1 + i * outStep * copy.outBytes], copy.outBytes);
          uint64_t expected = from == to ? before
                                         : rounded(before, copy.inBytes * 8, cast<FloatType>(from).getFloatSemantics(),
                                                   cast<FloatType>(to).getFloatSemantics());
          ASSERT_EQ(expected, after);
        }
      }
}

/// The place of every element, by the definition of kernel.pack.
static std::vector<uint16_t> packedOneByOne(const Packing &p, int64_t groupsOfRun) {
  int64_t panel = p.panel ? p.panel : 1, panels = (p.n + panel - 1) / panel, groups = p.k / p.run * groupsOfRun;
  std::vector<uint16_t> out(panels * panel * groups * p.group);
  for (int64_t column = 0; column < p.n; ++column)
    for (int64_t row = 0; row < p.k; ++row) {
      int64_t place = row / p.run * groupsOfRun + row % p.run / p.group;
      int64_t to = ((column / panel * groups + place) * panel + column % panel) * p.group + row % p.run % p.group;
      std::memcpy(&out[to], p.source.data() + 2 * (p.rows[row] + column * p.nStride), 2);
    }
  return out;
}

TEST(Packing, PutsEveryElementInItsPlace) {
  MLIRContext context;
  Type i16 = Builder(&context).getIntegerType(16);
  std::mt19937 random(1);
  auto pick = [&](int64_t low, int64_t high) { return low + int64_t(random() % (high - low + 1)); };
  for (int i = 0; i < 300; ++i) {
    int64_t run = pick(1, 40), k = run * pick(1, 20), n = pick(1, i % 10 ? 40 : 3000), panel = pick(0, 3) * 8;
    bool transposed = pick(0, 1);
    std::vector<uint16_t> numbers(k * n + 1);
    for (size_t x = 0; x < numbers.size(); ++x)
      numbers[x] = uint16_t(x * 40503);
    // At an odd address.
    ArrayRef<char> source(reinterpret_cast<const char *>(numbers.data()) + 1, 2 * k * n);
    Packing p{source, {i16, i16}, k, n, transposed ? k : 1, panel, std::vector<int64_t>(k)};
    for (int64_t row = 0; row < k; ++row)
      p.rows[row] = row * (transposed ? 1 : n);
    if (panel) {
      p.group = pick(0, 1) ? 4 : 1;
      p.run = run;
    } else {
      p.run = k;
    }
    std::vector<uint16_t> got;
    SmallVector<char, 0> scratch(100, 'x');
    for (uint64_t piece = 0; piece < p.pieces(); ++piece) {
      ArrayRef<char> bytes = p.piece(piece, scratch);
      got.insert(got.end(), bytes.size() / 2, 0);
      std::memcpy(got.data() + got.size() - bytes.size() / 2, bytes.data(), bytes.size());
    }
    ASSERT_EQ(packedOneByOne(p, (p.run + p.group - 1) / p.group), got) << "number " << i;
  }
}

TEST(Packing, TransformsFiltersSideBySideAsOneByOne) {
  MLIRContext context;
  Type f32 = Builder(&context).getF32Type();
  std::mt19937 random(1);
  for (std::array<int64_t, 2> tile : {std::array<int64_t, 2>{4, 4}, {2, 4}, {1, 4}, {2, 1}}) {
    lathe::kernel::Winograd high(tile[0]), wide(tile[1]);
    int64_t taps = (tile[0] > 1 ? 3 : 1) * (tile[1] > 1 ? 3 : 1), depth = 5, n = 21, panel = 16, places = high.places() * wide.places();
    std::vector<float> numbers(taps * depth * n);
    for (float &x : numbers)
      x = std::uniform_real_distribution<float>(-1, 1)(random);
    ArrayRef<char> source(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float));
    Packing p{source, {f32, f32}, taps * depth, n, taps * depth, panel, {}};
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t d = 0; d < depth; ++d)
        p.rows.push_back(d * taps + t);
    p.tile = tile;
    ASSERT_EQ(1u, p.pieces());
    SmallVector<char, 0> scratch;
    ArrayRef<char> bytes = p.piece(0, scratch);
    std::vector<float> got(bytes.size() / sizeof(float)), expected(2 * places * depth * panel);
    std::memcpy(got.data(), bytes.data(), bytes.size());
    for (int64_t c = 0; c < n; ++c)
      for (int64_t d = 0; d < depth; ++d) {
        double from[9], to[36];
        for (int64_t t = 0; t < taps; ++t)
          from[t] = numbers[(c * depth + d) * taps + t];
        lathe::kernel::transformFilter(high, wide, from, to);
        for (int64_t place = 0; place < places; ++place)
          expected[((c / panel * places + place) * depth + d) * panel + c % panel] = float(to[place]);
      }
    EXPECT_EQ(expected, got);
  }
}
