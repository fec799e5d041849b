//===- Gemm.h - Contractions on a GPU --------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_GEMM_H
#define LATHE_LIB_TARGET_CUDA_GEMM_H

#include "ContractionShape.h"
#include "../Generator.h"
#include "ProductEpilogue.h"

namespace lathe::cuda {

/// An operand of a product: elements of a buffer at an offset, where a predicate holds (an image and its borders), or a value of
/// the body, computed where it is needed.
struct ProductOperand {
  Value ref;
  shape::Expr offset;
  Value value; ///< null: the elements lie at the offset
  mlir::Type type;
  Value predicate = {}; ///< of the body: elements are `fill` where it does not hold
  mlir::Type format = {}; ///< of bytes, what they are: i8, ui8, f8E4M3FN or f8E5M2
  int64_t fill = 0;     ///< of bytes; floats are 0
  bool isDirect() const { return !value && !predicate; }
};

/// A sum of products that a tiled generator can take: one contraction (or a convolution's sum over its window), an epilogue of
/// element ops and stores.
struct GemmProblem {
  ContractionShape shape;
  ProductOperand lhs, rhs;
  Value result; ///< of the sum
  std::vector<kernel::StoreOp> stores;
  shape::Expr batch, m, n, k;
  mlir::Type sumType() const { return result.getType(); } ///< f32 or f64, of integers i32
  bool multipliesBytes() const { return lhs.type.isInteger(8) && rhs.type.isInteger(8); }
  bool multipliesIntegers() const { return sumType().isInteger(32); }
  bool multipliesFloat8() const { return multipliesBytes() && !multipliesIntegers(); }
  /// How many tiles of so many rows and columns cover the results.
  shape::Expr tiles(int64_t rows, int64_t columns) const { return batch * shape::Expr::ceildiv(m, rows) * shape::Expr::ceildiv(n, columns); }
  EpilogueShape epilogue() const { return {shape.rowAxes, shape.columnAxes, result, stores}; }
  void countAxes();
};
std::optional<GemmProblem> gemmProblem(const lower::BodyInfo &info);

/// Words of a plan: which entry point runs, and how.
struct GemmLaunch {
  Value entry, grid, block, shared;
};
void setLaunch(PlanFunction &plan, const GemmLaunch &launch);
GemmLaunch chooseLaunch(DeviceBuilder &h, Value condition, const GemmLaunch &then, const GemmLaunch &otherwise);

/// Adds entry points for tiles of any layout: on tensor cores by warps (mma.sync; f16 and bytes from compute capability 7.5 on, bf16
/// from 8.0 on; floats of 8 bits as f16 where there is no product of them), else on the ordinary cores. They may take sizes to be what `known` says.
llvm::Expected<GemmLaunch> addTiledGemm(Generator &g, const GemmProblem &p, const lower::Divisibility &known);
llvm::Expected<GemmLaunch> addWarpGemm(Generator &g, const GemmProblem &p, const lower::Divisibility &known);
llvm::Expected<GemmLaunch> addSimtGemm(Generator &g, const GemmProblem &p, const lower::Divisibility &known);
bool takesWarpGemm(const Generator &g, const GemmProblem &p);

/// Each says false when it does not take the kernel, having emitted nothing.
llvm::Expected<bool> generateTiledGemm(Generator &g);
/// Tensor cores of compute capability 9.0, for half types (f32 as tf32, bytes) whose tiles bulk copies can fetch. Where sizes that
/// are open decide whether they can, there are entry points for when they cannot.
llvm::Expected<bool> generateHopperGemm(Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_GEMM_H
