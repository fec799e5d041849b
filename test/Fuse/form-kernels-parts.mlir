// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

// What follows a convolution element by element is stored by its kernel, also where it is a part of a concatenation that another one reads: that reads whole
// parts as they lie.
// CHECK-LABEL: func.func @part
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<2x128x9x9xf32>)
// CHECK: kernel.reduce add
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<2x256x9x9xf32>)
// CHECK-NOT: arith.maximumf
// CHECK: return
!x = tensor<2x128x9x9xf32>
func.func @part(%x: !x, %bias: tensor<128xf32>) -> tensor<2x256x9x9xf32> {
  %w = lathe.constant dense_resource<first> : tensor<128x128x1x1xf32>
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !x, tensor<128x128x1x1xf32> -> !x
  %1 = lathe.reshape %bias : tensor<128xf32> -> tensor<1x128x1x1xf32>
  %2 = lathe.broadcast %1 : tensor<1x128x1x1xf32> -> !x
  %3 = lathe.add %0, %2 : !x
  %zero = lathe.constant dense<0.0> : tensor<2x128x9x9xf32>
  %4 = lathe.max %3, %zero : !x
  %5 = lathe.concat %x, %4 axis 1 : !x, !x -> tensor<2x256x9x9xf32>
  %v = lathe.constant dense_resource<second> : tensor<256x256x1x1xf32>
  %6 = lathe.conv %5, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<2x256x9x9xf32>, tensor<256x256x1x1xf32> -> tensor<2x256x9x9xf32>
  return %6 : tensor<2x256x9x9xf32>
}
