// RUN: lathe-opt %s --lathe-form-kernels --lathe-cuda-precision="precision=bf16 windows=true" | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-cuda-precision="precision=f16 windows=true" --lathe-channels-last="halves=true copies=true" --lathe-pack-filters="halves=true panel=0" --lathe-verify-accesses | FileCheck %s --check-prefix=LAYOUT
// RUN: lathe-opt %s --lathe-form-kernels --lathe-cuda-precision="precision=tf32 windows=true" | FileCheck %s --check-prefix=TF32

// Convolutions read images and filters of the half type, and sum in f32: the filter is rounded before its layout is chosen, the input by a kernel of its own.
// The first result is read by the second convolution and by the caller: it is stored twice; the second one by the third alone.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = kernel.generic loop @convert{{.*}} outs(tensor<1x16x8x8xbf16>)
// CHECK: %[[W:.*]] = lathe.constant {{.*}}tensor<16x16x3x3xbf16>
// CHECK: %[[Y:.*]]:2 = kernel.generic reduction @conv axes({{.*}} ins(%[[X]], %[[W]]{{.*}} outs(tensor<1x16x8x8xf32>, tensor<1x16x8x8xbf16>)
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: %[[L:.*]] = kernel.load {{.*}} else %[[ZERO]] : <bf16> else bf16 -> bf16
// CHECK: arith.extf %[[L]] : bf16 to f32
// CHECK: kernel.reduce add {{.*}} : f32
// CHECK: %[[Z:.*]] = kernel.generic reduction @conv_1 axes({{.*}} ins(%[[Y]]#1, %[[W]]{{.*}} outs(tensor<1x16x8x8xbf16>)
// CHECK: kernel.generic reduction @conv_2 axes({{.*}} ins(%[[Z]]
// CHECK: return %[[Y]]#0
// What is rounded is moved as any other image of halves.
// LAYOUT: kernel.pack {{.*}} tensor<16x16x3x3xf16> -> tensor<16x144xf16>
// With tf32 operands stay as they are.
// TF32-LABEL: func.func @main
// TF32: kernel.generic reduction @conv axes({{.*}} outs(tensor<1x16x8x8xf32>){{.*}}precision = "tf32"
func.func @main(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  %3 = lathe.conv %2, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  return %1, %3 : tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>
}
