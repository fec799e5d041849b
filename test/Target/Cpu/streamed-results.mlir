// Results of a short sum that are many times a core's cache are what its product waits for: tiles pass by all panels together, so that rows are written from end to end. The
// plan divides the bytes of the results by four second-level caches. A longer sum takes longer than that.
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s
!w = tensor<16x8192xf32>
!v = tensor<65x8192xf32>
!z = tensor<?x8192xf32>
lathe.symbol "m" range [1, -1]
func.func @f(%x: tensor<?x16xf32>, %w: !w, %y: tensor<?x65xf32>, %v: !v) -> (!z, !z) {
  // CHECK-LABEL: @{{.*}}shallow_avx512_plan(
  // CHECK: %[[RESULTS:[0-9]+]] = arith.muli %c32768_i64{{[_0-9]*}}, %{{[a-z0-9]+}}
  // CHECK: arith.muli %c4_i64{{[_0-9]*}}, %{{[a-z0-9]+}}
  // CHECK: arith.divui %[[RESULTS]], %{{[0-9]+}}
  // CHECK: return
  %0 = kernel.generic contraction @shallow axes(i = "m", j = "8192", k = "16") ins(%x, %w : tensor<?x16xf32>, !w) outs(!z) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["16*i + k"], %b["8192*k + j"] over ["k"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["8192*i + j"] : f32, <f32>
  }
  // CHECK-LABEL: @{{.*}}deep_avx512_plan(
  // CHECK-NOT: c32768_i64
  // CHECK: return
  %2 = kernel.generic contraction @deep axes(i = "m", j = "8192", k = "65") ins(%y, %v : tensor<?x65xf32>, !v) outs(!z) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["65*i + k"], %b["8192*k + j"] over ["k"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["8192*i + j"] : f32, <f32>
  }
  return %0, %2 : !z, !z
}
