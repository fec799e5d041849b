// RUN: lathe-opt %s --lathe-integer-products | FileCheck %s
// RUN: lathe-opt %s --lathe-integer-products=depthwise=false | FileCheck %s --check-prefix=FLOATS

// Zero points go behind the sum: the sums of constant columns are a constant.
// CHECK-LABEL: @zero_point
// CHECK: %[[W:.*]] = lathe.constant {{.*}} : tensor<3x2xi8>
// CHECK: %[[P:.*]] = lathe.contract %arg0, %[[W]] batch [] x [] over [1] x [0] : tensor<4x3xui8>, tensor<3x2xi8> -> tensor<4x2xi32>
// CHECK: lathe.constant dense<{{\[\[}}6, 2]]> : tensor<1x2xi32>
// CHECK: %[[M:.*]] = lathe.mul
// CHECK: lathe.sub %[[P]], %[[M]]
func.func @zero_point(%x: tensor<4x3xui8>, %z: tensor<i32>) -> tensor<4x2xi32> {
  %w = lathe.constant dense<[[1, 2], [2, 3], [3, -3]]> : tensor<3x2xi8>
  %0 = lathe.cast %x : tensor<4x3xui8> -> tensor<4x3xi32>
  %1 = lathe.broadcast %z : tensor<i32> -> tensor<4x3xi32>
  %2 = lathe.sub %0, %1 : tensor<4x3xi32>
  %3 = lathe.cast %w : tensor<3x2xi8> -> tensor<3x2xi32>
  %4 = lathe.contract %2, %3 batch [] x [] over [1] x [0] : tensor<4x3xi32>, tensor<3x2xi32> -> tensor<4x2xi32>
  return %4 : tensor<4x2xi32>
}

// A constant operand takes its zero point in where the differences fit into a byte.
// CHECK-LABEL: @fits
// CHECK: %[[W:.*]] = lathe.constant dense<{{\[\[}}-2], [0], [2]]> : tensor<3x1xi8>
// CHECK: %[[P:.*]] = lathe.contract %arg0, %[[W]]
// CHECK-NEXT: return %[[P]]
func.func @fits(%x: tensor<4x3xi8>) -> tensor<4x1xi32> {
  %w = lathe.constant dense<[[126], [128], [130]]> : tensor<3x1xui8>
  %z = lathe.constant dense<128> : tensor<3x1xi32>
  %0 = lathe.cast %x : tensor<4x3xi8> -> tensor<4x3xi32>
  %1 = lathe.cast %w : tensor<3x1xui8> -> tensor<3x1xi32>
  %2 = lathe.sub %1, %z : tensor<3x1xi32>
  %3 = lathe.contract %0, %2 batch [] x [] over [1] x [0] : tensor<4x3xi32>, tensor<3x1xi32> -> tensor<4x1xi32>
  return %3 : tensor<4x1xi32>
}

// Where they do not, it is shifted by 128, and the rest of the zero point meets the sums of rows.
// CHECK-LABEL: @shifted
// CHECK: lathe.constant dense<{{\[\[}}-128], [127]]> : tensor<2x1xi8>
// CHECK: lathe.contract %arg0, {{.*}} : tensor<4x2xui8>, tensor<2x1xi8> -> tensor<4x1xi32>
// CHECK: lathe.reduce sum {{.*}} axes [1]
func.func @shifted(%x: tensor<4x2xui8>) -> tensor<4x1xi32> {
  %w = lathe.constant dense<[[0], [255]]> : tensor<2x1xui8>
  %z = lathe.constant dense<3> : tensor<2x1xi32>
  %0 = lathe.cast %x : tensor<4x2xui8> -> tensor<4x2xi32>
  %1 = lathe.cast %w : tensor<2x1xui8> -> tensor<2x1xi32>
  %2 = lathe.sub %1, %z : tensor<2x1xi32>
  %3 = lathe.contract %0, %2 batch [] x [] over [1] x [0] : tensor<4x2xi32>, tensor<2x1xi32> -> tensor<4x1xi32>
  return %3 : tensor<4x1xi32>
}

