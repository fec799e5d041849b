// RUN: lathe-opt %s --lathe-byte-tables --split-input-file | FileCheck %s

// What is between a byte and the next one, divisions and all, is a table; a splat stays one through casts and broadcasts.
func.func @main(%x: tensor<8xui8>) -> tensor<8xui8> {
  %zero = lathe.constant dense<128> : tensor<ui8>
  %wide = lathe.cast %zero : tensor<ui8> -> tensor<f32>
  %zeros = lathe.broadcast %wide : tensor<f32> -> tensor<8xf32>
  %scale = lathe.constant dense<0.5> : tensor<8xf32>
  %0 = lathe.cast %x : tensor<8xui8> -> tensor<8xf32>
  %1 = lathe.sub %0, %zeros : tensor<8xf32>
  %2 = lathe.mul %1, %scale : tensor<8xf32>
  %3 = lathe.erf %2 : tensor<8xf32>
  %4 = lathe.exp %3 : tensor<8xf32>
  %5 = lathe.div %4, %scale : tensor<8xf32>
  %6 = lathe.round %5 : tensor<8xf32>
  %7 = lathe.cast %6 : tensor<8xf32> -> tensor<8xui8>
  return %7 : tensor<8xui8>
}
// CHECK-LABEL: func.func @main
// CHECK: %[[TABLE:.*]] = lathe.constant {{.*}} : tensor<256xi32>
// CHECK: %[[AT:.*]] = lathe.cast %arg0 : tensor<8xui8> -> tensor<8xi64>
// CHECK: %[[WORD:.*]] = lathe.gather %[[TABLE]], %[[AT]] axis 0
// CHECK: %[[R:.*]] = lathe.cast %[[WORD]] : tensor<8xi32> -> tensor<8xui8>
// CHECK-NOT: lathe.erf
// CHECK: return %[[R]]

// -----

// A limit and a change of scale are not worth the loads.
func.func @main(%x: tensor<8xi8>) -> tensor<8xi8> {
  %scale = lathe.constant dense<0.3> : tensor<8xf32>
  %none = lathe.constant dense<0.0> : tensor<8xf32>
  %0 = lathe.cast %x : tensor<8xi8> -> tensor<8xf32>
  %1 = lathe.max %0, %none : tensor<8xf32>
  %2 = lathe.div %1, %scale : tensor<8xf32>
  %3 = lathe.round %2 : tensor<8xf32>
  %4 = lathe.cast %3 : tensor<8xf32> -> tensor<8xi8>
  return %4 : tensor<8xi8>
}
// CHECK-LABEL: func.func @main
// CHECK-NOT: lathe.gather

// -----

// Two bytes, or numbers that differ from element to element, are no function of one byte; what follows the sum is one again, up to a
// byte with two readers.
func.func @main(%x: tensor<2xi8>, %y: tensor<2xi8>) -> (tensor<2xf32>, tensor<2xi8>) {
  %each = lathe.constant dense<[0.1, 0.2]> : tensor<2xf32>
  %0 = lathe.cast %x : tensor<2xi8> -> tensor<2xf32>
  %1 = lathe.cast %y : tensor<2xi8> -> tensor<2xf32>
  %2 = lathe.mul %0, %each : tensor<2xf32>
  %3 = lathe.add %2, %1 : tensor<2xf32>
  %4 = lathe.cast %3 : tensor<2xf32> -> tensor<2xi8>
  %5 = lathe.cast %4 : tensor<2xi8> -> tensor<2xf32>
  %6 = lathe.erf %5 : tensor<2xf32>
  %7 = lathe.exp %6 : tensor<2xf32>
  %8 = lathe.log %7 : tensor<2xf32>
  %9 = lathe.sqrt %8 : tensor<2xf32>
  return %9, %4 : tensor<2xf32>, tensor<2xi8>
}
// CHECK-LABEL: func.func @main
// CHECK: %[[SUM:.*]] = lathe.add
// CHECK: %[[BYTE:.*]] = lathe.cast %[[SUM]] : tensor<2xf32> -> tensor<2xi8>
// CHECK: %[[AT:.*]] = lathe.cast %[[BYTE]] : tensor<2xi8> -> tensor<2xi64>
// CHECK: %[[R:.*]] = lathe.gather {{.*}}, %[[AT]] axis 0 : tensor<256xf32>
// CHECK: return %[[R]], %[[BYTE]]

// -----

// What was quantised and is quantised once more, with the same scale and in another shape, is the same byte in that shape.
!x = tensor<2x6xui8>
func.func @main(%x: !x) -> tensor<3x4xui8> {
  %zero = lathe.constant dense<120> : tensor<ui8>
  %scale = lathe.constant dense<0.0305332877> : tensor<f32>
  %zeros = lathe.broadcast %zero : tensor<ui8> -> tensor<2x6xui8>
  %wide = lathe.cast %zeros : tensor<2x6xui8> -> tensor<2x6xf32>
  %scales = lathe.broadcast %scale : tensor<f32> -> tensor<2x6xf32>
  %0 = lathe.cast %x : tensor<2x6xui8> -> tensor<2x6xf32>
  %1 = lathe.sub %0, %wide : tensor<2x6xf32>
  %2 = lathe.mul %1, %scales : tensor<2x6xf32>
  %3 = lathe.transpose %2 [1, 0] : tensor<2x6xf32> -> tensor<6x2xf32>
  %4 = lathe.reshape %3 : tensor<6x2xf32> -> tensor<3x4xf32>
  %divisors = lathe.broadcast %scale : tensor<f32> -> tensor<3x4xf32>
  %others = lathe.broadcast %zero : tensor<ui8> -> tensor<3x4xui8>
  %added = lathe.cast %others : tensor<3x4xui8> -> tensor<3x4xf32>
  %5 = lathe.div %4, %divisors : tensor<3x4xf32>
  %6 = lathe.round %5 : tensor<3x4xf32>
  %7 = lathe.add %6, %added : tensor<3x4xf32>
  %8 = lathe.cast %7 : tensor<3x4xf32> -> tensor<3x4xui8>
  return %8 : tensor<3x4xui8>
}
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[T:.*]] = lathe.transpose %arg0 [1, 0] : tensor<2x6xui8> -> tensor<6x2xui8>
// CHECK: %[[R:.*]] = lathe.reshape %[[T]] : tensor<6x2xui8> -> tensor<3x4xui8>
// CHECK-NOT: lathe.gather
// CHECK: return %[[R]]

// -----

// With another scale it is another byte.
func.func @main(%x: tensor<8xui8>) -> tensor<8xui8> {
  %scale = lathe.constant dense<0.5> : tensor<8xf32>
  %other = lathe.constant dense<0.501> : tensor<8xf32>
  %0 = lathe.cast %x : tensor<8xui8> -> tensor<8xf32>
  %1 = lathe.mul %0, %scale : tensor<8xf32>
  %2 = lathe.div %1, %other : tensor<8xf32>
  %3 = lathe.round %2 : tensor<8xf32>
  %4 = lathe.cast %3 : tensor<8xf32> -> tensor<8xui8>
  return %4 : tensor<8xui8>
}
// CHECK-LABEL: func.func @main
// CHECK: lathe.div
// CHECK: return
