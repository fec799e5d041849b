// The lines of a window are the outermost points of the sum. A block of rows packs the lines that some of its rows have inside of the image, and a tile multiplies those
// that its own rows have: of 7 lines those from 3 - y on, and those before 12 - y, with y the last and the first line of the tile. Of 3 lines over 40 so few lie outside
// that no tile is asked.
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// CHECK-LABEL: func.func private @{{.*}}_long_avx512.body
// CHECK: %[[LOW:.*]] = arith.subi %c3_i64{{.*}}, %{{.*}}
// CHECK: %[[FROM:.*]] = arith.maxsi %[[LOW]], %c0_i64
// CHECK: %[[HIGH:.*]] = arith.subi %c12_i64{{.*}}, %{{.*}}
// CHECK: arith.minsi %{{.*}}, %c7_i64
// CHECK: arith.minsi %{{.*}}, %c7_i64
// CHECK: arith.minsi %{{.*}}, %c112_i64
// CHECK-LABEL: func.func private @{{.*}}_short_avx512.body
// CHECK-NOT: arith.minsi %{{.*}}, %c3_i64
func.func @main(%x: tensor<9x9x16xf32>, %w: tensor<1x112x32xf32>, %z: tensor<40x40x16xf32>, %u: tensor<1x48x32xf32>) {
  %0 = kernel.generic reduction @long axes(y = "9", x = "9", o = "32", i = "7", c = "16")
      ins(%x, %w : tensor<9x9x16xf32>, tensor<1x112x32xf32>) outs(tensor<9x9x32xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %zero = arith.constant 0.0 : f32
    %row = kernel.index "y + i - 3"
    %c0 = arith.constant 0 : i64
    %c9 = arith.constant 9 : i64
    %p0 = arith.cmpi sge, %row, %c0 : i64
    %p1 = arith.cmpi slt, %row, %c9 : i64
    %p = arith.andi %p0, %p1 : i1
    %1 = kernel.load %a["144*y + 144*i + 16*x + c - 432"] if %p else %zero : <f32> else f32 -> f32
    %2 = kernel.load %f["112*o + 16*i + c"] {packed} : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "c"] : f32
    kernel.store %4, %r["288*y + 32*x + o"] : f32, !kernel.ref<f32>
  }
  %9 = kernel.generic reduction @short axes(y = "40", x = "40", o = "32", i = "3", c = "16")
      ins(%z, %u : tensor<40x40x16xf32>, tensor<1x48x32xf32>) outs(tensor<40x40x32xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %zero = arith.constant 0.0 : f32
    %row = kernel.index "y + i - 1"
    %c0 = arith.constant 0 : i64
    %c40 = arith.constant 40 : i64
    %p0 = arith.cmpi sge, %row, %c0 : i64
    %p1 = arith.cmpi slt, %row, %c40 : i64
    %p = arith.andi %p0, %p1 : i1
    %1 = kernel.load %a["640*y + 640*i + 16*x + c - 640"] if %p else %zero : <f32> else f32 -> f32
    %2 = kernel.load %f["48*o + 16*i + c"] {packed} : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "c"] : f32
    kernel.store %4, %r["1280*y + 32*x + o"] : f32, !kernel.ref<f32>
  }
  return
}
