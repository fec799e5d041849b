// RUN: lathe-opt %s --split-input-file --lathe-form-kernels --lathe-split-scatters --lathe-order-scatters --lathe-verify-accesses | FileCheck %s

!x = tensor<50x64xf32>
!u = tensor<900x64xf32>
// The numbers of the rows are sorted by place.
// CHECK-LABEL: func.func @rows
// CHECK: %[[D:.*]] = kernel.generic loop @scatter_data
// CHECK: %[[O:.*]] = kernel.generic sort @scatter_order axes(i2_rank = "900", i2 = "900")
// CHECK-SAME: ins(%arg1 : tensor<900xi64>)
// CHECK-SAME: outs(tensor<900xi64>)
// CHECK: %[[KEY:.*]] = arith.trunci {{.*}} : i64 to i32
// CHECK: %[[S:.*]] = kernel.sort %[[KEY]] along "i2" to "i2_rank" : i32
// CHECK: kernel.store %[[S]], %{{.*}}["i2_rank"] : i64
// CHECK: kernel.generic scatter @scatter
// CHECK-SAME: ins(%arg1, %arg2, %[[D]], %[[O]] :
// CHECK-SAME: order = 3 : i64
func.func @rows(%x: !x, %i: tensor<900xi64>, %u: !u) -> !x {
  %j = lathe.reshape %i : tensor<900xi64> -> tensor<900x1xi64>
  %b = lathe.broadcast %j : tensor<900x1xi64> -> tensor<900x64xi64>
  %0 = lathe.scatter add %x, %u at (%b) places [-1, 1] : !x, !u, tensor<900x64xi64> -> !x
  return %0 : !x
}

// -----

!x = tensor<50x64xf32>
!u = tensor<900x64xf32>
// Elements of a row have places of their own.
// CHECK-LABEL: func.func @elements
// CHECK-NOT: kernel.generic sort
// CHECK-NOT: order =
func.func @elements(%x: !x, %i: tensor<900x64xi64>, %u: !u) -> !x {
  %0 = lathe.scatter add %x, %u at (%i) places [-1, 1] : !x, !u, tensor<900x64xi64> -> !x
  return %0 : !x
}

// -----

!x = tensor<50x64xf32>
!u = tensor<900x64xf32>
// Only sums are ordered.
// CHECK-LABEL: func.func @largest
// CHECK-NOT: kernel.generic sort
func.func @largest(%x: !x, %i: tensor<900xi64>, %u: !u) -> !x {
  %j = lathe.reshape %i : tensor<900xi64> -> tensor<900x1xi64>
  %b = lathe.broadcast %j : tensor<900x1xi64> -> tensor<900x64xi64>
  %0 = lathe.scatter max %x, %u at (%b) places [-1, 1] : !x, !u, tensor<900x64xi64> -> !x
  return %0 : !x
}

// -----

!x = tensor<?x64xf32, #lathe.dims<"R", "64">>
!u = tensor<?x64xf32, #lathe.dims<"N", "64">>
// Of open sizes, too; as many places as there may be need keys of 64 bits.
// CHECK-LABEL: func.func @open
// CHECK: kernel.generic sort @scatter_order
// CHECK: kernel.sort %{{.*}} along "{{.*}}" to "{{.*}}_rank" : i64
// CHECK: order =
module {
  lathe.symbol "N" range[1, -1]
  lathe.symbol "R" range[1, -1]
  func.func @open(%x: !x, %i: tensor<?xi64, #lathe.dims<"N">>, %u: !u) -> !x {
    %j = lathe.reshape %i : tensor<?xi64, #lathe.dims<"N">> -> tensor<?x1xi64, #lathe.dims<"N", "1">>
    %b = lathe.broadcast %j : tensor<?x1xi64, #lathe.dims<"N", "1">> -> tensor<?x64xi64, #lathe.dims<"N", "64">>
    %0 = lathe.scatter add %x, %u at (%b) places [-1, 1] : !x, !u, tensor<?x64xi64, #lathe.dims<"N", "64">> -> !x
    return %0 : !x
  }
}
