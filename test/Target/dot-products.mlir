// Products of which each batch leaves one element are sums; others stay.
// RUN: lathe-opt %s --lathe-dot-products | FileCheck %s

!v = tensor<1000000xf16>
!m = tensor<?x64xf32, #lathe.dims<"n", "64">>
!r = tensor<?xf32, #lathe.dims<"n">>

lathe.symbol "n" range [0, -1]

// Halves are summed in f32.
// CHECK: kernel.generic reduction @dot
// CHECK: %[[X:.*]] = kernel.load %{{.*}}["k"] : <f16> -> f16
// CHECK: %[[Y:.*]] = kernel.load %{{.*}}["k"] : <f16> -> f16
// CHECK: arith.extf %[[X]]
// CHECK: arith.extf %[[Y]]
// CHECK: kernel.reduce add %{{.*}} over ["k"] : f32
// CHECK: arith.truncf
func.func @one(%x: !v, %w: !v) -> tensor<f16> {
  %0 = kernel.generic contraction @dot axes(k = "1000000") ins(%x, %w : !v, !v) outs(tensor<f16>) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %o: !kernel.ref<f16>):
    %1 = kernel.contract %a["k"], %b["k"] over ["k"] : (!kernel.ref<f16>, !kernel.ref<f16>) -> f16
    kernel.store %1, %o["0"] : f16, <f16>
  }
  return %0 : tensor<f16>
}

// CHECK: kernel.generic reduction @batches
// CHECK: kernel.reduce add
func.func @batches(%x: !m, %w: !m) -> !r {
  %0 = kernel.generic contraction @batches axes(i = "n", k = "64") ins(%x, %w : !m, !m) outs(!r) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["64*i + k"], %b["64*i + k"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["i"] : f32, <f32>
  }
  return %0 : !r
}

// One row beside an open number of columns is a product.
// CHECK: kernel.generic contraction @rows
// CHECK: kernel.contract
func.func @rows(%x: !m, %w: tensor<64xf32>) -> !r {
  %0 = kernel.generic contraction @rows axes(i = "n", k = "64") ins(%x, %w : !m, tensor<64xf32>) outs(!r) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["64*i + k"], %b["k"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["i"] : f32, <f32>
  }
  return %0 : !r
}
