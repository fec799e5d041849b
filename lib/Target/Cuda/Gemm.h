//===- Gemm.h - Contractions on a GPU --------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_GEMM_H
#define LATHE_LIB_TARGET_CUDA_GEMM_H

#include "ContractShape.h"
#include "Generator.h"
#include "ProductEpilogue.h"

namespace lathe::cuda {

/// A contraction that a tiled generator can take: one float contraction, an epilogue of element ops and stores.
struct GemmProblem {
  kernel::ContractOp op;
  ContractShape shape;
  std::vector<kernel::StoreOp> stores;
  shape::Expr batch, m, n, k;
  mlir::Type lhsType, rhsType;
  EpilogueShape epilogue() const {
    return {shape.rowAxes, shape.columnAxes, kernel::ContractOp(op).getResult(), stores};
  }
};
std::optional<GemmProblem> gemmProblem(const lower::BodyInfo &info);

/// Each says false when it does not take the kernel, having emitted nothing.
llvm::Expected<bool> generateSimtGemm(Generator &g);
/// Tensor cores by warps (mma.sync): f16 from compute capability 7.5 on, bf16 from 8.0 on, operands of any layout.
llvm::Expected<bool> generateWarpGemm(Generator &g);
/// Tensor cores of compute capability 9.0, for half types (and f32 as tf32) whose tiles bulk copies can fetch.
llvm::Expected<bool> generateHopperGemm(Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_GEMM_H