// The border of an image is made of its zero point.
// CHECK-LABEL: @border
// CHECK: %[[PAD:.*]] = lathe.pad %arg0, {{.*}} low ["0", "0", "1"] high ["0", "0", "1"] : tensor<1x2x5xui8>, tensor<ui8> -> tensor<1x2x7xui8>
// CHECK: lathe.conv %[[PAD]], {{.*}} pads ["0", "0"] groups 1 : tensor<1x2x7xui8>, tensor<3x2x3xi8> -> tensor<1x3x5xi32>
func.func @border(%x: tensor<1x2x5xui8>, %w: tensor<3x2x3xi8>) -> tensor<1x3x5xi32> {
  %z = lathe.constant dense<7> : tensor<1x2x5xi32>
  %0 = lathe.cast %x : tensor<1x2x5xui8> -> tensor<1x2x5xi32>
  %1 = lathe.sub %0, %z : tensor<1x2x5xi32>
  %2 = lathe.cast %w : tensor<3x2x3xi8> -> tensor<3x2x3xi32>
  %3 = lathe.conv %1, %2 strides [1] dilations [1] pads ["1", "1"] groups 1 : tensor<1x2x5xi32>, tensor<3x2x3xi32> -> tensor<1x3x5xi32>
  return %3 : tensor<1x3x5xi32>
}

