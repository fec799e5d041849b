//===- FewLinesEmitter.h - Device code of products of few lines -------------===//
//
// What takes time is the wide operand's way from memory. Every thread reads it in pieces of 16 bytes, several in
// flight, and multiplies each with what all few lines have there. Where its elements lie side by side in depth, the
// warps of a block take parts of the depth of the same lines; where lines lie side by side, threads take neighbouring
// lines, warps and blocks parts of the depth. Few lines that would have to be gathered are turned by a launch of their
// own. Sums meet in shared memory and, between blocks, in a second launch, always in the same order. Bytes are multiplied
// four depths at a time, in words.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_FEWLINESEMITTER_H
#define LATHE_LIB_TARGET_CUDA_FEWLINESEMITTER_H

#include "FewLines.h"

namespace lathe::cuda {

class FewLinesEmitter : public EntryEmitter {
public:
  static constexpr unsigned threads = 256, warps = threads / 32;
  static constexpr int64_t scratchHeader = 16; ///< bytes in front of the sums: into how many parts the depth is cut
  /// `few`: lines that there are sums for.
  FewLinesEmitter(const FewLines &f, unsigned few, KernelFrame &frame)
      : EntryEmitter(frame), f(f), few(few), epilogue(f.p.epilogue(), frame, hooks, base) {}
  void emitByDepth();
  void emitByLines();
  /// The second launch: adds up the parts of the depth.
  void emitSum();
  /// The first launch, where the few lines lie side by side and the wide operand's depths: they come to the scratch
  /// memory as f32, or as the bytes that they are, with their depths side by side.
  void emitTurn();
  /// How many groups of a block's warps take lines of their own.
  static unsigned groupsOf(const FewLines &f, unsigned few) {
    unsigned groups = few <= mostForAllWarps ? 1 : 4;
    while (groups < warps && 32 * f.width * (warps / groups) > f.p.k.constant().value_or(INT64_MAX))
      groups *= 2; // warps past the end of a short depth would have nothing to do
    return groups;
  }
  static unsigned linesOfBlock(const FewLines &f, unsigned few) {
    return f.byDepth ? linesOfWarp * groupsOf(f, few) : 32 * f.width;
  }

private:
  static constexpr unsigned linesOfWarp = 4;     ///< whose pieces a warp has in flight
  static constexpr unsigned mostForAllWarps = 4; ///< few lines up to which all of a block's warps take the same lines
  struct Line {
    Value start;         ///< of the elements along the depth (i64)
    bool turned = false; ///< they lie in the scratch memory
  };
  Type sumType() const { return f.p.sumType(); }
  Type turnedType() { return f.p.multipliesBytes() ? f.few().type : d.f32Type(); }
  void prepare(Value block, unsigned perBlock);
  Line fewLineAt(Value m);
  Line lineOf(const ProductOperand &o, llvm::ArrayRef<unsigned> axes, Value index);
  Value read(const ProductOperand &o, const Line &line, Value depth, unsigned width, Type as);
  Value elements(const ProductOperand &o, const Line &line, Value depth, unsigned width);
  Value numbersOf(const ProductOperand &o, Value loaded);
  Value multiplyAdd(Value wide, Value few, Value sum);
  Value dotWords(Value wide, Value few, Value sum);
  Values multiplyWords(Value from, llvm::ArrayRef<Value> loaded, ValueRange sums);
  Values multiplyAt(llvm::ArrayRef<Value> depths, Value inside, ValueRange sums);
  Values multiplyLines(Value from, unsigned ahead, ValueRange sums);
  void meet(Value array, ValueRange sums, unsigned each, unsigned meeting);
  void finishAt(Value line, Value m, Value sum);
  void finishPart(Value line, Value m, Value sum);
  Value partialAt(Value part, Value m, Value line);

  const FewLines &f;
  unsigned few;
  ProductEpilogue epilogue;
  Value tid, lane, warp, lines, count, depth, batch, batches, first, parts, part;
  llvm::SmallVector<Line> wide, narrow;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_FEWLINESEMITTER_H
