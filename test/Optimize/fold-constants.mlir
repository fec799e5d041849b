// RUN: lathe-opt --lathe-fold-constants --split-input-file %s | FileCheck %s

// CHECK-LABEL: func @chain
// CHECK-NEXT: %[[C:.*]] = lathe.constant dense<{{\[\[}}3.000000e+00, 7.000000e+00], [5.000000e+00, 9.000000e+00]]>
// CHECK-NEXT: return %[[C]]
func.func @chain() -> tensor<2x2xf32> {
  %a = lathe.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %two = lathe.constant dense<2.0> : tensor<2x2xf32>
  %one = lathe.constant dense<1.0> : tensor<2x2xf32>
  %0 = lathe.transpose %a [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = lathe.mul %0, %two : tensor<2x2xf32>
  %2 = lathe.add %1, %one : tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

// Integers wrap, divide towards zero (or the floor), and give 0 for a zero divisor; unsigned ones compare as such.
// CHECK-LABEL: func @integers
// CHECK-DAG: dense<[-128, 0, -2, 3]> : tensor<4xi8>
// CHECK-DAG: dense<[0, 0, -3, 1]> : tensor<4xi8>
// CHECK-DAG: dense<[0, 0, 1, -1]> : tensor<4xi8>
// CHECK-DAG: dense<[true, false]> : tensor<2xi1>
func.func @integers() -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<2xi1>) {
  %x = lathe.constant dense<[127, 5, -5, 5]> : tensor<4xi8>
  %one = lathe.constant dense<[1, -5, 3, -2]> : tensor<4xi8>
  %d = lathe.constant dense<[0, 0, 2, 3]> : tensor<4xi8>
  %m = lathe.constant dense<[0, 0, 2, -3]> : tensor<4xi8>
  %0 = lathe.add %x, %one : tensor<4xi8>
  %1 = lathe.floor_div %x, %d : tensor<4xi8>
  %2 = lathe.mod %x, %m : tensor<4xi8>
  %u = lathe.constant dense<[200, 100]> : tensor<2xui8>
  %v = lathe.constant dense<[100, 200]> : tensor<2xui8>
  %3 = lathe.compare gt %u, %v : tensor<2xui8>, tensor<2xui8> -> tensor<2xi1>
  return %0, %1, %2, %3 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<2xi1>
}

// -----

// The floor of the exact quotient: 1 / 0.1 rounds to 10. By an infinity of the other sign it is -1.
// CHECK-LABEL: func @quotients
// CHECK-NEXT: dense<[9.000000e+00, -1.000000e+00, 0x{{[7F]}}FC00000, 0x7F800000]> : tensor<4xf32>
func.func @quotients() -> tensor<4xf32> {
  %x = lathe.constant dense<[1.0, -1.0, 0x7F800000, 1.0]> : tensor<4xf32>
  %y = lathe.constant dense<[0.1, 0x7F800000, 1.0, 0.0]> : tensor<4xf32>
  %0 = lathe.floor_div %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// NaN (0x7FC00000) wins in max, saturates to 0 in a cast; f16 overflows to infinity (0x7C00).
// CHECK-LABEL: func @floats
// CHECK-DAG: dense<[0x7FC00000, 2.000000e+00]> : tensor<2xf32>
// CHECK-DAG: dense<[0, -128, 127]> : tensor<3xi8>
// CHECK-DAG: dense<0x7C00> : tensor<1xf16>
func.func @floats() -> (tensor<2xf32>, tensor<3xi8>, tensor<1xf16>) {
  %x = lathe.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %y = lathe.constant dense<2.0> : tensor<2xf32>
  %0 = lathe.max %x, %y : tensor<2xf32>
  %f = lathe.constant dense<[0x7FC00000, -1.0e9, 1.0e9]> : tensor<3xf32>
  %1 = lathe.cast %f : tensor<3xf32> -> tensor<3xi8>
  %g = lathe.constant dense<1.0e6> : tensor<1xf32>
  %2 = lathe.cast %g : tensor<1xf32> -> tensor<1xf16>
  return %0, %1, %2 : tensor<2xf32>, tensor<3xi8>, tensor<1xf16>
}

// -----

// CHECK-LABEL: func @structured
// CHECK-DAG: dense<[3.000000e+00, 1.200000e+01]> : tensor<2xf32>
// CHECK-DAG: dense<{{\[\[}}2.000000e+00], [5.000000e+00]]> : tensor<2x1xf32>
// CHECK-DAG: dense<{{\[\[}}5.000000e+00, 1.400000e+01], [1.400000e+01, 5.000000e+01]]> : tensor<2x2xf32>
// CHECK-DAG: dense<[9, 0, 1, 9]> : tensor<4xi64>
func.func @structured() -> (tensor<2xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<4xi64>) {
  %x = lathe.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %0 = lathe.reduce sum %x axes [1] : tensor<2x3xf32> -> tensor<2xf32>
  %i = lathe.constant dense<[-1]> : tensor<1xi64>
  %1 = lathe.gather %x, %i axis 1 : tensor<2x3xf32>, tensor<1xi64> -> tensor<2x1xf32>
  %2 = lathe.contract %x, %x batch [] x [] over [1] x [1] : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xf32>
  %n = lathe.iota 0 : tensor<2xi64>
  %nine = lathe.constant dense<9> : tensor<i64>
  %3 = lathe.pad %n, %nine low ["1"] high ["1"] : tensor<2xi64>, tensor<i64> -> tensor<4xi64>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<4xi64>
}

// -----

// A causal mask is cheaper to compute where it is used than to load; a table of sines is not.
// CHECK-LABEL: func @worth
// CHECK-DAG: lathe.constant dense_resource<folded> : tensor<300x64xf32>
// CHECK-DAG: lathe.iota 0 : tensor<300x300xi64>
// CHECK-DAG: lathe.compare
func.func @worth() -> (tensor<300x300xi1>, tensor<300x64xf32>) {
  %q = lathe.iota 0 : tensor<300x300xi64>
  %k = lathe.iota 1 : tensor<300x300xi64>
  %0 = lathe.compare le %k, %q : tensor<300x300xi64>, tensor<300x300xi64> -> tensor<300x300xi1>
  %p = lathe.iota 0 : tensor<300x64xf32>
  %e = lathe.iota 1 : tensor<300x64xf32>
  %1 = lathe.mul %p, %e : tensor<300x64xf32>
  %2 = lathe.sin %1 : tensor<300x64xf32>
  return %0, %2 : tensor<300x300xi1>, tensor<300x64xf32>
}

// -----

// What reads an argument stays, and so do its constant operands.
// CHECK-LABEL: func @mixed
// CHECK-DAG: %[[C:.*]] = lathe.constant dense<[2.000000e+00, 4.000000e+00]>
// CHECK-DAG: %[[B:.*]] = lathe.broadcast %[[C]]
// CHECK: lathe.add %arg0, %[[B]]
func.func @mixed(%x: tensor<1000x2xf32>) -> tensor<1000x2xf32> {
  %c = lathe.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = lathe.add %c, %c : tensor<2xf32>
  %1 = lathe.broadcast %0 : tensor<2xf32> -> tensor<1000x2xf32>
  %2 = lathe.add %x, %1 : tensor<1000x2xf32>
  return %2 : tensor<1000x2xf32>
}

// -----

// A filter is folded whatever its size: what it is computed from is not stored.
// CHECK-LABEL: func @filter
// CHECK-NOT: lathe.pad
// CHECK: lathe.constant dense_resource<folded> : tensor<64x32x4x4xf32>
// CHECK: lathe.conv %arg0
func.func @filter(%x: tensor<1x32x8x8xf32>) -> tensor<1x64x5x5xf32> {
  %p = lathe.iota 0 : tensor<64x32x3x3xf32>
  %e = lathe.iota 1 : tensor<64x32x3x3xf32>
  %w = lathe.mul %p, %e : tensor<64x32x3x3xf32>
  %zero = lathe.constant dense<0.0> : tensor<f32>
  %0 = lathe.pad %w, %zero low ["0", "0", "0", "0"] high ["0", "0", "1", "1"] : tensor<64x32x3x3xf32>, tensor<f32> -> tensor<64x32x4x4xf32>
  %1 = lathe.conv %x, %0 strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x32x8x8xf32>, tensor<64x32x4x4xf32> -> tensor<1x64x5x5xf32>
  return %1 : tensor<1x64x5x5xf32>
}

// -----

// What has no elements needs no kernel; that its size is open and may be 0 is another matter.
// CHECK-LABEL: func @empty
// CHECK-NEXT: %[[C:.*]] = lathe.constant dense<> : tensor<2x0xf32>
// CHECK-NEXT: return %[[C]]
func.func @empty(%x: tensor<2x3xf32>) -> tensor<2x0xf32> {
  %0 = lathe.slice %x starts ["0", "3"] steps [1, 1] : tensor<2x3xf32> -> tensor<2x0xf32>
  %1 = lathe.exp %0 : tensor<2x0xf32>
  return %1 : tensor<2x0xf32>
}

// -----

// Elements of a constant at constant coordinates, one of them from the end and one beyond it.
// CHECK-LABEL: func @coordinates
// CHECK-NEXT: %[[C:.*]] = lathe.constant dense<[2.000000e+00, 6.000000e+00, 4.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: return %[[C]]
func.func @coordinates() -> tensor<3xf32> {
  %x = lathe.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %at = lathe.constant dense<[[0, 1], [-1, 9], [1, 0]]> : tensor<3x2xi64>
  %0 = lathe.gather_nd %x, %at batch 0 : tensor<2x3xf32>, tensor<3x2xi64> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// Indices that are computed in floats are a constant, although it is larger than 512 bytes and than what it is made of;
// the same numbers as floats are not.
// CHECK-LABEL: func @indices
// CHECK: %[[SUM:.*]] = lathe.add
// CHECK-NEXT: %[[AT:.*]] = lathe.constant {{.*}} : tensor<10x20xi64>
// CHECK-NEXT: lathe.gather %arg0, %[[AT]]
// CHECK-NEXT: lathe.add %arg1, %[[SUM]]
func.func @indices(%x: tensor<30xf32>, %y: tensor<10x20xf64>) -> (tensor<10x20xf32>, tensor<10x20xf64>) {
  %row = lathe.iota 0 : tensor<10x20xf64>
  %column = lathe.iota 1 : tensor<10x20xf64>
  %sum = lathe.add %row, %column : tensor<10x20xf64>
  %at = lathe.cast %sum : tensor<10x20xf64> -> tensor<10x20xi64>
  %0 = lathe.gather %x, %at axis 0 : tensor<30xf32>, tensor<10x20xi64> -> tensor<10x20xf32>
  %1 = lathe.add %y, %sum : tensor<10x20xf64>
  return %0, %1 : tensor<10x20xf32>, tensor<10x20xf64>
}

// -----

// The elements where the mask is true; not where they are more or fewer than the result has.
// CHECK-LABEL: func @compact
// CHECK: dense<[3.000000e+00, 5.000000e+00]> : tensor<2xf32>
// CHECK: lathe.compact
func.func @compact() -> (tensor<2xf32>, tensor<3xf32>) {
  %x = lathe.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  %m = lathe.constant dense<[true, false, true]> : tensor<3xi1>
  %0 = lathe.compact %x where %m : tensor<3xf32>, tensor<3xi1> -> tensor<2xf32>
  %1 = lathe.compact %x where %m : tensor<3xf32>, tensor<3xi1> -> tensor<3xf32>
  return %0, %1 : tensor<2xf32>, tensor<3xf32>
}
