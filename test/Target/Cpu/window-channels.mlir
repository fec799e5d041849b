// What windows read of 64 planes is packed 14 channels at a time, so many as half of the first-level cache holds for 9 taps and 32 columns, before the taps
// of the next ones. Of eight planes all are packed for a tap before the next tap.
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s
// CHECK-LABEL: func.func private @{{.*}}_many_avx512.body
// CHECK: scf.for %[[CHANNEL:[^ ]*]] = %c0_i64{{.*}} to %c64_i64{{.*}} step %c14_i64
// CHECK: %[[NEXT:.*]] = arith.addi %[[CHANNEL]], %c14_i64
// CHECK: %[[END:.*]] = arith.minsi %[[NEXT]], %c64_i64
// CHECK: scf.for %{{.*}} to %c3_i64
// CHECK: scf.for %{{.*}} to %c3_i64
// CHECK: scf.for %{{.*}} = %[[CHANNEL]] to %[[END]] step %c1_i64
// CHECK-LABEL: func.func private @{{.*}}_few_avx512.body
// CHECK-NOT: step %c14
// CHECK: scf.for %{{.*}} to %c3_i64
// CHECK: scf.for %{{.*}} to %c3_i64
// CHECK: scf.for %{{.*}} = %c0_i64{{.*}} to %c8_i64{{.*}} step %c1_i64
func.func @f(%x: tensor<64x40x40xf32>, %w: tensor<64x64x3x3xf32>, %y: tensor<8x40x40xf32>, %u: tensor<64x8x3x3xf32>) -> (tensor<64x40x40xf32>, tensor<64x40x40xf32>) {
  %0 = kernel.generic reduction @many axes(o = "64", y = "40", x = "40", c = "64", i = "3", j = "3") ins(%x, %w : tensor<64x40x40xf32>, tensor<64x64x3x3xf32>) outs(tensor<64x40x40xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %zero = arith.constant 0.0 : f32
    %row = kernel.index "y + 2*i - 2"
    %column = kernel.index "x + 2*j - 2"
    %c0 = arith.constant 0 : i64
    %c40 = arith.constant 40 : i64
    %p0 = arith.cmpi sge, %row, %c0 : i64
    %p1 = arith.cmpi slt, %row, %c40 : i64
    %p2 = arith.cmpi sge, %column, %c0 : i64
    %p3 = arith.cmpi slt, %column, %c40 : i64
    %p4 = arith.andi %p0, %p1 : i1
    %p5 = arith.andi %p2, %p3 : i1
    %p = arith.andi %p4, %p5 : i1
    %1 = kernel.load %a["1600*c + 40*y + 80*i + x + 2*j - 82"] if %p else %zero : <f32> else f32 -> f32
    %2 = kernel.load %f["576*o + 9*c + 3*i + j"] : <f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["c", "i", "j"] : f32
    kernel.store %4, %r["1600*o + 40*y + x"] : f32, <f32>
  }
  %9 = kernel.generic reduction @few axes(o = "64", y = "40", x = "40", c = "8", i = "3", j = "3") ins(%y, %u : tensor<8x40x40xf32>, tensor<64x8x3x3xf32>) outs(tensor<64x40x40xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %zero = arith.constant 0.0 : f32
    %row = kernel.index "y + 2*i - 2"
    %column = kernel.index "x + 2*j - 2"
    %c0 = arith.constant 0 : i64
    %c40 = arith.constant 40 : i64
    %p0 = arith.cmpi sge, %row, %c0 : i64
    %p1 = arith.cmpi slt, %row, %c40 : i64
    %p2 = arith.cmpi sge, %column, %c0 : i64
    %p3 = arith.cmpi slt, %column, %c40 : i64
    %p4 = arith.andi %p0, %p1 : i1
    %p5 = arith.andi %p2, %p3 : i1
    %p = arith.andi %p4, %p5 : i1
    %1 = kernel.load %a["1600*c + 40*y + 80*i + x + 2*j - 82"] if %p else %zero : <f32> else f32 -> f32
    %2 = kernel.load %f["72*o + 9*c + 3*i + j"] : <f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["c", "i", "j"] : f32
    kernel.store %4, %r["1600*o + 40*y + x"] : f32, <f32>
  }
  return %0, %9 : tensor<64x40x40xf32>, tensor<64x40x40xf32>
}
