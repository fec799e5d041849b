// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s

// The taps of a depthwise convolution of many channels lie far apart: the filter is requested as a whole, in front of all rows. One of few channels
// stays in the first cache and is not.
// CHECK-LABEL: many_avx512.body:
// CHECK: prefetcht1
// CHECK: vfmadd
// CHECK-NOT: prefetch
// CHECK: .size
// CHECK-LABEL: few_avx512.body:
// CHECK-NOT: prefetch
// CHECK: .size
func.func @main(%x: tensor<7x7x1152xf32>, %w: tensor<5x5x1152xf32>, %z: tensor<7x7x64xf32>, %u: tensor<5x5x64xf32>) {
  %0 = kernel.generic reduction @many axes(y = "7", x = "7", c = "1152", i = "5", j = "5")
      ins(%x, %w : tensor<7x7x1152xf32>, tensor<5x5x1152xf32>) outs(tensor<7x7x1152xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %zero = arith.constant 0.0 : f32
    %row = kernel.index "y + i - 2"
    %column = kernel.index "x + j - 2"
    %c0 = arith.constant 0 : i64
    %c7 = arith.constant 7 : i64
    %p0 = arith.cmpi sge, %row, %c0 : i64
    %p1 = arith.cmpi slt, %row, %c7 : i64
    %p2 = arith.cmpi sge, %column, %c0 : i64
    %p3 = arith.cmpi slt, %column, %c7 : i64
    %p4 = arith.andi %p0, %p1 : i1
    %p5 = arith.andi %p2, %p3 : i1
    %p = arith.andi %p4, %p5 : i1
    %1 = kernel.load %a["8064*y + 8064*i + 1152*x + 1152*j + c - 18432"] if %p else %zero : <f32> else f32 -> f32
    %2 = kernel.load %f["5760*i + 1152*j + c"] : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "j"] : f32
    kernel.store %4, %o["8064*y + 1152*x + c"] : f32, !kernel.ref<f32>
  }
  %10 = kernel.generic reduction @few axes(y = "3", x = "3", c = "64", i = "5", j = "5")
      ins(%z, %u : tensor<7x7x64xf32>, tensor<5x5x64xf32>) outs(tensor<3x3x64xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["448*y + 448*i + 64*x + 64*j + c"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %f["320*i + 64*j + c"] : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "j"] : f32
    kernel.store %4, %o["192*y + 64*x + c"] : f32, !kernel.ref<f32>
  }
  return
}
