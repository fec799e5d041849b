// What another good implementation may give: results are moved where they are rounded, and only there.
// RUN: lathe-opt %s --lathe-interpret="roundings=1" -o /dev/null | FileCheck %s
// RUN: lathe-opt %s --lathe-interpret="roundings=2" -o /dev/null | FileCheck %s
// RUN: lathe-opt %s --lathe-interpret -o /dev/null | FileCheck %s --check-prefix=EXACT
// The same moves each time.
// RUN: lathe-opt %s --lathe-interpret="roundings=3" -o /dev/null > %t.a
// RUN: lathe-opt %s --lathe-interpret="roundings=3" -o /dev/null | diff %t.a -

// A function that is 1 within rounding, and a sum that cancels, are moved; sums of small whole numbers and halves of
// numbers are exact in any order, and a view moves nothing. A product that vanishes before it grows is anything in another
// order; one that only grows is not.
// CHECK: tanh: tensor<1xf32> [{{0.999999|1.000000}}
// CHECK: cancelled: tensor<f32> [{{-?[1-9].*e-08}}]
// CHECK: six: tensor<f32> [6]
// CHECK: halves: tensor<3xf32> [0.5, 1, 1.5]
// CHECK: back: tensor<3xf32> [3, 2, 1]
// CHECK: ends: tensor<f32> [nan]
// CHECK: grown: tensor<f32> [{{1e\+30|(9.99|1.00).*e\+(29|30)}}]
// EXACT: tanh: tensor<1xf32> [1]
// EXACT: cancelled: tensor<f32> [0]
// EXACT: ends: tensor<f32> [0]
func.func @main() -> (tensor<1xf32> {lathe.name = "tanh"}, tensor<f32> {lathe.name = "cancelled"}, tensor<f32> {lathe.name = "six"}, tensor<3xf32> {lathe.name = "halves"}, tensor<3xf32> {lathe.name = "back"}, tensor<f32> {lathe.name = "ends"}, tensor<f32> {lathe.name = "grown"}) {
  %nine = lathe.constant dense<9.5> : tensor<1xf32>
  %tanh = lathe.tanh %nine : tensor<1xf32>
  %terms = lathe.constant dense<[0.1, -0.1]> : tensor<2xf32>
  %cancelled = lathe.reduce sum %terms axes [0] : tensor<2xf32> -> tensor<f32>
  %whole = lathe.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %six = lathe.reduce sum %whole axes [0] : tensor<3xf32> -> tensor<f32>
  %half = lathe.constant dense<0.5> : tensor<3xf32>
  %halves = lathe.mul %whole, %half : tensor<3xf32>
  %back = lathe.slice %whole starts ["2"] steps [-1] : tensor<3xf32> -> tensor<3xf32>
  %factors = lathe.constant dense<[1.0e-30, 1.0e-30, 1.0e30, 1.0e30, 0.0]> : tensor<5xf32>
  %ends = lathe.reduce prod %factors axes [0] : tensor<5xf32> -> tensor<f32>
  %growing = lathe.constant dense<[1.0e10, 1.0e10, 1.0e10]> : tensor<3xf32>
  %grown = lathe.reduce prod %growing axes [0] : tensor<3xf32> -> tensor<f32>
  return %tanh, %cancelled, %six, %halves, %back, %ends, %grown : tensor<1xf32>, tensor<f32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>
}
