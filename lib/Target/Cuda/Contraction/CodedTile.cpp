//===- CodedTile.cpp - Codes unpacked on their way into shared memory ---------===//

#include "CodedTile.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

CodedTile::CodedTile(const CodedProblem &p, KernelFrame &frame, Value thread, unsigned columns)
    : p(p), d(frame.d), weights(p, frame, d.bitAnd(thread, 31)), groups(groupsOf(p, columns) / warps), warp(d.shr(thread, 5)) {}

/// Of each group four words, and the scales of their columns and what is added: (code - zero) * scale is code * scale - zero * scale.
Values CodedTile::load(Value column, Value step) {
  constexpr unsigned lines = CodedWeights::lines;
  unsigned inStep = stepDepth / p.groupDepth();
  Values out;
  for (unsigned i = 0; i < groups; ++i) {
    Value unit = d.add(warp, i * warps);
    Value panel = d.minU(d.add(d.div(column, p.panelColumns), d.div(unit, inStep)), d.i32(p.panels - 1));
    Value group = d.minU(d.add(d.mul(step, inStep), d.rem(unit, inStep)), d.i32(p.depth / p.groupDepth() - 1));
    CodedWeights::Panel at = weights.at(d.wide(panel));
    out.push_back(weights.words(at, group));
    Value depth = d.add(d.mul(group, p.groupDepth()), d.mul(weights.ofDepth(), p.perWord()));
    auto [scale, zero] = weights.blockAt(at, depth);
    Type four = d.vector(lines, d.f32Type());
    scale = scale ? scale : d.real(four, 1);
    out.push_back(scale);
    out.push_back(zero ? d.subF(d.zero(four), d.mulF(zero, scale)) : d.zero(four));
  }
  return out;
}

/// Two floats rounded to a half type, by one instruction.
static Value roundedPair(DeviceBuilder &d, Value low, Value high, Type half) {
  std::string text = std::string("cvt.rn.") + (half.isBF16() ? "bf16x2" : "f16x2") + ".f32 $0, $1, $2;";
  return d.ptx(text, "=r,f,f", {high, low}, d.i32Type(), false)[0];
}

/// A word's weights as pairs of halves (i32). A code in the low bits of 2^23 is that number and the code.
Values CodedTile::halves(Value word, Value scale, Value offset) {
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

/// Eight neighbouring lanes have eight different pieces of 16 bytes: four words of a column, and those of one whose line is swizzled otherwise.
void CodedTile::store(ArrayRef<Value> loaded, Value tile) {
  constexpr unsigned lines = CodedWeights::lines;
  unsigned inStep = stepDepth / p.groupDepth(), bytes = 2 * p.perWord();
  for (unsigned i = 0; i < groups; ++i) {
    Value unit = d.add(warp, i * warps), word = d.add(d.mul(d.rem(unit, inStep), p.wordsTogether), weights.ofDepth());
    for (unsigned l = 0; l < lines; ++l) {
      Value line = d.add(d.add(d.mul(d.div(unit, inStep), p.panelColumns), d.mul(weights.ofColumns(), lines)), l);
      Values made = halves(d.extract(loaded[3 * i], l), d.extract(loaded[3 * i + 1], l), d.extract(loaded[3 * i + 2], l));
      Value out = d.zero(d.vector(made.size(), d.i32Type()));
      for (auto [n, v] : llvm::enumerate(made))
        out = d.insert(out, v, n);
      Value at = d.bitXor(d.mul(word, bytes), d.mul(d.bitAnd(line, 7), 16));
      Value address = d.add(d.add(tile, d.mul(line, 2 * stepDepth)), at);
      d.store(out, d.b.create<LLVM::IntToPtrOp>(d.loc, d.pointer(Shared), address), bytes);
    }
  }
}
