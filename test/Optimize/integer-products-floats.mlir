// RUN: lathe-opt %s --lathe-integer-products | FileCheck %s
// RUN: lathe-opt %s '--lathe-integer-products=weights=false' | FileCheck %s --check-prefix=UNPACKED

// Floats beside quantised weights, which stay bytes where a target multiplies them so.
// CHECK-LABEL: @weights
// CHECK: lathe.contract %arg0, %{{.*}} : tensor<4x3xf32>, tensor<3x2xi8> -> tensor<4x2xf32>
// UNPACKED-LABEL: @weights
// UNPACKED: lathe.contract %arg0, %{{.*}} : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
func.func @weights(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %w = lathe.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>
  %s = lathe.constant dense<0.5> : tensor<3x2xf32>
  %0 = lathe.cast %w : tensor<3x2xi8> -> tensor<3x2xf32>
  %1 = lathe.mul %0, %s : tensor<3x2xf32>
  %2 = lathe.contract %x, %1 batch [] x [] over [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// Where both are quantised, an image or a matrix, they are multiplied as bytes everywhere.
// CHECK-LABEL: @image
// CHECK: lathe.conv {{.*}} : tensor<1x2x9xui8>, tensor<3x2x3xi8> -> tensor<1x3x9xi32>
// CHECK: lathe.contract {{.*}} : tensor<4x3xui8>, tensor<3x2xi8> -> tensor<4x2xi32>
// UNPACKED: lathe.contract {{.*}} : tensor<4x3xui8>, tensor<3x2xi8> -> tensor<4x2xi32>
func.func @image(%x: tensor<1x2x9xui8>, %a: tensor<4x3xui8>) -> (tensor<1x3x9xf32>, tensor<4x2xf32>) {
  %w = lathe.constant dense<3> : tensor<3x2x3xi8>
  %s = lathe.constant dense<0.5> : tensor<3x2x3xf32>
  %t = lathe.constant dense<0.25> : tensor<1x2x9xf32>
  %0 = lathe.cast %x : tensor<1x2x9xui8> -> tensor<1x2x9xf32>
  %1 = lathe.mul %0, %t : tensor<1x2x9xf32>
  %2 = lathe.cast %w : tensor<3x2x3xi8> -> tensor<3x2x3xf32>
  %3 = lathe.mul %2, %s : tensor<3x2x3xf32>
  %4 = lathe.conv %1, %3 strides [1] dilations [1] pads ["1", "1"] groups 1 : tensor<1x2x9xf32>, tensor<3x2x3xf32> -> tensor<1x3x9xf32>
  %v = lathe.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>
  %u = lathe.constant dense<0.5> : tensor<3x2xf32>
  %q = lathe.constant dense<0.25> : tensor<4x3xf32>
  %5 = lathe.cast %a : tensor<4x3xui8> -> tensor<4x3xf32>
  %6 = lathe.mul %5, %q : tensor<4x3xf32>
  %7 = lathe.cast %v : tensor<3x2xi8> -> tensor<3x2xf32>
  %8 = lathe.mul %7, %u : tensor<3x2xf32>
  %9 = lathe.contract %6, %8 batch [] x [] over [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  return %4, %9 : tensor<1x3x9xf32>, tensor<4x2xf32>
}
