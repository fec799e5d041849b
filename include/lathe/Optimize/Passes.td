//===- Passes.td - Rewrites of the model-level dialect ---------*- tablegen -*-===//
//
// lathe -> lathe, on the model's functions. All keep the model's values; where a pass changes how they are rounded, its
// description says so.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_OPTIMIZE_PASSES
#define LATHE_OPTIMIZE_PASSES

include "mlir/Pass/PassBase.td"

def SimplifyGraph : Pass<"lathe-simplify-graph", "::mlir::ModuleOp"> {
  let summary = "Remove ops that change nothing, and write one thing in one way";
  let description = [{
    Algebraic identities that hold for every value, NaN, infinities and signed zeros included, and canonical forms of what
    frontends write in several ways:
      - `x * 1`, `x / 1`, `x + (-0)`, `x - 0`, integer `x + 0`; double negation; selects with one outcome;
      - slices of the whole, joins of one, pads by nothing, casts there and back through a wider type;
      - `pow(x, 2)` is `x * x`, `pow(x, 3)` is `x * x * x`, `pow(x, 0.5)` is `sqrt(x)` where x is not negative (a
        sum or mean of squares with a non-negative constant added, an abs, an exp), `1 / sqrt(x)` is `rsqrt(x)`;
      - `x / c` is `x * (1 / c)` where c is a power of two (exact).

    Before:
    ```mlir
    %one = lathe.constant dense<1.0> : tensor<4xf32>
    %two = lathe.constant dense<2.0> : tensor<4xf32>
    %0 = lathe.mul %x, %one : tensor<4xf32>
    %1 = lathe.pow %0, %two : tensor<4xf32>
    ```
    After:
    ```mlir
    %1 = lathe.mul %x, %x : tensor<4xf32>
    ```
  }];
}

def FoldConstants : Pass<"lathe-fold-constants", "::mlir::ModuleOp"> {
  let summary = "Compute at compile time what depends on constants alone";
  let description = [{
    Whole constant subgraphs are evaluated. A result becomes a constant when that is smaller than what it was computed from,
    or small, or at most 4 MiB and costly to compute again. Cheap tables of indices (a causal mask) and broadcasts stay as
    they are: the kernels that use them compute them in registers.

    Before:
    ```mlir
    %f = lathe.constant dense<[0.0, 1.0]> : tensor<2xf32>
    %0 = lathe.exp %f : tensor<2xf32>
    ```
    After:
    ```mlir
    %0 = lathe.constant dense<[1.0, 2.71828175]> : tensor<2xf32>
    ```
  }];
}

#endif // LATHE_OPTIMIZE_PASSES
