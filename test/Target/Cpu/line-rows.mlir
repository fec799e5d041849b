// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters | lathe-kernel - --variant=avx512 --emit=asm | FileCheck %s

// Windows of one line of pixels share what they read of it, so it is copied once for all of its taps, in whole vectors: none is made of pixels that lie apart.
// Row r of a tile reads element 2 * r + k of a line at tap k. Results with their channels together are written as they come; those with their pixels
// together are transposed, where sums are long. The same with lines of open length.
// CHECK-LABEL: conv_avx512.body:
// CHECK-NOT: vpermt2ps
// CHECK: vbroadcastss ([[LINE:%r[a-z0-9]+]]
// CHECK: vbroadcastss 8([[LINE]]
// CHECK: vbroadcastss 16([[LINE]]
// CHECK: .size
// CHECK-LABEL: conv_1_avx512.body:
// CHECK: vbroadcastss 16(
// CHECK: vbroadcastss 32(
// CHECK: .size
// CHECK-LABEL: conv_3_avx512.body:
// CHECK-NOT: vpermt2ps
// CHECK: vbroadcastss 8(
// CHECK: .size
!open = tensor<1x3x?x?xf32, #lathe.dims<"1", "3", "h", "w">>
!half = tensor<1x32x?x?xf32, #lathe.dims<"1", "32", "floordiv(h - 1, 2) + 1", "floordiv(w - 1, 2) + 1">>
module {
lathe.symbol "h" range [1, -1]
lathe.symbol "w" range [1, -1]
func.func @main(%x: tensor<1x3x224x224xf32>, %y: !open) -> (tensor<1x32x112x112xf32>, tensor<1x64x55x55xf32>, !half) {
  %w = lathe.constant dense_resource<w> : tensor<32x3x3x3xf32>
  %v = lathe.constant dense_resource<v> : tensor<64x3x11x11xf32>
  %u = lathe.constant dense_resource<u> : tensor<32x32x1x1xf32>
  %1 = lathe.conv %x, %w strides [2, 2] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x3x224x224xf32>, tensor<32x3x3x3xf32> -> tensor<1x32x112x112xf32>
  %2 = lathe.conv %x, %v strides [4, 4] dilations [1, 1] pads ["2", "2", "2", "2"] groups 1 : tensor<1x3x224x224xf32>, tensor<64x3x11x11xf32> -> tensor<1x64x55x55xf32>
  %3 = lathe.conv %1, %u strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x32x112x112xf32>, tensor<32x32x1x1xf32> -> tensor<1x32x112x112xf32>
  %4 = lathe.conv %y, %w strides [2, 2] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !open, tensor<32x3x3x3xf32> -> !half
  %5 = lathe.conv %4, %u strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !half, tensor<32x32x1x1xf32> -> !half
  return %3, %2, %5 : tensor<1x32x112x112xf32>, tensor<1x64x55x55xf32>, !half
}
}
