// REQUIRES: ptxas
// RUN: lathe-cuda %s --emit=ptx --sm=90 | FileCheck %s

// Two columns a thread, each with an index of its own that is divided. The indices are small, and LLVM would narrow their vector to two
// of 16 bits; ptxas 13.0 loses the constant of a packed addition on sm_90, so integers are computed one by one.
// CHECK: .visible .entry
// CHECK-NOT: s16x2
func.func @main(%x: tensor<9x8xf32>, %w: tensor<2x2xf32>) -> tensor<9x14xf32> {
  %0 = kernel.generic reduction @stuffed axes(i = "9", j = "14", k = "2", l = "2") ins(%x, %w : tensor<9x8xf32>, tensor<2x2xf32>) outs(tensor<9x14xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %filter: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %row = kernel.index "i + 2*k"
    %rows = arith.constant 9 : i64
    %below = arith.cmpi slt, %row, %rows : i64
    %rest = kernel.index "mod(j + l, 2)"
    %one = arith.constant 1 : i64
    %even = arith.cmpi slt, %rest, %one : i64
    %p = arith.andi %below, %even : i1
    %zero = arith.constant 0.0 : f32
    %v = kernel.load %in["floordiv(j + l, 2) + 8*i + 16*k"] if %p else %zero : !kernel.ref<f32> else f32 -> f32
    %f = kernel.load %filter["2*k + l"] : !kernel.ref<f32> -> f32
    %m = arith.mulf %v, %f : f32
    %s = kernel.reduce add %m over ["k", "l"] : f32
    kernel.store %s, %out["14*i + j"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<9x14xf32>
}
