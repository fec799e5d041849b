//===- CodedWeights.h - Words of codes, and what blocks have ------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_CODEDWEIGHTS_H
#define LATHE_LIB_TARGET_CUDA_CODEDWEIGHTS_H

#include "CodedProblem.h"

namespace lathe::cuda {

/// What a lane reads of a panel: a word of each of four columns in one piece of 16 bytes. Four lanes have the words of a group, so that a warp
/// reads 512 bytes in one run; their scales and zero points are as wide.
class CodedWeights {
public:
  static constexpr unsigned lines = 4; ///< columns
  CodedWeights(const CodedProblem &p, KernelFrame &frame, Value lane);
  struct Panel {
    lower::BodyEmitter point;
    Value start; ///< of the lane's words of the first group (i64)
  };
  Panel at(Value panel); ///< i64
  /// The lane's words of a group (i32): a vector.
  Value words(const Panel &panel, Value group);
  /// Scales and zero points of the lane's columns in the block that a depth (i32) is in: vectors of f32; null: 1; 0.
  std::pair<Value, Value> blockAt(const Panel &panel, Value depth);
  Value ofColumns() const { return quad; } ///< which four columns (i32)
  Value ofDepth() const { return inQuad; } ///< which word of a group
  const std::string &error() const { return base.error(); }

private:
  const CodedProblem &p;
  KernelFrame &frame;
  DeviceBuilder &d;
  DeviceHooks hooks;
  lower::BodyEmitter base;
  Value quad, inQuad;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CODEDWEIGHTS_H
