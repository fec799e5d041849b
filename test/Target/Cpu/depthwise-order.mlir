// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s

// Five lines of 7 pixels and the filter for 6 vectors of channels fit into the first cache: 12 parts of the channels go over the image one after the other, 7
// lines each, as the plan says. Of 56x56 pixels, which no second cache holds, a line has 9 parts of 128 channels for each of its seven
// tiles.
// CHECK: .quad 84
// CHECK: small_avx512_plan:
// CHECK: .quad 3528
// CHECK: large_avx512_plan:
func.func @main(%x: tensor<7x7x1152xf32>, %w: tensor<5x5x1152xf32>, %z: tensor<60x60x1152xf32>) {
  %0 = kernel.generic reduction @small axes(y = "7", x = "7", c = "1152", i = "5", j = "5")
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
  %10 = kernel.generic reduction @large axes(y = "56", x = "56", c = "1152", i = "5", j = "5")
      ins(%z, %w : tensor<60x60x1152xf32>, tensor<5x5x1152xf32>) outs(tensor<56x56x1152xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["69120*y + 69120*i + 1152*x + 1152*j + c"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %f["5760*i + 1152*j + c"] : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "j"] : f32
    kernel.store %4, %o["64512*y + 1152*x + c"] : f32, !kernel.ref<f32>
  }
  return
}
