//===- Passes.td - Passes that make kernels ---------------------*- tablegen -*-===//
#ifndef LATHE_FUSE_PASSES
#define LATHE_FUSE_PASSES

include "mlir/Pass/PassBase.td"

def GuardSizes : Pass<"lathe-guard-sizes", "::mlir::ModuleOp"> {
  let summary = "State what each op needs of its sizes, where a host program decides some of them";
  let description = [{
    Types are written with what follows from all relations, whenever those are checked. What an op needs (operands of one size, a
    slice inside its operand) and what does not follow from what the entry checks becomes a relation between the sizes that the op
    itself is written with, in the function that it is in. It is checked before the op runs.

    Before, where a relation says that 'k[]' is b:
    ```mlir
    %0 = lathe.slice %x starts ["0"] steps [1] : tensor<?xf32, #lathe.dims<"n">> -> tensor<?xf32, #lathe.dims<"b">>
    ```
    After, besides:
    ```mlir
    lathe.relation "b" "le" "n" says "Slice_y: b <= n"
    ```
  }];
}

def FormKernels : Pass<"lathe-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Group ops into kernels by their iteration domains";
  let description = [{
    Rewrites @main from lathe ops into `kernel.generic` ops, constants and, for results, reshapes. Groups are formed on
    symbolic iteration domains (lib/Fuse/Groups.h): what is provably one domain for all sizes is one kernel, so a dynamic model
    gets the kernels of a static one. The reason for each edge left unfused is kept in `unfused`.

    Before:
    ```mlir
    %0 = lathe.contract %x, %w batch [] x [] over [1] x [0] : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
    %1 = lathe.broadcast %bias : tensor<32xf32> -> tensor<8x32xf32>
    %2 = lathe.add %0, %1 : tensor<8x32xf32>
    ```
    After:
    ```mlir
    %0 = kernel.generic contraction @contract axes(i0 = "8", i1 = "32", i2 = "16") ins(%x, %w, %bias : ...) outs(tensor<8x32xf32>) {
    ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %c: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      %1 = kernel.contract %a["16*i0 + i2"], %b["i1 + 32*i2"] over ["i2"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
      %2 = kernel.load %c["i1"] : !kernel.ref<f32> -> f32
      %3 = arith.addf %1, %2 : f32
      kernel.store %3, %out["32*i0 + i1"] : f32, !kernel.ref<f32>
    }
    ```
  }];
  let options = [Option<"packsImages", "packs-images", "bool", "true",
                        "Compute what scales the channels that a convolution reads in its kernel">,
                 Option<"extendsRows", "extends-rows", "bool", "true",
                        "Compute what a few elements need of one long sum in the kernel of the sum">,
                 Option<"storesBothWays", "stores-both-ways", "bool", "true",
                        "Store what is kept in two orders in one kernel">];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // LATHE_FUSE_PASSES
