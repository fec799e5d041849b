//===- Passes.td - Rewrites of kernels ------------------------*- tablegen -*-===//
#ifndef LATHE_LOWER_PASSES
#define LATHE_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def CollapseAxes : Pass<"lathe-collapse-axes"> {
  let summary = "Merge axes of kernels that are stepped through as one";
  let description = [{
    In kernels of class loop and reduction: an outer axis `a` and an inner axis `b` become one where every offset and index
    mentions neither, or both in the ratio extent(b) to 1, and every reduction takes neither or both. Axes of extent 1 are
    dropped. Fewer and longer axes vectorise better. In kernels of class reduction, an axis that is only reduced and an axis of
    the results are one where their extents are equal, nothing is computed at a point of both, and the elements along each lie side by
    side: the reduction is a pass over the results' row then.

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

def SplitAxes : Pass<"lathe-split-axes"> {
  let summary = "Axes as the quotients and remainders that are taken of them";
  let description = [{
    In kernels of class loop and reduction: an axis whose index is divided by a divisor of its extent becomes two axes. Rows of
    fewer than 16 elements are not made. Axes that are stepped through as one then are merged.

    Before:
    ```mlir
    kernel.generic loop @tile axes(i0 = "500", i1 = "700") ... { kernel.load %x["100*mod(i0, 100) + mod(i1, 100)"] ... }
    ```
    After:
    ```mlir
    kernel.generic loop @tile axes(i2 = "5", i3 = "100", i4 = "7", i5 = "100") ... { kernel.load %x["100*i3 + i5"] ... }
    ```
  }];
}

#endif // LATHE_LOWER_PASSES
