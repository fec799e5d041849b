// RUN: lathe-opt --lathe-simplify-graph --split-input-file %s | FileCheck %s

// CHECK-LABEL: func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
// CHECK-NEXT: return %[[X]], %[[I]]
func.func @identities(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %one = lathe.constant dense<1.0> : tensor<4xf32>
  %minus_zero = lathe.constant dense<-0.0> : tensor<4xf32>
  %zero = lathe.constant dense<0.0> : tensor<4xf32>
  %izero = lathe.constant dense<0> : tensor<4xi32>
  %0 = lathe.mul %x, %one : tensor<4xf32>
  %1 = lathe.div %0, %one : tensor<4xf32>
  %2 = lathe.add %1, %minus_zero : tensor<4xf32>
  %3 = lathe.sub %2, %zero : tensor<4xf32>
  %4 = lathe.neg %3 : tensor<4xf32>
  %5 = lathe.neg %4 : tensor<4xf32>
  %6 = lathe.add %i, %izero : tensor<4xi32>
  %t = lathe.constant dense<true> : tensor<4xi1>
  %7 = lathe.select %t, %5, %zero : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %7, %6 : tensor<4xf32>, tensor<4xi32>
}

// -----

// x + 0 turns -0 into +0; x * 0 is NaN for infinities: both stay.
// CHECK-LABEL: func @kept
// CHECK: lathe.add
// CHECK: lathe.mul
func.func @kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = lathe.constant dense<0.0> : tensor<4xf32>
  %0 = lathe.add %x, %zero : tensor<4xf32>
  %1 = lathe.mul %0, %zero : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// The constant of a dynamic tensor is broadcast.
// CHECK-LABEL: func @dynamic
// CHECK-NEXT: return %arg0
func.func @dynamic(%x: tensor<?xf32, #lathe.dims<"n">>) -> tensor<?xf32, #lathe.dims<"n">> {
  %one = lathe.constant dense<1.0> : tensor<f32>
  %b = lathe.broadcast %one : tensor<f32> -> tensor<?xf32, #lathe.dims<"n">>
  %0 = lathe.mul %x, %b : tensor<?xf32, #lathe.dims<"n">>
  return %0 : tensor<?xf32, #lathe.dims<"n">>
}

// -----

// CHECK-LABEL: func @powers
// CHECK: %[[S:.*]] = lathe.mul %arg0, %arg0
// CHECK: %[[R:.*]] = lathe.sqrt %[[S]]
// CHECK: %[[H:.*]] = lathe.pow %arg0, %{{.*}}
// CHECK: %[[I:.*]] = lathe.rsqrt %[[S]]
// CHECK: return %[[S]], %[[R]], %[[H]], %[[I]]
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = lathe.constant dense<1.0> : tensor<4xf32>
  %two = lathe.constant dense<2.0> : tensor<4xf32>
  %half = lathe.constant dense<0.5> : tensor<4xf32>
  %0 = lathe.pow %x, %two : tensor<4xf32>
  %1 = lathe.pow %0, %half : tensor<4xf32>
  %2 = lathe.pow %x, %half : tensor<4xf32> // pow(-inf, 0.5) is inf, sqrt(-inf) is NaN
  %3 = lathe.sqrt %0 : tensor<4xf32>
  %4 = lathe.div %one, %3 : tensor<4xf32>
  return %0, %1, %2, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @division
