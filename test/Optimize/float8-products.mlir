// RUN: lathe-opt %s --lathe-float8-products | FileCheck %s

// What lies in memory is multiplied; a scale of all and one for each column go behind the sum, and so does the type of the product.
// CHECK-LABEL: @scaled
// CHECK: %[[P:.*]] = lathe.contract %arg0, %arg1 batch [] x [] over [1] x [0] : tensor<8x64xf8E4M3FN>, tensor<64x32xf8E5M2> -> tensor<8x32xf32>
// CHECK: %[[A:.*]] = lathe.mul %[[P]], %{{.*}} : tensor<8x32xf32>
// CHECK: %[[B:.*]] = lathe.mul %[[A]], %{{.*}} : tensor<8x32xf32>
// CHECK: %[[R:.*]] = lathe.cast %[[B]] : tensor<8x32xf32> -> tensor<8x32xf16>
// CHECK: return %[[R]]
func.func @scaled(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x32xf8E5M2>, %s: tensor<f32>, %c: tensor<32xf32>) -> tensor<8x32xf16> {
  %0 = lathe.cast %x : tensor<8x64xf8E4M3FN> -> tensor<8x64xf32>
  %1 = lathe.broadcast %s : tensor<f32> -> tensor<8x64xf32>
  %2 = lathe.mul %0, %1 : tensor<8x64xf32>
  %3 = lathe.cast %2 : tensor<8x64xf32> -> tensor<8x64xf16>
  %4 = lathe.cast %w : tensor<64x32xf8E5M2> -> tensor<64x32xf32>
  %5 = lathe.broadcast %c : tensor<32xf32> -> tensor<64x32xf32>
  %6 = lathe.mul %5, %4 : tensor<64x32xf32>
  %7 = lathe.cast %6 : tensor<64x32xf32> -> tensor<64x32xf16>
  %8 = lathe.contract %3, %7 batch [] x [] over [1] x [0] : tensor<8x64xf16>, tensor<64x32xf16> -> tensor<8x32xf16>
  return %8 : tensor<8x32xf16>
}

// A zero point of 0, which ONNX allows, adds nothing.
// CHECK-LABEL: @zero_point
// CHECK: lathe.contract %{{.*}}, %{{.*}} : tensor<4x8xf8E4M3FN>, tensor<8x4xf8E4M3FN> -> tensor<4x4xf32>
func.func @zero_point(%x: tensor<4x8xf8E4M3FN>, %w: tensor<4x8xf8E4M3FN>) -> tensor<4x4xf32> {
  %z = lathe.constant dense<0.0> : tensor<f8E4M3FN>
  %0 = lathe.cast %x : tensor<4x8xf8E4M3FN> -> tensor<4x8xf32>
  %1 = lathe.broadcast %z : tensor<f8E4M3FN> -> tensor<4x8xf8E4M3FN>
  %2 = lathe.cast %1 : tensor<4x8xf8E4M3FN> -> tensor<4x8xf32>
  %3 = lathe.sub %0, %2 : tensor<4x8xf32>
  %4 = lathe.cast %w : tensor<4x8xf8E4M3FN> -> tensor<4x8xf32>
  %5 = lathe.transpose %4 [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %6 = lathe.contract %3, %5 batch [] x [] over [1] x [0] : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

// A scale for each filter.
// CHECK-LABEL: @window
// CHECK: %[[C:.*]] = lathe.conv %arg0, %arg1 {{.*}} : tensor<1x16x8x8xf8E4M3FN>, tensor<4x16x3x3xf8E4M3FN> -> tensor<1x4x8x8xf32>
// CHECK: lathe.mul %[[C]]
func.func @window(%x: tensor<1x16x8x8xf8E4M3FN>, %w: tensor<4x16x3x3xf8E4M3FN>, %s: tensor<4x1x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = lathe.cast %x : tensor<1x16x8x8xf8E4M3FN> -> tensor<1x16x8x8xf32>
  %1 = lathe.cast %w : tensor<4x16x3x3xf8E4M3FN> -> tensor<4x16x3x3xf32>
  %2 = lathe.broadcast %s : tensor<4x1x1x1xf32> -> tensor<4x16x3x3xf32>
  %3 = lathe.mul %1, %2 : tensor<4x16x3x3xf32>
  %4 = lathe.conv %0, %3 strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x8x8xf32>, tensor<4x16x3x3xf32> -> tensor<1x4x8x8xf32>
  return %4 : tensor<1x4x8x8xf32>
}

// A scale that varies along the sum stays in front, and so does a single operand of 8 bits, and what attention may be made of.
// CHECK-LABEL: @blocks
// CHECK-NOT: xf8E4M3FN>, tensor
func.func @blocks(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x32xf8E4M3FN>, %s: tensor<64x1xf32>, %y: tensor<64x4xf32>) -> (tensor<8x32xf32>, tensor<8x4xf32>) {
  %0 = lathe.cast %x : tensor<8x64xf8E4M3FN> -> tensor<8x64xf32>
  %1 = lathe.cast %w : tensor<64x32xf8E4M3FN> -> tensor<64x32xf32>
  %2 = lathe.broadcast %s : tensor<64x1xf32> -> tensor<64x32xf32>
  %3 = lathe.mul %1, %2 : tensor<64x32xf32>
  %4 = lathe.contract %0, %3 batch [] x [] over [1] x [0] : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
  %5 = lathe.contract %0, %y batch [] x [] over [1] x [0] : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x4xf32>
  return %4, %5 : tensor<8x32xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @batches
// CHECK-NOT: xf8E4M3FN>, tensor
func.func @batches(%x: tensor<2x8x64xf8E4M3FN>, %y: tensor<2x64x8xf8E4M3FN>) -> tensor<2x8x8xf32> {
  %0 = lathe.cast %x : tensor<2x8x64xf8E4M3FN> -> tensor<2x8x64xf32>
  %1 = lathe.cast %y : tensor<2x64x8xf8E4M3FN> -> tensor<2x64x8xf32>
  %2 = lathe.contract %0, %1 batch [0] x [0] over [2] x [1] : tensor<2x8x64xf32>, tensor<2x64x8xf32> -> tensor<2x8x8xf32>
  return %2 : tensor<2x8x8xf32>
}
