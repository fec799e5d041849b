// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

// A 1x1 convolution reads each element once for each of its channels. A maximum of several elements is made before it; a sum of two images is
// computed as the convolution packs its rows.
func.func @main(%x: tensor<1x16x8x32xf32>, %y: tensor<1x16x8x8xf32>, %w: tensor<24x16x1x1xf32>) -> (tensor<1x24x8x8xf32>, tensor<1x24x8x8xf32>) {
  %a = lathe.slice %x starts ["0", "0", "0", "0"] steps [1, 1, 1, 4] : tensor<1x16x8x32xf32> -> tensor<1x16x8x8xf32>
  %b = lathe.slice %x starts ["0", "0", "0", "1"] steps [1, 1, 1, 4] : tensor<1x16x8x32xf32> -> tensor<1x16x8x8xf32>
  %c = lathe.slice %x starts ["0", "0", "0", "2"] steps [1, 1, 1, 4] : tensor<1x16x8x32xf32> -> tensor<1x16x8x8xf32>
  %0 = lathe.max %a, %b : tensor<1x16x8x8xf32>
  %1 = lathe.max %0, %c : tensor<1x16x8x8xf32>
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x16x8x8xf32>, tensor<24x16x1x1xf32> -> tensor<1x24x8x8xf32>
  %3 = lathe.add %a, %y : tensor<1x16x8x8xf32>
  %4 = lathe.conv %3, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x16x8x8xf32>, tensor<24x16x1x1xf32> -> tensor<1x24x8x8xf32>
  return %2, %4 : tensor<1x24x8x8xf32>, tensor<1x24x8x8xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK: kernel.generic loop
// CHECK: arith.maximumf
// CHECK: kernel.generic reduction
// CHECK-NOT: arith.maximumf
// CHECK: kernel.reduce add
// CHECK: kernel.generic reduction
// CHECK: arith.addf
// CHECK: kernel.reduce add

// Halves that windows read as floats are read as halves: what makes them stores them so, and a window makes floats of what it has read.
func.func @halves(%x: tensor<1x4x9x16xbf16>) -> tensor<1x4x9x7xbf16> {
  %least = lathe.constant dense<0xFF800000> : tensor<f32>
  %n = lathe.neg %x : tensor<1x4x9x16xbf16>
  %f = lathe.cast %n : tensor<1x4x9x16xbf16> -> tensor<1x4x9x16xf32>
  %p = lathe.pad %f, %least low ["0", "0", "0", "1"] high ["0", "0", "0", "1"] : tensor<1x4x9x16xf32>, tensor<f32> -> tensor<1x4x9x18xf32>
  %a = lathe.slice %p starts ["0", "0", "0", "0"] steps [1, 1, 1, 2] : tensor<1x4x9x18xf32> -> tensor<1x4x9x7xf32>
  %b = lathe.slice %p starts ["0", "0", "0", "1"] steps [1, 1, 1, 2] : tensor<1x4x9x18xf32> -> tensor<1x4x9x7xf32>
  %0 = lathe.max %a, %b : tensor<1x4x9x7xf32>
  %1 = lathe.cast %0 : tensor<1x4x9x7xf32> -> tensor<1x4x9x7xbf16>
  return %1 : tensor<1x4x9x7xbf16>
}
// CHECK-LABEL: func.func @halves(
// CHECK: kernel.generic loop {{.*}} outs(tensor<1x4x9x16xbf16>)
// CHECK: arith.negf
// CHECK: kernel.generic loop {{.*}} ins({{.*}} : tensor<1x4x9x16xbf16>) outs(tensor<1x4x9x7xbf16>)
// CHECK: arith.extf
// CHECK: arith.maximumf

// So are they where a window has no border.
func.func @halves_without_border(%x: tensor<1x4x9x16xbf16>) -> tensor<1x4x9x8xbf16> {
  %n = lathe.neg %x : tensor<1x4x9x16xbf16>
  %f = lathe.cast %n : tensor<1x4x9x16xbf16> -> tensor<1x4x9x16xf32>
  %a = lathe.slice %f starts ["0", "0", "0", "0"] steps [1, 1, 1, 2] : tensor<1x4x9x16xf32> -> tensor<1x4x9x8xf32>
  %b = lathe.slice %f starts ["0", "0", "0", "1"] steps [1, 1, 1, 2] : tensor<1x4x9x16xf32> -> tensor<1x4x9x8xf32>
  %0 = lathe.max %a, %b : tensor<1x4x9x8xf32>
  %1 = lathe.cast %0 : tensor<1x4x9x8xf32> -> tensor<1x4x9x8xbf16>
  return %1 : tensor<1x4x9x8xbf16>
}
// CHECK-LABEL: func.func @halves_without_border(
// CHECK: kernel.generic loop {{.*}} outs(tensor<1x4x9x16xbf16>)
// CHECK: arith.negf
// CHECK: kernel.generic loop {{.*}} ins({{.*}} : tensor<1x4x9x16xbf16>) outs(tensor<1x4x9x8xbf16>)
// CHECK: arith.extf
// CHECK: arith.maximumf