// CHECK: %[[C:.*]] = lathe.constant dense<1.250000e-01>
// CHECK: lathe.mul %arg0, %[[C]]
// CHECK: lathe.div
func.func @division(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %eight = lathe.constant dense<8.0> : tensor<4xf32>
  %three = lathe.constant dense<3.0> : tensor<4xf32>
  %0 = lathe.div %x, %eight : tensor<4xf32>
  %1 = lathe.div %x, %three : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @casts
// CHECK-NEXT: %[[A:.*]] = lathe.cast %arg1 : tensor<4xi1> -> tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = lathe.cast %arg2 : tensor<4xf32> -> tensor<4xf16>
// CHECK-NEXT: %[[C:.*]] = lathe.cast %[[B]]
// CHECK-NEXT: return %arg0, %[[A]], %[[C]]
func.func @casts(%h: tensor<4xf16>, %p: tensor<4xi1>, %f: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>, tensor<4xf32>) {
  %0 = lathe.cast %h : tensor<4xf16> -> tensor<4xf32>
  %1 = lathe.cast %0 : tensor<4xf32> -> tensor<4xf16>
  %2 = lathe.cast %p : tensor<4xi1> -> tensor<4xi64>
  %3 = lathe.cast %2 : tensor<4xi64> -> tensor<4xf32>
  %4 = lathe.cast %f : tensor<4xf32> -> tensor<4xf16>
  %5 = lathe.cast %4 : tensor<4xf16> -> tensor<4xf32>
  return %1, %3, %5 : tensor<4xf16>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @views
// CHECK-NEXT: return %arg0
func.func @views(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = lathe.constant dense<0.0> : tensor<f32>
  %0 = lathe.slice %x starts ["0", "0"] steps [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = lathe.concat %0 axis 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = lathe.pad %1, %zero low ["0", "0"] high ["0", "0"] : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %3 = lathe.transpose %2 [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %4 = lathe.transpose %3 [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// -----

// The first of an order is the first place of the extremum; upwards NaNs come last, which a minimum does not say, and booleans have none.
// CHECK-LABEL: func @firsts
// CHECK-SAME: (%[[X:.*]]: tensor<4x9xf32>, %[[I:.*]]: tensor<4x9xi32>, %[[B:.*]]: tensor<4x9xi1>)
// CHECK: %[[MAX:.*]] = lathe.reduce max %[[X]] axes [1]
// CHECK: lathe.compare ne %[[X]], %[[X]]
// CHECK: %[[A:.*]] = lathe.reduce min {{.*}} : tensor<4x9xi64> -> tensor<4xi64>
// CHECK: lathe.reduce min %[[I]] axes [1]
// CHECK: lathe.sort %[[X]] axis 1
// CHECK: lathe.sort %[[B]] axis 1
// CHECK: lathe.sort %[[X]] axis 1 {descending}
func.func @firsts(%x: tensor<4x9xf32>, %i: tensor<4x9xi32>, %b: tensor<4x9xi1>) -> (tensor<4x1xi64>, tensor<4x1xi64>, tensor<4x1xi64>, tensor<4x1xi64>, tensor<4x2xi64>) {
  %0 = lathe.sort %x axis 1 {descending} : tensor<4x9xf32> -> tensor<4x1xi64>
  %1 = lathe.sort %i axis 1 : tensor<4x9xi32> -> tensor<4x1xi64>
  %2 = lathe.sort %x axis 1 : tensor<4x9xf32> -> tensor<4x1xi64>
  %3 = lathe.sort %b axis 1 {descending} : tensor<4x9xi1> -> tensor<4x1xi64>
  %4 = lathe.sort %x axis 1 {descending} : tensor<4x9xf32> -> tensor<4x2xi64>
  return %0, %1, %2, %3, %4 : tensor<4x1xi64>, tensor<4x1xi64>, tensor<4x1xi64>, tensor<4x1xi64>, tensor<4x2xi64>
}

// -----

// Around one pixel 3x3 is 1x1; around two a stride of 2 leaves the last two taps; of a wide dilation along lines the middle stays. Where a border would be cut
// (the first tap lies two places in front of the image, the second one behind its beginning), where all taps read something, where sizes are open, and for
// integers nothing changes.
// CHECK-LABEL: func @taps
// CHECK: %[[ONE:.*]] = lathe.slice %{{.*}} starts ["0", "0", "1", "0"] {{.*}} -> tensor<8x4x1x3xf32>
// CHECK: %[[MIDDLE:.*]] = lathe.slice %[[ONE]] starts ["0", "0", "0", "1"] {{.*}} -> tensor<8x4x1x1xf32>
// CHECK: lathe.conv %{{.*}}, %[[MIDDLE]] strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"]
// CHECK: %[[LAST:.*]] = lathe.slice %{{.*}} starts ["0", "0", "1"] {{.*}} -> tensor<8x4x2xf32>
// CHECK: lathe.conv %{{.*}}, %[[LAST]] strides [2] dilations [1] pads ["0", "1"]
// CHECK: lathe.slice %{{.*}} starts ["0", "0", "1"] {{.*}} -> tensor<8x4x1xf32>
// CHECK: lathe.conv {{.*}} dilations [6] pads ["0", "0"]
// CHECK-NOT: lathe.slice
// CHECK: return
!open = tensor<1x4x?xf32, #lathe.dims<"1", "4", "n">>
!result = tensor<1x8x?xf32, #lathe.dims<"1", "8", "n">>
module {
lathe.symbol "n" range [1, -1]
func.func @taps(%x: tensor<1x4x1x1xf32>, %y: tensor<1x4x2xf32>, %z: tensor<1x4x5xf32>, %o: !open, %i: tensor<1x4x1xi32>, %w: tensor<8x4x3x3xf32>, %v: tensor<8x4x3xf32>,
    %u: tensor<8x4x3xi32>) -> (tensor<1x8x1x1xf32>, tensor<1x8x1xf32>, tensor<1x8x5xf32>, tensor<1x8x1xf32>, tensor<1x8x5xf32>, !result, tensor<1x8x1xi32>) {
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x4x1x1xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x1x1xf32>
  %1 = lathe.conv %y, %v strides [2] dilations [1] pads ["1", "1"] groups 1 : tensor<1x4x2xf32>, tensor<8x4x3xf32> -> tensor<1x8x1xf32>
  %2 = lathe.conv %z, %v strides [1] dilations [6] pads ["6", "6"] groups 1 : tensor<1x4x5xf32>, tensor<8x4x3xf32> -> tensor<1x8x5xf32>
  %3 = lathe.conv %z, %v strides [2] dilations [3] pads ["2", "0"] groups 1 : tensor<1x4x5xf32>, tensor<8x4x3xf32> -> tensor<1x8x1xf32>
  %4 = lathe.conv %z, %v strides [1] dilations [1] pads ["1", "1"] groups 1 : tensor<1x4x5xf32>, tensor<8x4x3xf32> -> tensor<1x8x5xf32>
  %5 = lathe.conv %o, %v strides [1] dilations [1] pads ["1", "1"] groups 1 : !open, tensor<8x4x3xf32> -> !result
  %6 = lathe.conv %i, %u strides [1] dilations [1] pads ["1", "1"] groups 1 : tensor<1x4x1xi32>, tensor<8x4x3xi32> -> tensor<1x8x1xi32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1x8x1x1xf32>, tensor<1x8x1xf32>, tensor<1x8x5xf32>, tensor<1x8x1xf32>, tensor<1x8x5xf32>, !result, tensor<1x8x1xi32>
}
}

// -----

// What is padded twice with one value is padded once, and a convolution pads itself; not what is cropped between, padded with something else, or in its channels.
// CHECK-LABEL: func @paddings
// CHECK-SAME: (%[[X:.*]]: tensor<1x4x6x6xf32>, %[[W:.*]]: tensor<8x4x3x3xf32>
// CHECK-DAG: %[[ONCE:.*]] = lathe.pad %[[X]], %{{.*}} low ["0", "0", "3", "1"] high ["0", "0", "1", "2"] : tensor<1x4x6x6xf32>
// CHECK-DAG: %[[CONV:.*]] = lathe.conv %[[X]], %[[W]] strides [1, 1] dilations [1, 1] pads ["2", "1", "0", "2"]
// CHECK-DAG: %[[CROP:.*]] = lathe.pad %{{.*}}, %{{.*}} low ["0", "0", "1", "1"] high ["0", "0", "1", "1"] : tensor<1x4x5x6xf32>
// CHECK-DAG: %[[OTHER:.*]] = lathe.pad %{{.*}}, %{{.*}} low ["0", "0", "1", "1"] high ["0", "0", "1", "1"] : tensor<1x4x9x7xf32>
// CHECK-DAG: %[[WIDER:.*]] = lathe.conv %{{.*}}, %{{.*}} pads ["1", "1", "1", "1"] groups 1 : tensor<1x6x6x6xf32>
// CHECK: return %[[ONCE]], %[[CONV]], %[[CROP]], %[[OTHER]], %[[WIDER]]
func.func @paddings(%x: tensor<1x4x6x6xf32>, %w: tensor<8x4x3x3xf32>, %v: tensor<8x6x3x3xf32>)
    -> (tensor<1x4x10x9xf32>, tensor<1x8x6x7xf32>, tensor<1x4x7x8xf32>, tensor<1x4x11x9xf32>, tensor<1x8x6x6xf32>) {
  %zero = lathe.constant dense<0.0> : tensor<f32>
  %one = lathe.constant dense<1.0> : tensor<f32>
  %0 = lathe.pad %x, %zero low ["0", "0", "2", "0"] high ["0", "0", "1", "1"] : tensor<1x4x6x6xf32>, tensor<f32> -> tensor<1x4x9x7xf32>
  %1 = lathe.pad %0, %zero low ["0", "0", "1", "1"] high ["0", "0", "0", "1"] : tensor<1x4x9x7xf32>, tensor<f32> -> tensor<1x4x10x9xf32>
  %2 = lathe.pad %x, %zero low ["0", "0", "1", "0"] high ["0", "0", "-1", "1"] : tensor<1x4x6x6xf32>, tensor<f32> -> tensor<1x4x6x7xf32>
  %3 = lathe.pad %x, %zero low ["0", "0", "1", "0"] high ["0", "0", "0", "1"] : tensor<1x4x6x6xf32>, tensor<f32> -> tensor<1x4x7x7xf32>
  %4 = lathe.conv %3, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "0", "1"] groups 1 : tensor<1x4x7x7xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x6x7xf32>
  %5 = lathe.pad %x, %zero low ["0", "0", "-1", "0"] high ["0", "0", "0", "0"] : tensor<1x4x6x6xf32>, tensor<f32> -> tensor<1x4x5x6xf32>
  %6 = lathe.pad %5, %zero low ["0", "0", "1", "1"] high ["0", "0", "1", "1"] : tensor<1x4x5x6xf32>, tensor<f32> -> tensor<1x4x7x8xf32>
  %7 = lathe.pad %0, %one low ["0", "0", "1", "1"] high ["0", "0", "1", "1"] : tensor<1x4x9x7xf32>, tensor<f32> -> tensor<1x4x11x9xf32>
  %8 = lathe.pad %x, %zero low ["0", "1", "0", "0"] high ["0", "1", "0", "0"] : tensor<1x4x6x6xf32>, tensor<f32> -> tensor<1x6x6x6xf32>
  %9 = lathe.conv %8, %v strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x6x6x6xf32>, tensor<8x6x3x3xf32> -> tensor<1x8x6x6xf32>
  return %1, %4, %6, %7, %9 : tensor<1x4x10x9xf32>, tensor<1x8x6x7xf32>, tensor<1x4x7x8xf32>, tensor<1x4x11x9xf32>, tensor<1x8x6x6xf32>
}
