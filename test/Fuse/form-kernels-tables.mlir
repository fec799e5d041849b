// Places of samples along an axis are a table, made once: integers of floats are not made again at every place of the other axes. Places that
// are no more than sums of indices are.
// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!y = tensor<?x?xf32, #lathe.dims<"m", "2*n">>
!f = tensor<?xf64, #lathe.dims<"2*n">>
!i = tensor<?xi64, #lathe.dims<"2*n">>

lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]

// CHECK-LABEL: func.func @halves
// CHECK: kernel.generic loop @{{[a-z_0-9]+}} axes(i0 = "2*n") outs(tensor<?xi64
// CHECK: arith.fptosi
// CHECK: kernel.generic loop
// CHECK-NOT: arith.fptosi
// CHECK: return
func.func @halves(%x: !x) -> !y {
  %0 = lathe.iota 0 : !f
  %1 = lathe.constant dense<5.000000e-01> : tensor<f64>
  %2 = lathe.broadcast %1 : tensor<f64> -> !f
  %3 = lathe.mul %0, %2 : !f
  %4 = lathe.cast %3 : !f -> !i
  %5 = lathe.gather %x, %4 axis 1 : !x, !i -> !y
  return %5 : !y
}

// CHECK-LABEL: func.func @sums
// CHECK: kernel.generic loop
// CHECK-NOT: kernel.generic
// CHECK: return
func.func @sums(%x: !x) -> !y {
  %0 = lathe.iota 0 : !i
  %1 = lathe.constant dense<-3> : tensor<i64>
  %2 = lathe.broadcast %1 : tensor<i64> -> !i
  %3 = lathe.add %0, %2 : !i
  %4 = lathe.gather %x, %3 axis 1 : !x, !i -> !y
  return %4 : !y
}
