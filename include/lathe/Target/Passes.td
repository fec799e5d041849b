//===- Passes.td - Target-specific passes on kernels ------------*- tablegen -*-===//
#ifndef LATHE_TARGET_PASSES
#define LATHE_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def PackWeights : Pass<"lathe-pack-weights", "::mlir::ModuleOp"> {
  let summary = "Constant second operands of contractions in the layout that micro-kernels read";
  let description = [{
    Where a contraction's second operand is a constant matrix with constant strides, it becomes a `kernel.pack` into panels of
    `panel` columns, and the contraction says so. The pack is evaluated when the artifact is written.

    Before:
    ```mlir
    %w = lathe.constant dense_resource<w> : tensor<768x3072xf32>
    ... kernel.contract %a["768*m + k"], %b["3072*k + n"] over ["k"]
    ```
    After:
    ```mlir
    %p = kernel.pack %w {k = 768, kStride = 3072, n = 3072, nStride = 1, panel = 32} : tensor<768x3072xf32> -> tensor<96x768x32xf32>
    ... kernel.contract %a["768*m + k"], %b["3072*k + n"] over ["k"] packed {n_panel = 32}
    ```
  }];
  let options = [Option<"panel", "panel", "int64_t", "32", "Columns of a panel">];
  let dependentDialects = ["::lathe::kernel::KernelDialect"];
}

#endif // LATHE_TARGET_PASSES
