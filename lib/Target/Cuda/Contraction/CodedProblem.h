//===- CodedProblem.h - Products with weights that are codes ----------------===//
#ifndef LATHE_LIB_TARGET_CUDA_CODEDPROBLEM_H
#define LATHE_LIB_TARGET_CUDA_CODEDPROBLEM_H

#include "Gemm.h"
#include "lathe/Lower/CodedProduct.h"

namespace lathe::cuda {

/// A product of floats and of (code - zero) * scale, as --lathe-blocked-weights makes it: words [panel][depth / codes of a word][32 columns].
struct CodedProblem {
  static constexpr int64_t panelColumns = 32;
  static constexpr int64_t wordsTogether = 4; ///< the depth is a whole number of groups of so many words

  lower::CodedProduct product;
  kernel::LoadOp words;
  unsigned bits;
  Value zero, scale; ///< of the body (f32), the same for a block of each column; null: 0; 1
  std::vector<unsigned> rowAxes, panelAxes, depthAxes; ///< outermost first; the depth's without that of a word's codes
  unsigned codeAxis, columnAxis;                       ///< of a word's codes, of a panel's columns
  shape::Expr rows;
  int64_t panels, depth, block;
  std::vector<kernel::StoreOp> stores;

  Type lhsType() const { return kernel::LoadOp(product.lhs).getType(); }
  int64_t perWord() const { return 32 / bits; }
  int64_t groupDepth() const { return wordsTogether * perWord(); }
  /// Codes are multiplied as (code - middle).
  int64_t middle() const { return int64_t(1) << (bits - 1); }
  /// Whether no kernel writes words, scales and zero points.
  bool areConstant(kernel::GenericOp kernel) const;
  /// Whether the zero point of every column is the middle.
  bool isCentered() const;
  /// What the first factor's offset is at the depth 0.
  shape::Expr lhsStart(const lower::BodyInfo &info) const;
  std::vector<unsigned> columnAxes() const;
  std::vector<unsigned> allDepthAxes() const;
  EpilogueShape epilogue() const { return {rowAxes, columnAxes(), kernel::ReduceOp(product.sum).getResult(), stores}; }
};
std::optional<CodedProblem> codedProblem(const lower::BodyInfo &info);

/// Tensor cores multiply the codes as they come from memory. False where it does not take the kernel.
llvm::Expected<bool> generateCodedGemm(Generator &g);

/// Groups of warps multiply what a launch in front has unpacked, where that is reckoned to take less time than what warps do. False where they
/// cannot; else the plan says which it is.
llvm::Expected<bool> addCodedGroups(Generator &g, const CodedProblem &p, const GemmLaunch &ofWarps, Value costOfWarps);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CODEDPROBLEM_H
