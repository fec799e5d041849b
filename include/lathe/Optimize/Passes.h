//===- Passes.h - Rewrites of the model-level dialect ----------------------===//
#ifndef LATHE_OPTIMIZE_PASSES_H
#define LATHE_OPTIMIZE_PASSES_H

#include "lathe/Dialect/Lathe/Lathe.h"
#include "mlir/Pass/Pass.h"

namespace lathe::opt {

#define GEN_PASS_DECL
#include "lathe/Optimize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lathe/Optimize/Passes.h.inc"

/// What targets want otherwise.
struct PipelineOptions {
  bool multipliesBytes = true;  ///< of quantised weights, those of bytes with scales for columns are multiplied as a matrix of bytes; convolutions of single channels multiply bytes
  bool wholeTransforms = false; ///< Fourier transforms that a kernel can hold stay one
  bool float8 = false;          ///< floats of 8 bits stay, and products of them are their own
};
/// The passes in the order in which the compiler runs them, with stock CSE and dead code elimination in between.
void buildOptimizePipeline(mlir::OpPassManager &pm, const PipelineOptions &options = {});
/// Registers `--lathe-optimize` for the pipeline above.
void registerOptimizePipeline();

} // namespace lathe::opt

#endif // LATHE_OPTIMIZE_PASSES_H
