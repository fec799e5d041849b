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

/// The passes in the order in which the compiler runs them, with stock CSE and dead code elimination in between.
/// What becomes a product of bytes beside those of quantised matrices, for targets that are fast at it.
struct ByteProducts {
  bool convolutions = true; ///< between Dequantize and Quantize
  bool weights = true;      ///< quantised ones that floats are multiplied with
};
void buildOptimizePipeline(mlir::OpPassManager &pm, ByteProducts products = {});
/// Registers `--lathe-optimize` for the pipeline above.
void registerOptimizePipeline();

} // namespace lathe::opt

#endif // LATHE_OPTIMIZE_PASSES_H
