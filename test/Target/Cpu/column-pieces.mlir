// A vector of columns that reaches past the end of its run is packed, and stored, in pieces under masks; element by element where the machine has none.
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant avx2 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant baseline --emit=mlir | FileCheck %s --check-prefix=SINGLY

// CHECK-LABEL: func.func private @lathe_k0_shared_
// Of the first run that a vector meets the panel's other columns are zero, of the next ones they stay.
// CHECK: llvm.intr.masked.load
// CHECK: scf.for
// CHECK: llvm.intr.masked.load
// CHECK: %[[OLD:[0-9]+]] = llvm.load
// CHECK: arith.select %{{[0-9]+}}, %{{[0-9]+}}, %[[OLD]] : vector
// CHECK: llvm.intr.masked.store
// CHECK-LABEL: @lathe_k0_shared_{{[a-z0-9]+}}(
// SINGLY-NOT: masked
!x = tensor<?x?xf32, #lathe.dims<"m", "k">>
!w = tensor<?x?x?xf32, #lathe.dims<"b", "k", "n">>
!y = tensor<?x?x?xf32, #lathe.dims<"b", "m", "n">>
lathe.symbol "b" range [1, -1]
lathe.symbol "m" range [2, -1]
lathe.symbol "k" range [1, -1]
lathe.symbol "n" range [1, -1]
func.func @f(%x: !x, %w: !w) -> !y {
  %0 = kernel.generic contraction @shared axes(i = "b", j = "m", l = "n", p = "k") ins(%x, %w : !x, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %c: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["j*k + p"], %c["i*k*n + p*n + l"] over ["p"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["i*m*n + j*n + l"] : f32, <f32>
  }
  return %0 : !y
}
