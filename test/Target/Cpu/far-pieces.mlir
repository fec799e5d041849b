// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s

// Rows around an image have no places in it, and what is asked for there under an empty mask may lie on no page: a branch goes around it. Of a window's taps few lie
// outside: they are masked, without a branch each.
// CHECK-LABEL: framed_avx512.body:
// CHECK: {{[[:space:]](jb|jae)[[:space:]]}}
// CHECK-LABEL: largest_avx512.body:
// CHECK-NOT: {{[[:space:]](jb|jae|ja|jbe)[[:space:]]}}
// CHECK: vmovups {{.*}} {%k{{[1-7]}}} {z}
// CHECK-NOT: {{[[:space:]](jb|jae|ja|jbe)[[:space:]]}}
// CHECK-LABEL: largest_avx512_plan:
func.func @main(%x: tensor<8x28xf32>) {
  %0 = kernel.generic loop @framed axes(r = "10", i = "30") ins(%x : tensor<8x28xf32>) outs(tensor<10x30xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %zero = arith.constant 0 : i64
    %rows = arith.constant 8 : i64
    %end = arith.constant 28 : i64
    %fill = arith.constant 0.0 : f32
    %r = kernel.index "r - 1"
    %i = kernel.index "i - 1"
    %above = arith.cmpi sge, %r, %zero : i64
    %below = arith.cmpi slt, %r, %rows : i64
    %row = arith.andi %above, %below : i1
    %low = arith.cmpi sge, %i, %zero : i64
    %high = arith.cmpi slt, %i, %end : i64
    %column = arith.andi %low, %high : i1
    %p = arith.andi %row, %column : i1
    %v = kernel.load %a["28*r + i - 29"] if %p : <f32> -> f32
    %w = arith.select %p, %v, %fill : f32
    kernel.store %w, %o["30*r + i"] : f32, <f32>
  }
  %1 = kernel.generic loop @largest axes(r = "8", i = "28") ins(%x : tensor<8x28xf32>) outs(tensor<8x28xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %zero = arith.constant 0 : i64
    %rows = arith.constant 8 : i64
    %end = arith.constant 28 : i64
    %fill = arith.constant 0xFF800000 : f32
    %r = kernel.index "r - 1"
    %s = kernel.index "r + 1"
    %i = kernel.index "i - 1"
    %above = arith.cmpi sge, %r, %zero : i64
    %below = arith.cmpi slt, %s, %rows : i64
    %column = arith.cmpi sge, %i, %zero : i64
    %p = arith.andi %above, %column : i1
    %q = arith.andi %below, %column : i1
    %u = kernel.load %a["28*r + i - 29"] if %p : <f32> -> f32
    %v = kernel.load %a["28*r + i"] : <f32> -> f32
    %w = kernel.load %a["28*r + i + 27"] if %q : <f32> -> f32
    %us = arith.select %p, %u, %fill : f32
    %ws = arith.select %q, %w, %fill : f32
    %m = arith.maximumf %us, %v : f32
    %n = arith.maximumf %m, %ws : f32
    kernel.store %n, %o["28*r + i"] : f32, <f32>
  }
  return
}