// Between Dequantize and Quantize: both scales behind the sum.
// CHECK-LABEL: @floats
// CHECK: %[[P:.*]] = lathe.contract %arg0, {{.*}} : tensor<4x3xui8>, tensor<3x2xi8> -> tensor<4x2xi32>
// CHECK: %[[F:.*]] = lathe.cast %[[P]] : tensor<4x2xi32> -> tensor<4x2xf32>
// CHECK: %[[S:.*]] = lathe.mul
// CHECK: lathe.mul %[[F]], %[[S]]
func.func @floats(%x: tensor<4x3xui8>, %s: tensor<f32>) -> tensor<4x2xf32> {
  %w = lathe.constant dense<[[1, 2], [2, 3], [3, -3]]> : tensor<3x2xi8>
  %t = lathe.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %0 = lathe.cast %x : tensor<4x3xui8> -> tensor<4x3xf32>
  %1 = lathe.broadcast %s : tensor<f32> -> tensor<4x3xf32>
  %2 = lathe.mul %0, %1 : tensor<4x3xf32>
  %3 = lathe.cast %w : tensor<3x2xi8> -> tensor<3x2xf32>
  %4 = lathe.broadcast %t : tensor<2xf32> -> tensor<3x2xf32>
  %5 = lathe.mul %3, %4 : tensor<3x2xf32>
  %6 = lathe.contract %2, %5 batch [] x [] over [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  return %6 : tensor<4x2xf32>
}

// A zero point that varies along the sum stays where it is.
// CHECK-LABEL: @varies
// CHECK: lathe.contract {{.*}} : tensor<4x3xi32>, tensor<3x2xi32> -> tensor<4x2xi32>
func.func @varies(%x: tensor<4x3xui8>, %z: tensor<3xi32>, %w: tensor<3x2xi8>) -> tensor<4x2xi32> {
  %0 = lathe.cast %x : tensor<4x3xui8> -> tensor<4x3xi32>
  %1 = lathe.broadcast %z : tensor<3xi32> -> tensor<4x3xi32>
  %2 = lathe.sub %0, %1 : tensor<4x3xi32>
  %3 = lathe.cast %w : tensor<3x2xi8> -> tensor<3x2xi32>
  %4 = lathe.contract %2, %3 batch [] x [] over [1] x [0] : tensor<4x3xi32>, tensor<3x2xi32> -> tensor<4x2xi32>
  return %4 : tensor<4x2xi32>
}

// A channel by itself: bytes, of which four taps of a line are multiplied at a time, its border made of zero points. Where that is not asked for, and where lines are
// longer or steps are wider than that, floats, in which so few products are exact; what is too long for these stays in bytes.
// CHECK-LABEL: @depthwise(
// CHECK: %[[PAD:.*]] = lathe.pad %arg0, {{.*}} low ["0", "0", "1"] high ["0", "0", "1"]
// CHECK: %[[S:.*]] = lathe.conv %[[PAD]], {{.*}} pads ["0", "0"] groups 2 : tensor<1x2x11xui8>, tensor<2x1x3xi8> -> tensor<1x2x9xi32>
// CHECK: lathe.constant dense<{{\[\[\[}}6], [15]]]> : tensor<1x2x1xi32>
// FLOATS-LABEL: @depthwise(
// FLOATS: %[[X:.*]] = lathe.cast %arg0 : tensor<1x2x9xui8> -> tensor<1x2x9xf32>
// FLOATS: %[[Z:.*]] = lathe.sub %[[X]]
// FLOATS: %[[S:.*]] = lathe.conv %[[Z]], {{.*}} pads ["1", "1"] groups 2 : tensor<1x2x9xf32>, tensor<2x1x3xf32> -> tensor<1x2x9xf32>
// FLOATS: lathe.cast %[[S]] : tensor<1x2x9xf32> -> tensor<1x2x9xi32>
func.func @depthwise(%x: tensor<1x2x9xui8>) -> tensor<1x2x9xi32> {
  %w = lathe.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi32>
  %z = lathe.constant dense<7> : tensor<1x2x9xi32>
  %0 = lathe.cast %x : tensor<1x2x9xui8> -> tensor<1x2x9xi32>
  %1 = lathe.sub %0, %z : tensor<1x2x9xi32>
  %2 = lathe.conv %1, %w strides [1] dilations [1] pads ["1", "1"] groups 2 : tensor<1x2x9xi32>, tensor<2x1x3xi32> -> tensor<1x2x9xi32>
  return %2 : tensor<1x2x9xi32>
}

// CHECK-LABEL: @depthwise_wide
// CHECK: lathe.conv {{.*}} strides [2] dilations [2] {{.*}} groups 2 : tensor<1x2x9xf32>, tensor<2x1x3xf32> -> tensor<1x2x3xf32>
func.func @depthwise_wide(%x: tensor<1x2x9xui8>) -> tensor<1x2x3xi32> {
  %w = lathe.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi32>
  %0 = lathe.cast %x : tensor<1x2x9xui8> -> tensor<1x2x9xi32>
  %1 = lathe.conv %0, %w strides [2] dilations [2] pads ["0", "0"] groups 2 : tensor<1x2x9xi32>, tensor<2x1x3xi32> -> tensor<1x2x3xi32>
  return %1 : tensor<1x2x3xi32>
}

// CHECK-LABEL: @depthwise_lines
// CHECK: lathe.conv {{.*}} groups 2 : tensor<1x2x67xf32>, tensor<2x1x65xf32> -> tensor<1x2x3xf32>
func.func @depthwise_lines(%x: tensor<1x2x67xui8>) -> tensor<1x2x3xi32> {
  %w = lathe.constant dense<3> : tensor<2x1x65xi32>
  %0 = lathe.cast %x : tensor<1x2x67xui8> -> tensor<1x2x67xi32>
  %1 = lathe.conv %0, %w strides [1] dilations [1] pads ["0", "0"] groups 2 : tensor<1x2x67xi32>, tensor<2x1x65xi32> -> tensor<1x2x3xi32>
  return %1 : tensor<1x2x3xi32>
}

// CHECK-LABEL: @depthwise_long
// CHECK: lathe.conv {{.*}} groups 2 : tensor<1x2x209xui8>, tensor<2x1x200xi8> -> tensor<1x2x10xi32>
func.func @depthwise_long(%x: tensor<1x2x209xui8>) -> tensor<1x2x10xi32> {
  %w = lathe.constant dense<3> : tensor<2x1x200xi32>
  %0 = lathe.cast %x : tensor<1x2x209xui8> -> tensor<1x2x209xi32>
  %2 = lathe.conv %0, %w strides [1] dilations [1] pads ["0", "0"] groups 2 : tensor<1x2x209xi32>, tensor<2x1x200xi32> -> tensor<1x2x10xi32>
  return %2 : tensor<1x2x10xi32>
}
