//===- CodedCopy.cpp - Codes unpacked in front of a product -------------------===//

#include "CodedCopy.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

/// Two floats rounded to a half type, by one instruction.
static Value roundedPair(DeviceBuilder &d, Value low, Value high, Type half) {
  std::string text = std::string("cvt.rn.") + (half.isBF16() ? "bf16x2" : "f16x2") + ".f32 $0, $1, $2;";
  return d.ptx(text, "=r,f,f", {high, low}, d.i32Type(), false)[0];
}

/// A word's weights as pairs of halves (i32). A code in the low bits of 2^23 is that number and the code.
Values CodedCopy::halves(Value word, Value scale, Value offset) {
  constexpr int64_t magic = 0x4b000000;
  Values out;
  Value before;
  for (unsigned c = 0; c < p.perWord(); ++c) {
    Value shifted = c ? d.shr(word, c * p.bits) : word;
    Value code = d.bitcast(d.bitOr(d.bitAnd(shifted, (1 << p.bits) - 1), d.i32(magic)), d.f32Type());
    Value weight = d.fma(d.subF(code, d.f32(0x1p23)), scale, offset);
    if (c % 2)
      out.push_back(roundedPair(d, before, weight, p.lhsType()));
    before = weight;
  }
  return out;
}

/// A group's halves. Four lanes have what lies side by side of a column. (code - zero) * scale is code * scale - zero * scale.
void CodedCopy::unpack(Value panel, Value group, Value words, std::pair<Value, Value> block) {
  constexpr unsigned lines = CodedWeights::lines;
  Type four = d.vector(lines, d.f32Type());
  Value scale = block.first ? block.first : d.real(four, 1);
  Value offset = block.second ? d.subF(d.zero(four), d.mulF(block.second, scale)) : d.zero(four);
  Value depth = d.wide(d.add(d.mul(group, p.groupDepth()), d.mul(weights.ofDepth(), p.perWord())));
  Value line = d.add(d.mul(panel, p.panelColumns), d.wide(d.mul(weights.ofColumns(), lines)));
  for (unsigned l = 0; l < lines; ++l) {
    Values made = halves(d.extract(words, l), d.extract(scale, l), d.extract(offset, l));
    Value out = d.zero(d.vector(made.size(), d.i32Type()));
    for (auto [n, v] : llvm::enumerate(made))
      out = d.insert(out, v, n);
    Value at = d.add(d.mul(d.add(line, l), p.depth), depth);
    d.store(out, d.at(frame.scratch(), at, p.lhsType()), 2 * p.perWord());
  }
}

/// Warps take so many groups of a panel each, whose words are on their way together; past the last one it again.
void CodedCopy::emit() {
  int64_t units = unitsOf(p), last = p.depth / p.groupDepth() - 1;
  Value unit = d.add(d.mul(d.wide(d.blockId()), warps), d.wide(d.warpUniform(d.shr(d.threadId(), 5))));
  d.when(d.less(unit, d.i64(p.panels * units)), [&] {
    Value panel = d.div(unit, units), first = d.narrow(d.mul(d.rem(unit, units), groupsOfWarp));
    CodedWeights::Panel at = weights.at(panel);
    Values groups, words;
    for (int64_t i = 0; i < groupsOfWarp; ++i) {
      groups.push_back(d.minU(d.add(first, i), d.i32(last)));
      words.push_back(weights.words(at, groups.back()));
    }
    for (auto [group, word] : llvm::zip(groups, words)) {
      Value depth = d.add(d.mul(group, p.groupDepth()), d.mul(weights.ofDepth(), p.perWord()));
      unpack(panel, group, word, weights.blockAt(at, depth));
    }
  });
}
