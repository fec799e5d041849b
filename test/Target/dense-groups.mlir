// RUN: lathe-opt %s --lathe-form-kernels --lathe-dense-groups | FileCheck %s

// Two groups of two input and two output channels become a plain convolution of four to four, whose filter has zeros between the groups. What stands
// behind the sum goes by the channel of all.
// CHECK-LABEL: func.func @main
// CHECK: lathe.constant dense<{{.*}}[1.000000e+00], [2.000000e+00], [0.000000e+00], [0.000000e+00]], {{.*}}[0.000000e+00], [0.000000e+00], [7.000000e+00], [8.000000e+00]]]> : tensor<4x4x1xf16>
// CHECK: axes([[N:i[0-9]+]] = "4", i{{[0-9]+}} = "5", i{{[0-9]+}} = "5", [[C:i[0-9]+]] = "4")
// CHECK: kernel.load %{{.*}}["5*i{{[0-9]+}} + i{{[0-9]+}} + 25*[[C]]"]
// CHECK: kernel.load %{{.*}}["4*[[N]] + [[C]]"] : <f16>
// CHECK: kernel.load %{{.*}}["[[N]]"] : <f16>
// CHECK: kernel.store {{.*}}["25*[[N]] + 5*
func.func @main(%x: tensor<1x4x5x5xf16>, %b: tensor<4xf16>) -> tensor<1x4x5x5xf16> {
  %w = lathe.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]], [[[7.0]], [[8.0]]]]> : tensor<4x2x1x1xf16>
  %0 = lathe.reshape %b : tensor<4xf16> -> tensor<1x4x1x1xf16>
  %1 = lathe.broadcast %0 : tensor<1x4x1x1xf16> -> tensor<1x4x5x5xf16>
  %2 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 2 : tensor<1x4x5x5xf16>, tensor<4x2x1x1xf16> -> tensor<1x4x5x5xf16>
  %3 = lathe.add %2, %1 : tensor<1x4x5x5xf16>
  return %3 : tensor<1x4x5x5xf16>
}

// Wide groups fill tiles by themselves, f32 has no tensor cores, and a depthwise convolution is a program of rows.
// CHECK-LABEL: func.func @others
// CHECK: kernel.generic reduction @conv axes({{.*}} = "2", {{.*}} = "64"
// CHECK: kernel.generic reduction @conv_1 axes({{.*}} = "4", {{.*}} = "32"
func.func @others(%x: tensor<1x128x8x8xf16>, %y: tensor<1x128x8x8xf32>) -> (tensor<1x128x8x8xf16>, tensor<1x128x8x8xf32>) {
  %w = lathe.constant dense_resource<w> : tensor<128x64x3x3xf16>
  %v = lathe.constant dense_resource<v> : tensor<128x32x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 2 : tensor<1x128x8x8xf16>, tensor<128x64x3x3xf16> -> tensor<1x128x8x8xf16>
  %2 = lathe.conv %y, %v strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 4 : tensor<1x128x8x8xf32>, tensor<128x32x3x3xf32> -> tensor<1x128x8x8xf32>
  return %1, %2 : tensor<1x128x8x8xf16>, tensor<1x128x8x8xf32>
}
