// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last=halves=1 --lathe-pack-filters="halves=1 panel=0" --lathe-verify-accesses | FileCheck %s

!x = tensor<1x16x8x8xbf16>
// For a GPU images of 16 bits have their channels last, too, and a filter is a row for each column, in the order of the summed
// axes. A depthwise filter gets its channels last.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = lathe.constant dense_resource<w>
// CHECK: kernel.pack %[[W]] {k = 144 : i64, kExtents = array<i64: 16, 3, 3>, kStride = 0 : i64, kStrides = array<i64: 9, 3, 1>, n = 40 : i64, nStride = 144 : i64, panel = 0 : i64} : tensor<40x16x3x3xbf16> -> tensor<40x144xbf16>
// CHECK: outs(tensor<1x8x8x40xbf16>)
// CHECK: kernel.load %{{.*}}["144*i0 + 9*i3 + 3*i4 + i5"] : <bf16> -> bf16
// CHECK: kernel.pack %{{.*}} {k = 40 : i64, kStride = 9 : i64, n = 9 : i64, nStride = 1 : i64, panel = 0 : i64} : tensor<40x1x3x3xbf16> -> tensor<9x40xbf16>
// CHECK: kernel.load %{{.*}}["i0 + 120*i3 + 40*i4"]
// CHECK: kernel.pack %{{.*}} {k = 360 : i64, kExtents = array<i64: 3, 3, 40>, kStride = 0 : i64, kStrides = array<i64: 3, 1, 9>, n = 16 : i64
func.func @main(%x: !x) -> !x {
  %w = lathe.constant dense_resource<w> : tensor<40x16x3x3xbf16>
  %d = lathe.constant dense_resource<d> : tensor<40x1x3x3xbf16>
  %p = lathe.constant dense_resource<p> : tensor<16x40x3x3xbf16>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<40x16x3x3xbf16> -> tensor<1x40x8x8xbf16>
  %2 = lathe.conv %1, %d strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 40 : tensor<1x40x8x8xbf16>, tensor<40x1x3x3xbf16> -> tensor<1x40x8x8xbf16>
  %3 = lathe.conv %2, %p strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x40x8x8xbf16>, tensor<16x40x3x3xbf16> -> !x
  return %3 : !x
}
