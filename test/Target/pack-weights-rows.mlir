// RUN: lathe-opt %s --lathe-pack-weights=panel=0 | FileCheck %s
// Constants of bytes that are multiplied by bytes become [columns][depth], whichever way they lay; nothing else is packed.

// CHECK: %[[PACKED:.*]] = kernel.pack %{{.*}} {k = 64 : i64, kExtents = array<i64: 64>, kStride = 0 : i64, kStrides = array<i64: 48>, n = 48 : i64, nStride = 1 : i64, panel = 0 : i64} : tensor<64x48xi8> -> tensor<48x64xi8>
// CHECK: kernel.generic reduction @columns {{.*}} ins(%{{.*}}, %[[PACKED]] :
// CHECK: kernel.load %{{.*}}["{{k . 64.n|64.n . k}}"]
// CHECK: kernel.generic reduction @rows {{.*}} : tensor<8x64xi8>, tensor<48x64xi8>)
// CHECK: kernel.load %{{.*}}["{{k . 64.n|64.n . k}}"]
// CHECK: kernel.generic contraction @floats
// CHECK: kernel.contract %{{.*}}["64*m + k"], %{{.*}}["48*k + n"] over ["k"] :
func.func @main(%x: tensor<8x64xi8>, %f: tensor<8x64xf32>) -> (tensor<8x48xi32>, tensor<8x48xi32>, tensor<8x48xf32>) {
  %w = lathe.constant dense<3> : tensor<64x48xi8>
  %v = lathe.constant dense<3> : tensor<48x64xi8>
  %u = lathe.constant dense<3.0> : tensor<64x48xf32>
  %0 = kernel.generic reduction @columns axes(m = "8", n = "48", k = "64") ins(%x, %w : tensor<8x64xi8>, tensor<64x48xi8>) outs(tensor<8x48xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %p = kernel.load %a["64*m + k"] : !kernel.ref<i8> -> i8
    %q = kernel.load %b["48*k + n"] : !kernel.ref<i8> -> i8
    %pw = arith.extsi %p : i8 to i32
    %qw = arith.extsi %q : i8 to i32
    %r = arith.muli %pw, %qw : i32
    %s = kernel.reduce add %r over ["k"] : i32
    kernel.store %s, %o["48*m + n"] : i32, !kernel.ref<i32>
  }
  %1 = kernel.generic reduction @rows axes(m = "8", n = "48", k = "64") ins(%x, %v : tensor<8x64xi8>, tensor<48x64xi8>) outs(tensor<8x48xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %p = kernel.load %a["64*m + k"] : !kernel.ref<i8> -> i8
    %q = kernel.load %b["64*n + k"] : !kernel.ref<i8> -> i8
    %pw = arith.extsi %p : i8 to i32
    %qw = arith.extui %q : i8 to i32
    %r = arith.muli %pw, %qw : i32
    %s = kernel.reduce add %r over ["k"] : i32
    kernel.store %s, %o["48*m + n"] : i32, !kernel.ref<i32>
  }
  %2 = kernel.generic contraction @floats axes(m = "8", n = "48", k = "64") ins(%f, %u : tensor<8x64xf32>, tensor<64x48xf32>) outs(tensor<8x48xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %s = kernel.contract %a["64*m + k"], %b["48*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %s, %o["48*m + n"] : f32, !kernel.ref<f32>
  }
  return %0, %1, %2 : tensor<8x48xi32>, tensor<8x48xi32>, tensor<8x48xf32>
}
