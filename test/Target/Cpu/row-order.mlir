// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters | lathe-kernel - --variant=avx512 --emit=mlir | FileCheck %s

// A kernel that goes through the rows of its result from one end to the other says so, and what these need of its operand, behind the five answers of
// every plan. The expansion has two panels of columns for each block of its rows, which are of 64 floats.
// CHECK-LABEL: func.func @{{.*}}conv_1_avx512_plan(
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[5]
// CHECK-NEXT: llvm.store %c2_i64{{[_0-9]*}}, %[[AT]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[6]
// CHECK-NEXT: llvm.store %c25088_i64{{[_0-9]*}}, %[[AT]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[8]
// CHECK-NEXT: llvm.store %c256_i64{{[_0-9]*}}, %[[AT]]

// A depthwise line of 56 pixels is seven tiles; it needs three lines of 112: line y rows from 224 y - 113 on, up to 224 y + 224, of the 12544 that an
// image has.
// CHECK-LABEL: func.func @{{.*}}conv_2_avx512_plan(
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[5]
// CHECK-NEXT: llvm.store %c7_i64{{[_0-9]*}}, %[[AT]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[9]
// CHECK-NEXT: llvm.store %c1_i64{{[_0-9]*}}, %[[AT]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[11]
// CHECK-NEXT: llvm.store %c56_i64{{[_0-9]*}}, %[[AT]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[13]
// CHECK-NEXT: llvm.store %c12544_i64{{[_0-9]*}}, %[[AT]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[14]
// CHECK-NEXT: llvm.store %c224_i64{{[_0-9]*}}, %[[AT]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[15]
// CHECK-NEXT: llvm.store %c-113_i64{{[_0-9]*}}, %[[AT]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[16]
// CHECK-NEXT: llvm.store %c224_i64{{[_0-9]*}}, %[[AT]]

// The projection writes planes: there are no rows of its result.
// CHECK-LABEL: func.func @{{.*}}conv_3_avx512_plan(
// CHECK-NOT: llvm.getelementptr %arg1[5]
// CHECK: return
func.func @main(%x: tensor<2x16x112x112xf32>) -> tensor<2x24x56x56xf32> {
  %u = lathe.constant dense_resource<u> : tensor<16x16x1x1xf32>
  %w = lathe.constant dense_resource<w> : tensor<64x16x1x1xf32>
  %d = lathe.constant dense_resource<d> : tensor<64x1x3x3xf32>
  %v = lathe.constant dense_resource<v> : tensor<24x64x1x1xf32>
  %0 = lathe.conv %x, %u strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<2x16x112x112xf32>, tensor<16x16x1x1xf32> -> tensor<2x16x112x112xf32>
  %1 = lathe.conv %0, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<2x16x112x112xf32>, tensor<64x16x1x1xf32> -> tensor<2x64x112x112xf32>
  %2 = lathe.conv %1, %d strides [2, 2] dilations [1, 1] pads ["1", "1", "1", "1"] groups 64 : tensor<2x64x112x112xf32>, tensor<64x1x3x3xf32> -> tensor<2x64x56x56xf32>
  %3 = lathe.conv %2, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<2x64x56x56xf32>, tensor<24x64x1x1xf32> -> tensor<2x24x56x56xf32>
  return %3 : tensor<2x24x56x56xf32>
}
