// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

!x = tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>
!s = tensor<?x?xf32, #lathe.dims<"batch", "seq">>
!s1 = tensor<?x?x1xf32, #lathe.dims<"batch", "seq", "1">>
!h = tensor<?x?x12x64xf32, #lathe.dims<"batch", "seq", "12", "64">>
!t = tensor<?x12x?x64xf32, #lathe.dims<"batch", "12", "seq", "64">>

module {
lathe.symbol "batch" range [1, -1]
lathe.symbol "seq" range [1, -1]
// A projection with bias and residual, then a norm over the rows: two kernels. The head view is no kernel.
// CHECK-LABEL: func.func @main
// CHECK: %[[H:.*]] = kernel.generic contraction @contract axes(i0 = "batch", i1 = "seq", i2 = "768", i3 = "768")
// CHECK: kernel.contract %{{.*}}["768*i0*seq + 768*i1 + i3"], %{{.*}}["i2 + 768*i3"] over ["i3"]
// CHECK-COUNT-2: arith.addf
// CHECK: kernel.store %{{.*}}["768*i0*seq + 768*i1 + i2"]
// The second result is kept in the order of its transposed view; the column axis was split for it.
// CHECK: kernel.generic reduction @{{.*}} axes(i0 = "batch", i1 = "seq", i3 = "12", i4 = "64")
// CHECK-SAME: outs(tensor<?x12x?x64xf32, #lathe.dims<"batch", "12", "seq", "64">>)
// CHECK-SAME: unfused = ["add -> reduce: a reduction does not fit a contraction's epilogue"
// CHECK: kernel.store %{{.*}}["768*i0*seq + 64*i3*seq + 64*i1 + i4"]
// CHECK-NOT: kernel.generic
func.func @main(%x: !x, %r: !x) -> (!x, !t) {
  %w = lathe.constant dense_resource<w> : tensor<768x768xf32>
  %b = lathe.constant dense_resource<b> : tensor<768xf32>
  %0 = lathe.contract %x, %w batch [] x [] over [2] x [0] : !x, tensor<768x768xf32> -> !x
  %b0 = lathe.broadcast %b : tensor<768xf32> -> !x
  %1 = lathe.add %0, %b0 : !x
  %2 = lathe.add %1, %r : !x
  %n = lathe.constant dense<768.0> : tensor<f32>
  %n0 = lathe.broadcast %n : tensor<f32> -> !s
  %e = lathe.constant dense<1.0e-5> : tensor<f32>
  %e0 = lathe.broadcast %e : tensor<f32> -> !s
  %s = lathe.reduce sum %2 axes [2] : !x -> !s
  %m = lathe.div %s, %n0 : !s
  %m1 = lathe.reshape %m : !s -> !s1
  %m2 = lathe.broadcast %m1 : !s1 -> !x
  %c = lathe.sub %2, %m2 : !x
  %c2 = lathe.mul %c, %c : !x
  %v = lathe.reduce sum %c2 axes [2] : !x -> !s
  %v1 = lathe.div %v, %n0 : !s
  %v2 = lathe.add %v1, %e0 : !s
  %v3 = lathe.rsqrt %v2 : !s
  %v4 = lathe.reshape %v3 : !s -> !s1
  %v5 = lathe.broadcast %v4 : !s1 -> !x
  %y = lathe.mul %c, %v5 : !x
  %h = lathe.reshape %y : !x -> !h
  %t = lathe.transpose %h [0, 2, 1, 3] : !h -> !t
  return %2, %t : !x, !t
}
}

{-#
  dialect_resources: { builtin: { w: "0x0400000000000000", b: "0x0400000000000000" } }
#-}
