// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters | lathe-kernel - --variant=avx512 --emit=asm | FileCheck %s

// The first convolution of a model reads planes: where the taps of 3x3 pixels are packed (they lie apart here, others read lines), what two lines of results
// further on reads first is requested. A window of seven lines has products enough to wait behind.
// CHECK-LABEL: conv_avx512.body:
// CHECK: prefetcht0
// CHECK-NEXT: prefetcht0
// CHECK: vpermt2ps
// CHECK: .size
// CHECK-LABEL: conv_1_avx512.body:
// CHECK-NOT: prefetcht0
// CHECK: vpermt2ps
// CHECK: .size
func.func @main(%x: tensor<1x3x224x224xf32>) -> (tensor<1x16x112x112xf32>, tensor<1x16x112x112xf32>) {
  %w = lathe.constant dense_resource<w> : tensor<16x3x3x3xf32>
  %v = lathe.constant dense_resource<v> : tensor<16x3x7x7xf32>
  %u = lathe.constant dense_resource<u> : tensor<16x16x1x1xf32>
  %1 = lathe.conv %x, %w strides [2, 2] dilations [2, 2] pads ["2", "2", "2", "2"] groups 1 : tensor<1x3x224x224xf32>, tensor<16x3x3x3xf32> -> tensor<1x16x112x112xf32>
  %2 = lathe.conv %x, %v strides [2, 2] dilations [2, 2] pads ["6", "6", "6", "6"] groups 1 : tensor<1x3x224x224xf32>, tensor<16x3x7x7xf32> -> tensor<1x16x112x112xf32>
  %3 = lathe.conv %1, %u strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x16x112x112xf32>, tensor<16x16x1x1xf32> -> tensor<1x16x112x112xf32>
  %4 = lathe.conv %2, %u strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x16x112x112xf32>, tensor<16x16x1x1xf32> -> tensor<1x16x112x112xf32>
  return %3, %4 : tensor<1x16x112x112xf32>, tensor<1x16x112x112xf32>
}
