// What another good implementation may give: results are moved where they are rounded, and only there.
// RUN: lathe-opt %s --lathe-interpret="roundings=1" -o /dev/null | FileCheck %s
// RUN: lathe-opt %s --lathe-interpret="roundings=2" -o /dev/null | FileCheck %s
// RUN: lathe-opt %s --lathe-interpret -o /dev/null | FileCheck %s --check-prefix=EXACT
// The same moves each time.
// RUN: lathe-opt %s --lathe-interpret="roundings=3" -o /dev/null > %t.a
// RUN: lathe-opt %s --lathe-interpret="roundings=3" -o /dev/null | diff %t.a -

// A function that is 1 within rounding, and a sum that cancels, are moved; sums of small whole numbers and halves of
// numbers are exact in any order, and a view moves nothing.
// CHECK: tanh: tensor<1xf32> [{{0.999999|1.000000}}
// CHECK: cancelled: tensor<f32> [{{-?[1-9].*e-08}}]
// CHECK: six: tensor<f32> [6]
// CHECK: halves: tensor<3xf32> [0.5, 1, 1.5]
// CHECK: back: tensor<3xf32> [3, 2, 1]
// EXACT: tanh: tensor<1xf32> [1]
// EXACT: cancelled: tensor<f32> [0]
func.func @main() -> (tensor<1xf32> {lathe.name = "tanh"}, tensor<f32> {lathe.name = "cancelled"}, tensor<f32> {lathe.name = "six"}, tensor<3xf32> {lathe.name = "halves"}, tensor<3xf32> {lathe.name = "back"}) {
  %nine = lathe.constant dense<9.5> : tensor<1xf32>
  %tanh = lathe.tanh %nine : tensor<1xf32>
  %terms = lathe.constant dense<[0.1, -0.1]> : tensor<2xf32>
  %cancelled = lathe.reduce sum %terms axes [0] : tensor<2xf32> -> tensor<f32>
  %whole = lathe.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %six = lathe.reduce sum %whole axes [0] : tensor<3xf32> -> tensor<f32>
  %half = lathe.constant dense<0.5> : tensor<3xf32>
  %halves = lathe.mul %whole, %half : tensor<3xf32>
  %back = lathe.slice %whole starts ["2"] steps [-1] : tensor<3xf32> -> tensor<3xf32>
  return %tanh, %cancelled, %six, %halves, %back : tensor<1xf32>, tensor<f32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>
}
