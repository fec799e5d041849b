// RUN: lathe-opt %s --lathe-form-kernels --split-input-file | FileCheck %s

// In kernels floats of 8 bits are their codes: bytes, which bitcasts and conversions say what they are. A product is a sum of products in f32.
func.func @main(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x32xf8E5M2>) -> tensor<8x32xf8E4M3FN> {
  %0 = lathe.contract %x, %w batch [] x [] over [1] x [0] : tensor<8x64xf8E4M3FN>, tensor<64x32xf8E5M2> -> tensor<8x32xf32>
  %1 = lathe.cast %0 : tensor<8x32xf32> -> tensor<8x32xf8E4M3FN>
  return %1 : tensor<8x32xf8E4M3FN>
}
// CHECK: kernel.generic reduction
// CHECK: ins(%arg0, %arg1 : tensor<8x64xf8E4M3FN>, tensor<64x32xf8E5M2>)
// CHECK: outs(tensor<8x32xf8E4M3FN>)
// CHECK: ^bb0(%[[X:.*]]: !kernel.ref<i8>, %[[W:.*]]: !kernel.ref<i8>, %[[R:.*]]: !kernel.ref<i8>):
// CHECK: %[[A:.*]] = kernel.load %[[X]]{{.*}} -> i8
// CHECK: %[[B:.*]] = kernel.load %[[W]]{{.*}} -> i8
// CHECK: %[[AN:.*]] = arith.bitcast %[[A]] : i8 to f8E4M3FN
// CHECK: %[[AH:.*]] = arith.extf %[[AN]] : f8E4M3FN to f16
// CHECK: %[[AW:.*]] = arith.extf %[[AH]] : f16 to f32
// CHECK: arith.bitcast %[[B]] : i8 to f8E5M2
// CHECK: %[[P:.*]] = arith.mulf
// CHECK: %[[S:.*]] = kernel.reduce add %[[P]] over {{.*}} : f32
// CHECK: %[[N:.*]] = arith.truncf %[[S]] : f32 to f8E4M3FN
// CHECK: %[[C:.*]] = arith.bitcast %[[N]] : f8E4M3FN to i8
// CHECK: kernel.store %[[C]], %[[R]]

// -----

// What moves them knows no more than bytes; a number is its code.
func.func @main(%x: tensor<4x6xf8E4M3FN>) -> tensor<7x5xf8E4M3FN> {
  %0 = lathe.constant dense<1.0> : tensor<f8E4M3FN>
  %1 = lathe.transpose %x [1, 0] : tensor<4x6xf8E4M3FN> -> tensor<6x4xf8E4M3FN>
  %2 = lathe.pad %1, %0 low ["1", "1"] high ["0", "0"] : tensor<6x4xf8E4M3FN>, tensor<f8E4M3FN> -> tensor<7x5xf8E4M3FN>
  return %2 : tensor<7x5xf8E4M3FN>
}
// CHECK: kernel.generic loop
// CHECK-NOT: bitcast
// CHECK: arith.constant 56 : i8
