// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s

// A row times codes of 4 bits: each of a word's two lines is asked for once, 2 KB ahead, and a vector of codes takes a shift, a choice and a multiply-add.
// CHECK-LABEL: codes_avx512.body:
// CHECK: prefetcht0
// CHECK-NEXT: prefetcht0
// CHECK-NOT: prefetch
// CHECK: vperm{{d|ps}}
// CHECK: vpsrad $4
// CHECK: vfmadd
// CHECK: .size
func.func @main(%x: tensor<1x256xf32>, %w: tensor<2x1x32x1x32xi32>) {
  %0 = kernel.generic reduction @codes axes(i0 = "2", i3 = "32", i1 = "32", i2 = "8") ins(%x, %w : tensor<1x256xf32>, tensor<2x1x32x1x32xi32>) outs(tensor<1x2x32xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<i32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["8*i1 + i2"] : <f32> -> f32
    %2 = kernel.load %b["1024*i0 + 32*i1 + i3"] : <i32> -> i32
    %3 = kernel.index "i2"
    %4 = arith.trunci %3 : i64 to i32
    %c4 = arith.constant 4 : i32
    %5 = arith.muli %4, %c4 : i32
    %6 = arith.shrsi %2, %5 : i32
    %c15 = arith.constant 15 : i32
    %7 = arith.andi %6, %c15 : i32
    %8 = arith.sitofp %7 : i32 to f32
    %c8 = arith.constant 8.0 : f32
    %9 = arith.subf %8, %c8 : f32
    %10 = arith.mulf %1, %9 : f32
    %11 = kernel.reduce add %10 over ["i1", "i2"] : f32
    kernel.store %11, %o["32*i0 + i3"] : f32, !kernel.ref<f32>
  }
  return
}
