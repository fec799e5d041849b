// Rows that lie side by side, point after point: 192 points of 32 rows stay in the first-level cache. All tiles add up their part of the sum before the next part
// is read; no row is copied, and of the panel a part is packed. Shorter sums and rows that lie further apart have none.
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// CHECK-LABEL: func.func private @{{.*}}_long_avx512.body
// CHECK: scf.for %[[FIRST:.*]] = %c0_i64{{.*}} to %c3000_i64{{.*}} step %c192_i64
// CHECK: %[[LEFT:.*]] = arith.subi %c3000_i64{{.*}}, %[[FIRST]]
// CHECK: arith.minsi %[[LEFT]], %c192_i64
// CHECK: %[[LAST:.*]] = arith.cmpi sgt
// CHECK: arith.select %[[LAST]]
// CHECK-LABEL: func.func private @{{.*}}_apart_avx512.body
// CHECK-NOT: step %c192_i64
// CHECK-LABEL: func.func private @{{.*}}_short_avx512.body
// CHECK-NOT: step %c192_i64
func.func @f(%x: tensor<3000x32xf32>, %w: tensor<3000x48xf32>, %y: tensor<3000x128xf32>) {
  %0 = kernel.generic contraction @long axes(i = "32", j = "48", k = "3000") ins(%x, %w : tensor<3000x32xf32>, tensor<3000x48xf32>) outs(tensor<32x48xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["32*k + i"], %b["48*k + j"] over ["k"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["48*i + j"] : f32, <f32>
  }
  %9 = kernel.generic contraction @apart axes(i = "32", j = "48", k = "3000") ins(%y, %w : tensor<3000x128xf32>, tensor<3000x48xf32>) outs(tensor<32x48xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["128*k + i"], %b["48*k + j"] over ["k"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["48*i + j"] : f32, <f32>
  }
  %8 = kernel.generic contraction @short axes(i = "32", j = "48", k = "500") ins(%x, %w : tensor<3000x32xf32>, tensor<3000x48xf32>) outs(tensor<32x48xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["32*k + i"], %b["48*k + j"] over ["k"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["48*i + j"] : f32, <f32>
  }
  return
}
