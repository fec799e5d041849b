// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefixes=CHECK,TABLE
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s

// A SiLU, x * (1 / (1 + exp(-x))), is a quotient of x; where vectors have look-ups its exponential is one of sixteen powers of two times a
// polynomial of three steps.
// CHECK-LABEL: silu_{{avx2|avx512}}.body:
// TABLE: vpermps
// TABLE: vscalefps
// CHECK: vdivps
// CHECK-NEXT: vmov{{[a-z]+}}
// CHECK: .size
func.func @f(%x: tensor<16xf32>) {
  %0 = kernel.generic loop @silu axes(i0 = "16") ins(%x : tensor<16xf32>) outs(tensor<16xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %one = arith.constant 1.0 : f32
    %1 = kernel.load %in["i0"] : <f32> -> f32
    %2 = arith.negf %1 : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %one, %3 : f32
    %5 = arith.divf %one, %4 : f32
    %6 = arith.mulf %1, %5 : f32
    kernel.store %6, %out["i0"] : f32, <f32>
  }
  return
}
