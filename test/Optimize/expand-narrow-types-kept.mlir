// RUN: lathe-opt %s --lathe-expand-narrow-types=float8=true --split-input-file | FileCheck %s

// The formats that machines convert stay as they are, and so do their casts; others become bytes.
func.func @main(%x: tensor<4xf8E5M2>, %y: tensor<4xf8E4M3FNUZ>) -> (tensor<4xf32>, tensor<4xf8E4M3FN>) {
  %0 = lathe.cast %x : tensor<4xf8E5M2> -> tensor<4xf32>
  %1 = lathe.cast %y : tensor<4xf8E4M3FNUZ> -> tensor<4xf8E4M3FN>
  return %0, %1 : tensor<4xf32>, tensor<4xf8E4M3FN>
}
// CHECK: func.func @main(%[[X:.*]]: tensor<4xf8E5M2>, %[[Y:.*]]: tensor<4xui8> {lathe.type = tensor<4xf8E4M3FNUZ>}) -> (tensor<4xf32>, tensor<4xf8E4M3FN>)
// CHECK: %[[A:.*]] = lathe.cast %[[X]] : tensor<4xf8E5M2> -> tensor<4xf32>
// CHECK: %[[V:.*]] = lathe.gather
// CHECK: %[[B:.*]] = lathe.cast %[[V]] : tensor<4xf32> -> tensor<4xf8E4M3FN>
// CHECK: return %[[A]], %[[B]]
