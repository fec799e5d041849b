// RUN: lathe-opt %s --lathe-pack-weights=panel=32 | FileCheck %s

// A weight [N][K] (a linear layer's) becomes panels; a matrix that is an operand stays.
// CHECK-LABEL: @main
// CHECK: %[[W:.*]] = lathe.constant
// CHECK: %[[P:.*]] = kernel.pack %[[W]] {k = 16 : i64, kStride = 1 : i64, n = 40 : i64, nStride = 16 : i64, panel = 32 : i64} : tensor<40x16xf32> -> tensor<2x16x32xf32>
// CHECK: kernel.generic contraction @linear
// CHECK-SAME: ins(%{{.*}}, %[[P]] : tensor<8x16xf32>, tensor<2x16x32xf32>)
// CHECK: over ["k"] packed {n_panel = 32 : i64}
// CHECK: kernel.generic contraction @matmul
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<16x40xf32>)
// CHECK-NOT: packed
func.func @main(%x: tensor<8x16xf32>, %y: tensor<16x40xf32>) -> (tensor<8x40xf32>, tensor<8x40xf32>) {
  %w = lathe.constant dense_resource<w> : tensor<40x16xf32>
  %0 = kernel.generic contraction @linear axes(m = "8", n = "40", k = "16")
      ins(%x, %w : tensor<8x16xf32>, tensor<40x16xf32>) outs(tensor<8x40xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["16*m + k"], %b["k + 16*n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["40*m + n"] : f32, !kernel.ref<f32>
  }
  %2 = kernel.generic contraction @matmul axes(m = "8", n = "40", k = "16")
      ins(%x, %y : tensor<8x16xf32>, tensor<16x40xf32>) outs(tensor<8x40xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["16*m + k"], %b["40*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["40*m + n"] : f32, !kernel.ref<f32>
  }
  return %0, %2 : tensor<8x40xf32>, tensor<8x40xf32>
}

{-#
  dialect_resources: { builtin: { w: "0x0400000000000000" } }
#-}
