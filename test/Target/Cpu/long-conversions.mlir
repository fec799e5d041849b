// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s

// Floats become integers of 64 bits by way of 32 where a whole vector of them fits, lane by lane only where one does not.
// CHECK-LABEL: longs_avx2.body:
// CHECK: vcvttps2dq
// CHECK: vpmovsxdq
// CHECK: vcvttss2si
// CHECK: .size
func.func @f(%x: tensor<64xf32>) {
  %0 = kernel.generic loop @longs axes(i0 = "64") ins(%x : tensor<64xf32>) outs(tensor<64xi64>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %1 = kernel.load %in["i0"] : <f32> -> f32
    %2 = arith.fptosi %1 : f32 to i64
    kernel.store %2, %out["i0"] : i64, <i64>
  }
  return
}
