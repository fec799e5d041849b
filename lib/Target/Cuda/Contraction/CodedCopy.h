//===- CodedCopy.h - Codes unpacked in front of a product ---------------------===//
//
// With many rows, groups of warps multiply what bulk copies bring (GemmHopper.cpp). A launch in front makes halves of the codes, computed in f32
// and rounded once, in the scratch memory: lines of a column's depths. As a trip through memory it is one for all rows.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_CODEDCOPY_H
#define LATHE_LIB_TARGET_CUDA_CODEDCOPY_H

#include "CodedWeights.h"

namespace lathe::cuda {

class CodedCopy : public EntryEmitter {
public:
  static constexpr unsigned threads = 256;
  CodedCopy(const CodedProblem &p, KernelFrame &frame) : EntryEmitter(frame), p(p), weights(p, frame, d.bitAnd(d.threadId(), 31)) {}
  void emit();
  const std::string &error() const { return weights.error(); }
  static int64_t bytesOf(const CodedProblem &p) { return p.panels * p.panelColumns * p.depth * 2; }
  static int64_t blocksOf(const CodedProblem &p) { return (p.panels * unitsOf(p) + warps - 1) / warps; }

private:
  static constexpr unsigned warps = threads / 32;
  static constexpr int64_t groupsOfWarp = 8; ///< of words, of one panel
  static int64_t unitsOf(const CodedProblem &p) { return (p.depth / p.groupDepth() + groupsOfWarp - 1) / groupsOfWarp; } ///< of a panel
  void unpack(Value panel, Value group, Value words, std::pair<Value, Value> block);
  Values halves(Value word, Value scale, Value offset);
  const CodedProblem &p;
  CodedWeights weights;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CODEDCOPY_H
