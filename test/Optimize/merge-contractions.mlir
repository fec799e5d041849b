// RUN: lathe-opt --lathe-merge-contractions --cse --split-input-file %s | FileCheck %s

// CHECK-LABEL: func @projections
// CHECK-DAG: %[[W:.*]] = lathe.constant dense<{{\[\[}}1.000000e+00, 5.000000e+00, 6.000000e+00], [2.000000e+00, 7.000000e+00, 8.000000e+00]]> : tensor<2x3xf32>
// CHECK-DAG: %[[B:.*]] = lathe.constant dense<[1.000000e+01, 2.000000e+01, 2.000000e+01]> : tensor<3xf32>
// CHECK-DAG: %[[R:.*]] = lathe.contract %arg0, %[[W]] batch [] x [] over [1] x [0] :
// CHECK-DAG: %[[S:.*]] = lathe.broadcast %[[B]]
// CHECK: %[[A:.*]] = lathe.add %[[R]], %[[S]]
// CHECK: %[[X:.*]] = lathe.slice %[[A]] starts ["0", "0"] steps [1, 1] : {{.*}} -> tensor<?x1xf32
// CHECK: %[[Y:.*]] = lathe.slice %[[A]] starts ["0", "1"] steps [1, 1] : {{.*}} -> tensor<?x2xf32
// CHECK: lathe.transpose %[[X]]
// CHECK: lathe.transpose %[[Y]]
func.func @projections(%x: tensor<?x2xf32, #lathe.dims<"n", "2">>) -> (tensor<1x?xf32, #lathe.dims<"1", "n">>, tensor<2x?xf32, #lathe.dims<"2", "n">>) {
  %w1 = lathe.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %w2 = lathe.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %b1 = lathe.constant dense<10.0> : tensor<1xf32>
  %b2 = lathe.constant dense<20.0> : tensor<2xf32>
  %0 = lathe.contract %x, %w1 batch [] x [] over [1] x [0] : tensor<?x2xf32, #lathe.dims<"n", "2">>, tensor<2x1xf32> -> tensor<?x1xf32, #lathe.dims<"n", "1">>
  %1 = lathe.contract %x, %w2 batch [] x [] over [1] x [0] : tensor<?x2xf32, #lathe.dims<"n", "2">>, tensor<2x2xf32> -> tensor<?x2xf32, #lathe.dims<"n", "2">>
  %b3 = lathe.broadcast %b1 : tensor<1xf32> -> tensor<?x1xf32, #lathe.dims<"n", "1">>
  %b4 = lathe.broadcast %b2 : tensor<2xf32> -> tensor<?x2xf32, #lathe.dims<"n", "2">>
  %2 = lathe.add %0, %b3 : tensor<?x1xf32, #lathe.dims<"n", "1">>
  %3 = lathe.add %b4, %1 : tensor<?x2xf32, #lathe.dims<"n", "2">>
  %4 = lathe.transpose %2 [1, 0] : tensor<?x1xf32, #lathe.dims<"n", "1">> -> tensor<1x?xf32, #lathe.dims<"1", "n">>
  %5 = lathe.transpose %3 [1, 0] : tensor<?x2xf32, #lathe.dims<"n", "2">> -> tensor<2x?xf32, #lathe.dims<"2", "n">>
  return %4, %5 : tensor<1x?xf32, #lathe.dims<"1", "n">>, tensor<2x?xf32, #lathe.dims<"2", "n">>
}

// -----

// Weights stored the other way round are joined by rows; one with an activation behind it stays alone.
// CHECK-LABEL: func @rows
// CHECK-DAG: dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
// CHECK-COUNT-2: lathe.contract
// CHECK-NOT: lathe.contract
func.func @rows(%x: tensor<4x2xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<4x1xf32>) {
  %w1 = lathe.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %w2 = lathe.constant dense<[[3.0, 4.0], [5.0, 6.0]]> : tensor<2x2xf32>
  %w3 = lathe.constant dense<[[7.0, 8.0]]> : tensor<1x2xf32>
  %0 = lathe.contract %x, %w1 batch [] x [] over [1] x [1] : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x1xf32>
  %1 = lathe.contract %x, %w2 batch [] x [] over [1] x [1] : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %2 = lathe.contract %x, %w3 batch [] x [] over [1] x [1] : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x1xf32>
  %3 = lathe.reshape %0 : tensor<4x1xf32> -> tensor<4xf32>
  %4 = lathe.reshape %1 : tensor<4x2xf32> -> tensor<8xf32>
  %5 = lathe.tanh %2 : tensor<4x1xf32>
  return %3, %4, %5 : tensor<4xf32>, tensor<8xf32>, tensor<4x1xf32>
}

// -----

// A bias of one number may have been spread to the whole result already.
// CHECK-LABEL: func @splats
// CHECK: lathe.contract {{.*}} -> tensor<4x3xf32>
// CHECK-NOT: lathe.contract
// CHECK: %[[B:.*]] = lathe.constant dense<[1.000000e+01, 2.000000e+01, 2.000000e+01]> : tensor<3xf32>
// CHECK: lathe.broadcast %[[B]]
func.func @splats(%x: tensor<4x2xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>) {
  %w1 = lathe.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %w2 = lathe.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %b1 = lathe.constant dense<10.0> : tensor<4x1xf32>
  %b2 = lathe.constant dense<20.0> : tensor<4x2xf32>
  %0 = lathe.contract %x, %w1 batch [] x [] over [1] x [0] : tensor<4x2xf32>, tensor<2x1xf32> -> tensor<4x1xf32>
  %1 = lathe.contract %x, %w2 batch [] x [] over [1] x [0] : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %2 = lathe.add %0, %b1 : tensor<4x1xf32>
  %3 = lathe.add %b2, %1 : tensor<4x2xf32>
  %4 = lathe.transpose %2 [1, 0] : tensor<4x1xf32> -> tensor<1x4xf32>
  %5 = lathe.transpose %3 [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  return %4, %5 : tensor<1x4xf32>, tensor<2x4xf32>
}
