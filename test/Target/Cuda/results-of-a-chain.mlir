// Results that are steps of one chain: what the steps share is read and computed once, and read before the first of them is stored.
// RUN: lathe-cuda %s --kernel=chain --sm=90 --emit=ptx | FileCheck %s
// REQUIRES: ptxas

// CHECK: .entry
// CHECK-COUNT-4: ld.global.v4.f32
// CHECK-NOT: ld.global
// CHECK-COUNT-3: st.global.v4.f32
// CHECK-NOT: ld.global

!x = tensor<64x1024xf32>
!y = tensor<1024xf32>
func.func @f(%x: !x) -> (!y, !y, !y) {
  %0:3 = kernel.generic loop @chain axes(i = "1024") ins(%x : !x) outs(!y, !y, !y) {
  ^bb0(%a: !kernel.ref<f32>, %o0: !kernel.ref<f32>, %o1: !kernel.ref<f32>, %o2: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %a["i + 1024"] : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.load %a["i + 2048"] : !kernel.ref<f32> -> f32
    %5 = arith.mulf %3, %4 : f32
    %6 = kernel.load %a["i + 3072"] : !kernel.ref<f32> -> f32
    %7 = arith.mulf %5, %6 : f32
    kernel.store %3, %o0["i"] : f32, !kernel.ref<f32>
    kernel.store %5, %o1["i"] : f32, !kernel.ref<f32>
    kernel.store %7, %o2["i"] : f32, !kernel.ref<f32>
  }
  return %0#0, %0#1, %0#2 : !y, !y, !y
}
