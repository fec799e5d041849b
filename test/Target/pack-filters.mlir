// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters | FileCheck %s

!x = tensor<1x16x8x8xf32>
// Rows of a packed filter follow the order of the summed axes; a depthwise filter gets its channels last. The last result
// has its pixels in order, so that its filter could stay, but its image has channels last.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = lathe.constant dense_resource<w>
// CHECK: %[[D:.*]] = lathe.constant dense_resource<d>
// CHECK: kernel.pack %[[W]] {k = 144 : i64, kExtents = array<i64: 16, 3, 3>, kStride = 0 : i64, kStrides = array<i64: 9, 3, 1>, n = 40 : i64, nStride = 144 : i64, panel = 32 : i64} : tensor<40x16x3x3xf32> -> tensor<2x144x32xf32>
// CHECK: kernel.load %{{.*}}["144*i0 + 9*i3 + 3*i4 + i5"] {packed}
// CHECK: kernel.pack %[[D]] {k = 40 : i64, kStride = 9 : i64, n = 9 : i64, nStride = 1 : i64, panel = 0 : i64} : tensor<40x1x3x3xf32> -> tensor<9x40xf32>
// CHECK: kernel.load %{{.*}}["i0 + 120*i3 + 40*i4"]
// CHECK: kernel.pack %{{.*}} {k = 40 : i64, kExtents = array<i64: 40>
func.func @main(%x: !x) -> !x {
  %w = lathe.constant dense_resource<w> : tensor<40x16x3x3xf32>
  %d = lathe.constant dense_resource<d> : tensor<40x1x3x3xf32>
  %p = lathe.constant dense_resource<p> : tensor<16x40x1x1xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<40x16x3x3xf32> -> tensor<1x40x8x8xf32>
  %2 = lathe.conv %1, %d strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 40 : tensor<1x40x8x8xf32>, tensor<40x1x3x3xf32> -> tensor<1x40x8x8xf32>
  %3 = lathe.conv %2, %p strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x40x8x8xf32>, tensor<16x40x1x1xf32> -> !x
  return %3 : !x
}
