// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels=packs-images=false | FileCheck %s --check-prefix=COPIED

// Squeeze and excitation: channels scaled by what follows from their own means. A convolution that packs its image multiplies
// there; for one that copies tiles the products are made before.
func.func @main(%x: tensor<2x16x8x8xf32>, %v: tensor<16x16x1x1xf32>, %w: tensor<24x16x1x1xf32>) -> tensor<2x24x8x8xf32> {
  %0 = lathe.exp %x : tensor<2x16x8x8xf32>
  %1 = lathe.reduce max %0 axes [2, 3] : tensor<2x16x8x8xf32> -> tensor<2x16xf32>
  %2 = lathe.reshape %1 : tensor<2x16xf32> -> tensor<2x16x1x1xf32>
  %3 = lathe.conv %2, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<2x16x1x1xf32>, tensor<16x16x1x1xf32> -> tensor<2x16x1x1xf32>
  %4 = lathe.broadcast %3 : tensor<2x16x1x1xf32> -> tensor<2x16x8x8xf32>
  %5 = lathe.mul %0, %4 : tensor<2x16x8x8xf32>
  %6 = lathe.conv %5, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<2x16x8x8xf32>, tensor<24x16x1x1xf32> -> tensor<2x24x8x8xf32>
  return %6 : tensor<2x24x8x8xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK: kernel.generic reduction @reduce_reduce
// CHECK: kernel.generic reduction @conv axes(i0 = "2", i1 = "16", i2 = "16")
// CHECK: kernel.generic reduction @conv_1 {{.*}} outs(tensor<2x24x8x8xf32>)
// CHECK: %[[X:.*]] = kernel.load {{.*}}["1024*i0 + 8*i2 + i3 + 64*i4"]
// CHECK: %[[S:.*]] = kernel.load {{.*}}["16*i0 + i4"]
// CHECK: arith.mulf %[[X]], %[[S]]
// CHECK: kernel.reduce add

// COPIED-LABEL: func.func @main(
// COPIED: kernel.generic reduction @conv axes(i0 = "2", i1 = "16", i2 = "16")
// COPIED: kernel.generic loop @mul {{.*}} outs(tensor<2x16x8x8xf32>)
// COPIED: kernel.generic reduction @conv_1
// COPIED: kernel.load {{.*}}["1024*i0 + 8*i2 + i3 + 64*i4"]
// COPIED-NEXT: kernel.load {{.*}}["16*i1 + i4"]
