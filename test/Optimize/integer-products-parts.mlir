// RUN: lathe-opt %s --lathe-integer-products | FileCheck %s
// RUN: lathe-opt %s --lathe-integer-products=computed=true | FileCheck %s --check-prefix=COMPUTED

// The filter of a transposed convolution is a quantised constant that was cut and surrounded with zeros: constant bytes, and the scale stays one number.
// CHECK-LABEL: @parts
// CHECK: %[[W:.*]] = lathe.constant dense<{{\[\[\[}}0, 1, 3]], {{\[\[}}0, 4, 6]]]> : tensor<2x1x3xi8>
// CHECK: lathe.conv %arg0, %[[W]] strides [1] dilations [1] pads ["0", "0"] groups 1 : tensor<1x1x8xui8>, tensor<2x1x3xi8> -> tensor<1x2x6xi32>
func.func @parts(%x: tensor<1x1x8xui8>) -> tensor<1x2x6xf32> {
  %sx = lathe.constant dense<0.5> : tensor<1x1x8xf32>
  %sw = lathe.constant dense<0.25> : tensor<2x1x3xf32>
  %w = lathe.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi8>
  %none = lathe.constant dense<0.0> : tensor<f32>
  %0 = lathe.cast %x : tensor<1x1x8xui8> -> tensor<1x1x8xf32>
  %1 = lathe.mul %0, %sx : tensor<1x1x8xf32>
  %2 = lathe.cast %w : tensor<2x1x3xi8> -> tensor<2x1x3xf32>
  %3 = lathe.mul %2, %sw : tensor<2x1x3xf32>
  %4 = lathe.slice %3 starts ["0", "0", "0"] steps [1, 1, 2] : tensor<2x1x3xf32> -> tensor<2x1x2xf32>
  %5 = lathe.pad %4, %none low ["0", "0", "1"] high ["0", "0", "0"] : tensor<2x1x2xf32>, tensor<f32> -> tensor<2x1x3xf32>
  %6 = lathe.conv %1, %5 strides [1] dilations [1] pads ["0", "0"] groups 1 : tensor<1x1x8xf32>, tensor<2x1x3xf32> -> tensor<1x2x6xf32>
  return %6 : tensor<1x2x6xf32>
}

// A border of another number than zero is no byte of it.
// CHECK-LABEL: @other_border
// CHECK: lathe.conv {{.*}} : tensor<1x1x8xf32>, tensor<2x1x4xf32> -> tensor<1x2x5xf32>
func.func @other_border(%x: tensor<1x1x8xui8>) -> tensor<1x2x5xf32> {
  %sx = lathe.constant dense<0.5> : tensor<1x1x8xf32>
  %sw = lathe.constant dense<0.25> : tensor<2x1x3xf32>
  %w = lathe.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi8>
  %one = lathe.constant dense<1.0> : tensor<f32>
  %0 = lathe.cast %x : tensor<1x1x8xui8> -> tensor<1x1x8xf32>
  %1 = lathe.mul %0, %sx : tensor<1x1x8xf32>
  %2 = lathe.cast %w : tensor<2x1x3xi8> -> tensor<2x1x3xf32>
  %3 = lathe.mul %2, %sw : tensor<2x1x3xf32>
  %4 = lathe.pad %3, %one low ["0", "0", "1"] high ["0", "0", "0"] : tensor<2x1x3xf32>, tensor<f32> -> tensor<2x1x4xf32>
  %5 = lathe.conv %1, %4 strides [1] dilations [1] pads ["0", "0"] groups 1 : tensor<1x1x8xf32>, tensor<2x1x4xf32> -> tensor<1x2x5xf32>
  return %5 : tensor<1x2x5xf32>
}

// What two computed operands are is for attention's matching to see first: floats, and bytes where they are asked for.
// CHECK-LABEL: @computed
// CHECK: lathe.contract {{.*}} : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
// COMPUTED-LABEL: @computed
// COMPUTED: lathe.contract %arg0, %arg1 batch [] x [] over [1] x [0] : tensor<4x3xui8>, tensor<3x2xi8> -> tensor<4x2xi32>
func.func @computed(%x: tensor<4x3xui8>, %y: tensor<3x2xi8>) -> tensor<4x2xf32> {
  %sx = lathe.constant dense<0.5> : tensor<4x3xf32>
  %sy = lathe.constant dense<0.25> : tensor<3x2xf32>
  %0 = lathe.cast %x : tensor<4x3xui8> -> tensor<4x3xf32>
  %1 = lathe.mul %0, %sx : tensor<4x3xf32>
  %2 = lathe.cast %y : tensor<3x2xi8> -> tensor<3x2xf32>
  %3 = lathe.mul %2, %sy : tensor<3x2xf32>
  %4 = lathe.contract %1, %3 batch [] x [] over [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}
