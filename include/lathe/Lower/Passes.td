//===- Passes.td - Rewrites of kernels ------------------------*- tablegen -*-===//
#ifndef LATHE_LOWER_PASSES
#define LATHE_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def CollapseAxes : Pass<"lathe-collapse-axes"> {
  let summary = "Merge axes of kernels that are stepped through as one";
  let description = [{
    In kernels of class loop and reduction: an outer axis `a` and an inner axis `b` become one where every offset and index
    mentions neither, or both in the ratio extent(b) to 1, and every reduction takes neither or both. Axes of extent 1 are
    dropped. Fewer and longer axes vectorise better.

    Before:
    ```mlir
    kernel.generic loop @copy axes(b = "batch", d = "768") ... { kernel.load %x["768*b + d"] ... }
    ```
    After:
    ```mlir
    kernel.generic loop @copy axes(b = "768*batch") ... { kernel.load %x["b"] ... }
    ```
  }];
  let options = [Option<"products", "products", "bool", "false",
                        "In contractions too, where their operands are as the model has them; axes of extent 1 stay">];
}

#endif // LATHE_LOWER_PASSES
