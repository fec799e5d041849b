//===- Passes.td - Passes of the kernel dialect -----------------*- tablegen -*-===//
#ifndef LATHE_KERNEL_PASSES
#define LATHE_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

def VerifyAccesses : Pass<"lathe-verify-accesses", "::mlir::ModuleOp"> {
  let summary = "Prove that every kernel keeps to K6, K7 and K8";
  let description = [{
    Each result is written once at each of its elements (K6), no access leaves its buffer (K7), and what a predicate hides is not
    used (K8); see `kernel.generic`. The proofs are made with the module's symbols and relations, for all sizes at once. What is
    not proven is an error of the kernel: fusion does not build such kernels, so one is a fault of the compiler.

    Half of a result is not written:
    ```mlir
    %0 = kernel.generic loop @half axes(i = "4") ins(%x : tensor<4xf32>) outs(tensor<8xf32>) {
    ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
      kernel.store %1, %out["i"] : f32, !kernel.ref<f32>
    }
    ```
    `error: 'kernel.generic' op K6: 'half': result 0 has 8 elements, its stores write [0, 4)`
  }];
}

#endif // LATHE_KERNEL_PASSES
