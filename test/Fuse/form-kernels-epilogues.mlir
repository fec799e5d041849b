// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

// What stands between a convolution and one with a single place is the epilogue of the first: a function of one value, which is read
// twice there, and a sum with a second image. The second convolution then reads its image as it lies.
!x = tensor<1x16x8x8xf32>

// CHECK-LABEL: func.func @function
// CHECK: kernel.generic reduction @mul
// CHECK: kernel.reduce add
// CHECK: math.tanh
// CHECK: kernel.generic reduction @conv
// CHECK-NOT: math.tanh
// CHECK: return
func.func @function(%x: !x, %w: tensor<16x16x1x1xf32>, %v: tensor<24x16x1x1xf32>) -> tensor<1x24x8x8xf32> {
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !x, tensor<16x16x1x1xf32> -> !x
  %1 = lathe.tanh %0 : !x
  %2 = lathe.mul %0, %1 : !x
  %3 = lathe.conv %2, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !x, tensor<24x16x1x1xf32> -> tensor<1x24x8x8xf32>
  return %3 : tensor<1x24x8x8xf32>
}

// CHECK-LABEL: func.func @residual
// CHECK: kernel.generic reduction @add
// CHECK: %[[SUM:.*]] = kernel.reduce add
// CHECK: %[[X:.*]] = kernel.load
// CHECK: arith.addf %[[SUM]], %[[X]]
// CHECK: kernel.generic reduction @conv_1 {{.*}} ins(%{{[0-9]+}}, %{{[a-z0-9]+}} :
// CHECK: return
func.func @residual(%x: !x, %w: tensor<16x16x1x1xf32>, %v: tensor<24x16x1x1xf32>) -> tensor<1x24x8x8xf32> {
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !x, tensor<16x16x1x1xf32> -> !x
  %1 = lathe.add %0, %x : !x
  %2 = lathe.conv %1, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !x, tensor<24x16x1x1xf32> -> tensor<1x24x8x8xf32>
  return %2 : tensor<1x24x8x8xf32>
}
