// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// The least and the greatest of all elements do not wait for one another: a loop reads each element once for both. What is summed next waits
// for them, and has a loop of its own.
// CHECK-LABEL: func.func private @lathe_k0_range_avx512.body(
// CHECK: scf.for %{{.*}} step %c1_i64
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.minimumf {{.*}} : vector<16xf32>
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: arith.subf {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
func.func @f(%a0: tensor<?xf32>) {
  %r0 = kernel.generic reduction @range axes(i = "4096") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["i"] : <f32> -> f32
    %low = kernel.reduce min %x over ["i"] : f32
    %high = kernel.reduce max %x over ["i"] : f32
    %middle = arith.addf %low, %high : f32
    %d = arith.subf %x, %middle : f32
    %s = kernel.reduce add %d over ["i"] : f32
    kernel.store %s, %out0["0"] : f32, <f32>
  }
  return
}
