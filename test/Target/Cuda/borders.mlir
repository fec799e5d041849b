// RUN: lathe-cuda %s --emit=llvm --sm=90 | FileCheck %s
// REQUIRES: ptxas

// A dimension of a tensor is not negative, and LLVM may know: what lies inside of both borders of an image is one comparison then.
// CHECK: define void @rows_by_lanes({{.*}}, i64 [[SIZE:%[0-9]+]], ptr
// CHECK: [[SOME:%[0-9]+]] = icmp sgt i64 [[SIZE]], -1
// CHECK: call void @llvm.assume(i1 [[SOME]])
func.func @main(%x: tensor<?xf32, #lathe.dims<"N">>) -> tensor<?x8xf32, #lathe.dims<"N", "8">> {
  %0 = kernel.generic loop @shifted axes(i = "N", j = "8") ins(%x : tensor<?xf32, #lathe.dims<"N">>) outs(tensor<?x8xf32, #lathe.dims<"N", "8">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %at = kernel.index "i - j"
    %first = arith.constant 0 : i64
    %size = kernel.index "N"
    %right = arith.cmpi sge, %at, %first : i64
    %left = arith.cmpi slt, %at, %size : i64
    %p = arith.andi %right, %left : i1
    %zero = arith.constant 0.0 : f32
    %v = kernel.load %in["i - j"] if %p else %zero : !kernel.ref<f32> else f32 -> f32
    kernel.store %v, %out["8*i + j"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<?x8xf32, #lathe.dims<"N", "8">>
}
