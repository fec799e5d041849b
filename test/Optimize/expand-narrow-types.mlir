// RUN: lathe-opt %s --lathe-expand-narrow-types --split-input-file | FileCheck %s

// Elements of 4 bits are packed at the boundary, the first in the low bits.
func.func @main(%x: tensor<3xi4>) -> tensor<3xf32> {
  %0 = lathe.cast %x : tensor<3xi4> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// CHECK: func.func @main(%[[X:.*]]: tensor<2xui8> {lathe.type = tensor<3xi4>}) -> tensor<3xf32>
// CHECK: lathe.shl {{.*}} : tensor<2xi8>
// CHECK: lathe.shr {{.*}} : tensor<2xi8>
// CHECK: %[[ALL:.*]] = lathe.concat {{.*}} axis 1 : tensor<2x1xi8>, tensor<2x1xi8> -> tensor<2x2xi8>
// CHECK: %[[FLAT:.*]] = lathe.reshape %[[ALL]]
// CHECK: %[[THREE:.*]] = lathe.slice %[[FLAT]] starts ["0"] steps [1] : tensor<4xi8> -> tensor<3xi8>
// CHECK: %[[R:.*]] = lathe.cast %[[THREE]] : tensor<3xi8> -> tensor<3xf32>
// CHECK: return %[[R]]

// -----

// A float8 is read from a table of its values, and moves as its code.
func.func @main(%x: tensor<2x4xf8E5M2>) -> (tensor<4x2xf8E5M2>, tensor<2x4xf32>) {
  %0 = lathe.transpose %x [1, 0] : tensor<2x4xf8E5M2> -> tensor<4x2xf8E5M2>
  %1 = lathe.cast %x : tensor<2x4xf8E5M2> -> tensor<2x4xf32>
  return %0, %1 : tensor<4x2xf8E5M2>, tensor<2x4xf32>
}
// CHECK: func.func @main(%[[X:.*]]: tensor<2x4xui8> {lathe.type = tensor<2x4xf8E5M2>}) -> (tensor<4x2xui8> {lathe.type = tensor<4x2xf8E5M2>}, tensor<2x4xf32>)
// CHECK: %[[T:.*]] = lathe.transpose %[[X]] [1, 0] : tensor<2x4xui8> -> tensor<4x2xui8>
// CHECK: %[[CODE:.*]] = lathe.cast %[[X]] : tensor<2x4xui8> -> tensor<2x4xi64>
// CHECK: %[[V:.*]] = lathe.gather %{{.*}}, %[[CODE]] axis 0 : tensor<256xf32>, tensor<2x4xi64> -> tensor<2x4xf32>
// CHECK: return %[[T]], %[[V]]

// -----

// The exponent alone is the code of a power of two.
func.func @main(%x: tensor<4xf32>) -> tensor<4x!lathe.f8E8M0> {
  %0 = lathe.cast %x : tensor<4xf32> -> tensor<4x!lathe.f8E8M0>
  return %0 : tensor<4x!lathe.f8E8M0>
}
// CHECK: %[[B:.*]] = lathe.bitcast %{{.*}} : tensor<4xf32> -> tensor<4xui32>
// CHECK: %[[S:.*]] = lathe.shr %[[B]]
// CHECK: %[[E:.*]] = lathe.and %[[S]]
// CHECK: lathe.cast %[[E]] : tensor<4xui32> -> tensor<4xui8>

// -----

// A constant's codes come as bytes.
func.func @main() -> tensor<2xui4> {
  %0 = lathe.constant dense<[1, 15]> : tensor<2xui8>
  %1 = lathe.cast %0 : tensor<2xui8> -> tensor<2xui4>
  return %1 : tensor<2xui4>
}
// CHECK: func.func @main() -> (tensor<1xui8> {lathe.type = tensor<2xui4>})
// CHECK: lathe.and
// CHECK: lathe.or

// -----

// A constant is the same bytes.
func.func @main() -> tensor<2xf8E4M3FN> {
  %0 = lathe.constant dense<[1.0, -448.0]> : tensor<2xf8E4M3FN>
  return %0 : tensor<2xf8E4M3FN>
}
// CHECK: func.func @main() -> (tensor<2xui8> {lathe.type = tensor<2xf8E4M3FN>})
// CHECK: lathe.constant dense<[56, 254]> : tensor<2xui8>
