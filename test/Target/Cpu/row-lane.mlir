// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// Numbers of each row are stored for many rows, but the rows are read a thousand times as often: lanes run along the row that is read.
// CHECK-LABEL: func.func private @lathe_k0_sums_avx512.body(
// CHECK-NOT: gather
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: gather
// CHECK-LABEL: func.func @lathe_k0_sums_avx512(
// A number for all elements and a product of it for each of a few: the elements are read as vectors.
// CHECK-LABEL: func.func private @lathe_k1_largest_avx512.body(
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-LABEL: func.func @lathe_k1_largest_avx512(
func.func @f(%a0: tensor<?xf32>, %a1: tensor<?xf32>) {
  %r0:3 = kernel.generic reduction @sums axes(i = "789", j = "1000") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>, %out1: !kernel.ref<f32>, %out2: !kernel.ref<f32>):
    %x = kernel.load %in0["1000*i + j"] : <f32> -> f32
    %s = kernel.reduce add %x over ["j"] : f32
    %m = kernel.reduce max %x over ["j"] : f32
    %d = arith.divf %s, %m : f32
    kernel.store %s, %out0["i"] : f32, <f32>
    kernel.store %m, %out1["i"] : f32, <f32>
    kernel.store %d, %out2["i"] : f32, <f32>
  }
  %r1:2 = kernel.generic reduction @largest axes(k = "4", i = "184", j = "64") ins(%a0, %a1 : tensor<?xf32>, tensor<?xf32>) outs(tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %in1: !kernel.ref<f32>, %out0: !kernel.ref<f32>, %out1: !kernel.ref<f32>):
    %x = kernel.load %in0["64*i + j"] : <f32> -> f32
    %m = kernel.reduce max %x over ["i", "j"] : f32
    %f = kernel.load %in1["k"] : <f32> -> f32
    %y = arith.mulf %m, %f : f32
    kernel.store %y, %out0["k"] : f32, <f32>
    kernel.store %m, %out1["0"] : f32, <f32>
  }
  return
}
