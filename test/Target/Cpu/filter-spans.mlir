// Of panels that have zeros alone outside of some rows, these are multiplied: the second panel has the rows from 8 on, 8 of 16.
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[PANEL:.*]], %c1_i64
// CHECK: %[[FROM:.*]] = arith.select %[[FIRST]], %c0_i64{{.*}}, %c8_i64
// CHECK: %[[ROWS:.*]] = arith.select %[[FIRST]], %c16_i64{{.*}}, %c8_i64
// CHECK: arith.muli %[[FROM]], %c32_i64
func.func @main(%x: tensor<16x42xf32>, %w: tensor<2x16x32xf32>) {
  %0 = kernel.generic reduction @conv axes(q = "2", o = "32", j = "40", t = "2", c = "8")
      ins(%x, %w : tensor<16x42xf32>, tensor<2x16x32xf32>) outs(tensor<32x2x40xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %1 = kernel.load %a["42*c + t + j"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %f["512*q + 16*o + 8*t + c"] {packed, spans = array<i64: 1, 0, 16, 1, 8, 8>} : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["t", "c"] : f32
    kernel.store %4, %r["80*o + 40*q + j"] : f32, !kernel.ref<f32>
  }
  return
}
