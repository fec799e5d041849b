// RUN: lathe-opt %s --split-input-file --lathe-form-kernels --lathe-update-in-place | FileCheck %s

!x = tensor<8x32xf32>
// The sum takes the place of the residual, its third operand: nobody reads it afterwards. The last result is the model's own.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = kernel.generic loop @exp
// CHECK-NOT: in_place
// CHECK: kernel.generic contraction @contract_1
// CHECK-SAME: ins(%{{.*}}, %{{.*}}, %[[E]] :
// CHECK-SAME: in_place = 2 : i64
// CHECK-NOT: in_place
// CHECK: return
func.func @main(%a: !x, %w: tensor<32x32xf32>) -> !x {
  %e = lathe.exp %a : !x
  %0 = lathe.contract %e, %w batch [] x [] over [1] x [0] : !x, tensor<32x32xf32> -> !x
  %t = lathe.contract %0, %w batch [] x [] over [1] x [0] : !x, tensor<32x32xf32> -> !x
  %1 = lathe.add %t, %e : !x
  %2 = lathe.contract %1, %w batch [] x [] over [1] x [0] : !x, tensor<32x32xf32> -> !x
  %3 = lathe.add %2, %1 : !x
  return %3 : !x
}

// -----

!x = tensor<32x32xf32>
// What the product itself reads stays, what is read later stays, and so does what the caller gave.
// CHECK-LABEL: func.func @main
// CHECK-NOT: in_place
// CHECK: return
func.func @main(%a: !x, %w: !x) -> (!x, !x) {
  %e = lathe.exp %a : !x
  %0 = lathe.contract %e, %w batch [] x [] over [1] x [0] : !x, !x -> !x
  %1 = lathe.add %0, %e : !x
  %2 = lathe.contract %1, %w batch [] x [] over [1] x [0] : !x, !x -> !x
  %3 = lathe.add %2, %a : !x
  %4 = lathe.contract %3, %w batch [] x [] over [1] x [0] : !x, !x -> !x
  %5 = lathe.add %4, %1 : !x
  %6 = lathe.contract %5, %w batch [] x [] over [1] x [0] : !x, !x -> !x
  %7 = lathe.contract %1, %w batch [] x [] over [1] x [0] : !x, !x -> !x
  return %6, %7 : !x, !x
}

// -----

!x = tensor<1x16x8x8xf32>
// A depthwise convolution computes some elements twice.
// CHECK-LABEL: func.func @main
// CHECK: kernel.generic reduction @conv
// CHECK: kernel.generic reduction @add
// CHECK-NOT: in_place
// CHECK: return
func.func @main(%a: !x) -> !x {
  %d = lathe.constant dense_resource<d> : tensor<16x1x3x3xf32>
  %w = lathe.constant dense_resource<w> : tensor<16x16x1x1xf32>
  %e = lathe.conv %a, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !x, tensor<16x16x1x1xf32> -> !x
  %0 = lathe.conv %a, %d strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 16 : !x, tensor<16x1x3x3xf32> -> !x
  %1 = lathe.add %0, %e : !x
  %2 = lathe.conv %1, %d strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 16 : !x, tensor<16x1x3x3xf32> -> !x
  return %2 : !x
}

// -----

!x = tensor<8x32xf32>
// A state's new value takes the place of the old one; a result that is not that state's does not.
// CHECK-LABEL: func.func @main
// CHECK: kernel.generic loop @exp
// CHECK-NOT: in_place
// CHECK: kernel.generic loop @add
// CHECK-SAME: in_place = {{[0-9]}} : i64
func.func @main(%a: !x {lathe.state = "a"}, %b: !x {lathe.state = "b"}, %x: tensor<32x8xf32>) -> (!x, !x {lathe.state = "a"}, !x {lathe.state = "b"}) {
  %0 = lathe.exp %b : !x
  %t = lathe.transpose %x [1, 0] : tensor<32x8xf32> -> !x
  %1 = lathe.add %a, %t : !x
  %2 = lathe.contract %1, %x batch [] x [] over [1] x [0] : !x, tensor<32x8xf32> -> tensor<8x8xf32>
  %3 = lathe.contract %2, %t batch [] x [] over [1] x [0] : tensor<8x8xf32>, !x -> !x
  return %0, %1, %3 : !x, !x, !x
}
