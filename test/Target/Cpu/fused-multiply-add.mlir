// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=DISTANCE
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=TWICE
// RUN: lathe-kernel %s --variant=avx2 --emit=llvm | FileCheck %s --check-prefix=SMALLEST
// RUN: lathe-kernel %s --variant=baseline --emit=llvm | FileCheck %s --check-prefix=ROUNDED
// What a kernel rounds does not depend on how its code comes out: a product with one use, which is a sum, is part of it; a product
// that two uses see is rounded for both.

// DISTANCE-LABEL: distance_avx2.body:
// DISTANCE: vfmadd
// DISTANCE-NOT: vmul
// DISTANCE-LABEL: distance_avx2:
func.func @a(%x: tensor<1024xf32>, %y: tensor<1024xf32>) {
  %r = kernel.generic loop @distance axes(n = "1024") ins(%x, %y : tensor<1024xf32>, tensor<1024xf32>) outs(tensor<1024xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %a["n"] : <f32> -> f32
    %1 = kernel.load %b["n"] : <f32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %2, %1 : f32
    kernel.store %3, %out["n"] : f32, <f32>
  }
  return
}

// TWICE-LABEL: twice_avx2.body:
// TWICE-NOT: vfm{{add|sub}}
// TWICE: vmulps
// TWICE-NOT: vfm{{add|sub}}
// TWICE: vsubps
// TWICE: twice_avx2:
func.func @b(%x: tensor<1024xf32>, %y: tensor<1024xf32>) {
  %r = kernel.generic loop @twice axes(n = "1024") ins(%x, %y : tensor<1024xf32>, tensor<1024xf32>) outs(tensor<1024xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %a["n"] : <f32> -> f32
    %1 = kernel.load %b["n"] : <f32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.subf %2, %1 : f32
    %4 = arith.subf %2, %3 : f32
    kernel.store %4, %out["n"] : f32, <f32>
  }
  return
}

// A row's values are computed once to be stored and once for the smallest of them. Each is one instruction at both places, written
// down as such: what the code generator makes of a product and a sum in another block may differ, and then no element is equal to
// the smallest. Where the machine has no such instruction, both round the product.

// SMALLEST-LABEL: define {{.*}}smallest_avx2.body(
// SMALLEST-NOT: {{fmul|fadd}}
// SMALLEST: [[V:%.*]] = {{.*}}call <8 x float> @llvm.fma.v8f32
// SMALLEST-NOT: {{fmul|fadd}}
// SMALLEST: store <8 x float> [[V]]
// SMALLEST-NOT: {{fmul|fadd}}
// SMALLEST: define

// ROUNDED-LABEL: define {{.*}}smallest_baseline.body(
// ROUNDED-NOT: llvm.fma
// ROUNDED: fmul
// ROUNDED-NOT: llvm.fma
// ROUNDED: define
func.func @c(%x: tensor<16xf32>, %y: tensor<16xf32>) {
  %r:2 = kernel.generic reduction @smallest axes(n = "16") ins(%x, %y : tensor<16xf32>, tensor<16xf32>)
      outs(tensor<16xf32>, tensor<f32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %all: !kernel.ref<f32>, %least: !kernel.ref<f32>):
    %0 = kernel.load %a["n"] : <f32> -> f32
    %1 = kernel.load %b["n"] : <f32> -> f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %2, %1 : f32
    kernel.store %3, %all["n"] : f32, <f32>
    %4 = kernel.reduce min %3 over ["n"] : f32
    kernel.store %4, %least["0"] : f32, <f32>
  }
  return
}
