// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters --lathe-verify-accesses | FileCheck %s
// RUN: lathe-opt %s '--lathe-form-kernels=extends-rows=false' --lathe-channels-last --lathe-pack-filters --lathe-verify-accesses | FileCheck %s --check-prefix=THREADS

// Results whose channels lie side by side, since a transpose stands behind, are stored by vectors of columns, however many products go into each: the filter is
// packed for them. So it is where threads exchange lines and pixels, of which no vectors are made at all; elsewhere these are exchanged in a kernel of their own.
// Pixels that lie together in the image and in the results are put in the lanes, and the filter stays as it is.
// CHECK-LABEL: func.func @channels
// CHECK: kernel.pack %{{.*}} {k = 1600 : i64
// CHECK: kernel.load {{.*}} {packed}
// CHECK-LABEL: func.func @exchanged
// CHECK-NOT: kernel.pack
// CHECK: kernel.generic loop @{{.*}} outs(tensor<2x40x24x30xf32>)
// THREADS-LABEL: func.func @exchanged
// THREADS: kernel.pack %{{.*}} {k = 1600 : i64
// THREADS: kernel.load {{.*}} {packed}
// CHECK-LABEL: func.func @together
// CHECK-NOT: kernel.pack
// CHECK: return
// A convolution of groups behind another one, whose results are turned: only its image gets another order, and a group's results stay together.
// CHECK-LABEL: func.func @groups
// CHECK: kernel.generic reduction @{{.*}} axes(i0 = "2", i3 = "900", i1 = "4", i2 = "16", i5 = "19", i4 = "16")
// CHECK: kernel.load {{.*}} {grouped
!x = tensor<2x64x30x24xf32>
!w = tensor<40x64x5x5xf32>
!y = tensor<2x40x30x24xf32>
func.func @channels(%x: !x) -> tensor<2x30x24x40xf32> {
  %w = lathe.constant dense_resource<w> : !w
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["2", "2", "2", "2"] groups 1 : !x, !w -> !y
  %1 = lathe.transpose %0 [0, 2, 3, 1] : !y -> tensor<2x30x24x40xf32>
  return %1 : tensor<2x30x24x40xf32>
}
func.func @exchanged(%x: !x) -> tensor<2x40x24x30xf32> {
  %w = lathe.constant dense_resource<w> : !w
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["2", "2", "2", "2"] groups 1 : !x, !w -> !y
  %1 = lathe.transpose %0 [0, 1, 3, 2] : !y -> tensor<2x40x24x30xf32>
  return %1 : tensor<2x40x24x30xf32>
}
func.func @together(%x: !x) -> !y {
  %w = lathe.constant dense_resource<w> : !w
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["2", "2", "2", "2"] groups 1 : !x, !w -> !y
  return %0 : !y
}
func.func @groups(%x: tensor<2x32x900xf32>) -> tensor<2x900x64xf32> {
  %w = lathe.constant dense_resource<first> : tensor<64x32x3xf32>
  %0 = lathe.conv %x, %w strides [1] dilations [1] pads ["1", "1"] groups 1 : tensor<2x32x900xf32>, tensor<64x32x3xf32> -> tensor<2x64x900xf32>
  %v = lathe.constant dense_resource<second> : tensor<64x16x19xf32>
  %1 = lathe.conv %0, %v strides [1] dilations [1] pads ["9", "9"] groups 4 : tensor<2x64x900xf32>, tensor<64x16x19xf32> -> tensor<2x64x900xf32>
  %2 = lathe.transpose %1 [0, 2, 1] : tensor<2x64x900xf32> -> tensor<2x900x64xf32>
  return %2 : tensor<2x900x64xf32>
}
