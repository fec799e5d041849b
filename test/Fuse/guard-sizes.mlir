// Where data decides some sizes, each op's demands are stated in the sizes that it is written with, in the function that it is in.
// RUN: lathe-opt %s --lathe-guard-sizes | FileCheck %s
// The slice runs behind the check of its own demand, which needs no late size; the read may come later.
// RUN: lathe-opt %s --lathe-guard-sizes --lathe-form-kernels | FileCheck %s --check-prefix=KERNELS

!n = tensor<?xf32, #lathe.dims<"n">>
!b = tensor<?xf32, #lathe.dims<"b">>
!k = tensor<?xf32, #lathe.dims<"k[]">>
lathe.symbol "n" range [1, -1]
lathe.symbol "b" range [1, -1]
lathe.symbol "k[]" range [0, -1]
lathe.symbol "s[]" range [0, -1]
lathe.symbol "iteration" range [0, -1]
lathe.relation "k[]" "eq" "b"
// What the entry checks proves nothing of the slices; the last one needs nothing where it is empty.
// CHECK: lathe.relation "k[]" "eq" "b"
// CHECK-NEXT: lathe.relation "b" "le" "n" says "slice: b <= n"
// CHECK-NEXT: lathe.relation "b + s[]" "le" "n" says
// CHECK-NEXT: lathe.relation "0" "le" "8*k[]" says "slice: there is a result of 8*k[] bytes"
// CHECK-NEXT: lathe.relation "k[]*min(1, k[])" "le" "min(1, k[])*n" says
// CHECK-NEXT: lathe.relation "b" "le" "4" in @body says
// A step of a loop is inside what it runs over; what a body takes is checked in the body.
// CHECK-NOT: lathe.relation
// KERNELS: func.func @main
// KERNELS: lathe.read %{{.*}} as ["s[]"]
// KERNELS: kernel.generic loop @add
func.func @main(%x: !n, %w: !b, %at: tensor<i64>, %count: tensor<i64>, %rows: tensor<8x4xf32>) -> (!b, !k, tensor<f32>) {
  lathe.read %at as ["s[]"] : tensor<i64>
  lathe.read %count as ["k[]"] : tensor<i64>
  %0 = lathe.slice %x starts ["0"] steps [1] : !n -> !b
  %1 = lathe.slice %x starts ["s[]"] steps [1] : !n -> !b
  %2 = lathe.add %0, %1 : !b
  %3 = lathe.add %2, %w : !b
  %4 = lathe.slice %x starts ["0"] steps [1] : !n -> !k
  %zero = lathe.constant dense<0.0> : tensor<f32>
  %5 = lathe.loop @body carried(%zero) captured(%rows) {limit = "8", counter = "iteration", count = "", symbols = [], initial = [], next = [], finals = []} : (tensor<f32>, tensor<8x4xf32>) -> tensor<f32>
  return %3, %4, %5 : !b, !k, tensor<f32>
}
func.func @body(%sum: tensor<f32>, %rows: tensor<8x4xf32>) -> tensor<f32> {
  %row = lathe.slice %rows starts ["iteration", "0"] steps [1, 1] : tensor<8x4xf32> -> tensor<1x?xf32, #lathe.dims<"1", "b">>
  %0 = lathe.reduce sum %row axes [0, 1] : tensor<1x?xf32, #lathe.dims<"1", "b">> -> tensor<f32>
  %1 = lathe.add %sum, %0 : tensor<f32>
  return %1 : tensor<f32>
}
