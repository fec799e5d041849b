// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=DISTANCE
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=TWICE
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
