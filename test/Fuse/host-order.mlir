// What a size from data decides runs behind the read that gives it its value, whatever the order in the block; the rest need
// not wait.
// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

!x = tensor<?xf32, #lathe.dims<"n">>
!k = tensor<?xf32, #lathe.dims<"k[]">>
!i = tensor<?xi64, #lathe.dims<"k[]">>
lathe.symbol "n" range [1, -1]
lathe.symbol "k[]" range [0, -1]
// CHECK-LABEL: func.func @main
// CHECK: %[[MASK:.*]] = kernel.generic loop @compare
// CHECK: %[[COUNT:.*]] = kernel.generic reduction
// CHECK: lathe.read %[[COUNT]] as ["k[]"]
// CHECK: lathe.call "compact"(%[[MASK]])
// The ops over those sizes are one kernel.
// CHECK: kernel.generic loop
// CHECK-SAME: axes(i0 = "k[]")
// CHECK: indirect
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: kernel.generic
func.func @main(%x: !x) -> !k {
  %zero = lathe.constant dense<0.0> : tensor<f32>
  %zeros = lathe.broadcast %zero : tensor<f32> -> !x
  %mask = lathe.compare gt %x, %zeros : !x, !x -> tensor<?xi1, #lathe.dims<"n">>
  %at = lathe.call "compact"(%mask) sizes ["n"] : (tensor<?xi1, #lathe.dims<"n">>) -> !i
  %picked = lathe.gather %x, %at axis 0 : !x, !i -> !k
  %square = lathe.mul %picked, %picked : !k
  %sum = lathe.add %square, %picked : !k
  %ones = lathe.cast %mask : tensor<?xi1, #lathe.dims<"n">> -> tensor<?xi64, #lathe.dims<"n">>
  %count = lathe.reduce sum %ones axes [0] : tensor<?xi64, #lathe.dims<"n">> -> tensor<i64>
  lathe.read %count as ["k[]"] : tensor<i64>
  return %sum : !k
}
