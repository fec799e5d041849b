// RUN: lathe-opt %s --lathe-pack-weights="panel=32" | lathe-kernel - --variant=avx512 --emit=asm | FileCheck %s
// RUN: lathe-opt %s --lathe-pack-weights="panel=32" | lathe-kernel - --variant=avx2 --emit=asm | FileCheck %s --check-prefix=SHORT

// One row reads the panels of its weights one after the other as they lie, which a processor looks ahead of: requests would only take the place
// of loads, where these are half a line or more. Several rows stay with a panel, and what they read next is asked for. With sixteen registers loads
// have few slots left, and what many tiles read is not requested a second time when a tile gets there. Of two tiles each requests a half of the next
// panel, a line for each row of its own one; of four a quarter, in the trips of four rows two.
// CHECK-LABEL: single_avx512.body:
// CHECK-NOT: prefetch
// CHECK: .size
// CHECK-LABEL: several_avx512.body:
// CHECK: prefetcht0
// CHECK: prefetcht1
// CHECK: .size
// CHECK-LABEL: two_avx512.body:
// CHECK-COUNT-4: prefetcht1
// CHECK-NOT: prefetcht1
// CHECK: .size
// CHECK-LABEL: many_avx512.body:
// CHECK-COUNT-2: prefetcht1
// CHECK-NOT: prefetcht1
// CHECK: .size
// SHORT-LABEL: single_avx2.body:
// SHORT-NOT: prefetch
// SHORT: .size
// SHORT-LABEL: several_avx2.body:
// SHORT: prefetcht0
// SHORT: prefetcht1
// SHORT: .size
// SHORT-LABEL: many_avx2.body:
// SHORT-NOT: prefetcht0
// SHORT: prefetcht1
// SHORT-NOT: prefetcht0
// SHORT: .size
func.func @main(%x: tensor<1x1024xf32>, %z: tensor<8x1024xf32>, %y: tensor<96x1024xf32>, %t: tensor<24x1024xf32>) {
  %w = lathe.constant dense<1.5> : tensor<1024x1024xf32>
  %0 = kernel.generic contraction @single axes(m = "1", n = "1024", k = "1024") ins(%x, %w : tensor<1x1024xf32>, tensor<1024x1024xf32>) outs(tensor<1x1024xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["1024*m + k"], %b["1024*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["1024*m + n"] : f32, !kernel.ref<f32>
  }
  %2 = kernel.generic contraction @several axes(m = "8", n = "1024", k = "1024") ins(%z, %w : tensor<8x1024xf32>, tensor<1024x1024xf32>) outs(tensor<8x1024xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %3 = kernel.contract %a["1024*m + k"], %b["1024*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %3, %o["1024*m + n"] : f32, !kernel.ref<f32>
  }
  %6 = kernel.generic contraction @two axes(m = "24", n = "1024", k = "1024") ins(%t, %w : tensor<24x1024xf32>, tensor<1024x1024xf32>) outs(tensor<24x1024xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %7 = kernel.contract %a["1024*m + k"], %b["1024*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %7, %o["1024*m + n"] : f32, !kernel.ref<f32>
  }
  %4 = kernel.generic contraction @many axes(m = "96", n = "1024", k = "1024") ins(%y, %w : tensor<96x1024xf32>, tensor<1024x1024xf32>) outs(tensor<96x1024xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %5 = kernel.contract %a["1024*m + k"], %b["1024*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %5, %o["1024*m + n"] : f32, !kernel.ref<f32>
  }
  return
}
