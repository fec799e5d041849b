// Running sums down a few columns: their vectors go down together, in one loop for each number of them. Where masks have registers the last takes what
// is left under one, otherwise it lies over the last columns, and what two vectors have gone through comes to the same results.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir | FileCheck %s --check-prefix=HALF

!x = tensor<40x333x21xf32, #lathe.dims<"40", "333", "21">>

// Two vectors carry their sums.
// CHECK-LABEL: func.func private @lathe_k0_down_avx512.body
// CHECK: scf.for {{.*}} -> (vector<16xf64>, vector<16xf64>)
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>)
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
// CHECK: scf.yield
// HALF-LABEL: func.func private @lathe_k0_down_avx2.body
// HALF: scf.for {{.*}} -> (vector<8xf64>, vector<8xf64>)
// HALF: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>)
// HALF-NOT: llvm.intr.masked
// HALF: scf.yield
func.func @down(%x: !x) -> !x {
  %0 = kernel.generic scan @down axes(h = "40", i = "333", j = "21") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["6993*h + 21*i + j"] : <f32> -> f32
    %2 = kernel.scan add %1 along "i" : f32
    kernel.store %2, %out["6993*h + 21*i + j"] : f32, <f32>
  }
  return %0 : !x
}
