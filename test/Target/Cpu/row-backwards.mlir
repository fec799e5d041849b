// Elements that lie one behind the other from the last lane to the first: a vector from the last one on, turned around.
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s

// CHECK-LABEL: func.func private @lathe_k0_backwards_{{.*}}.body(
// CHECK: llvm.getelementptr %{{.*}}[-{{7|15}}]
// CHECK: llvm.load %{{.*}} -> vector<[[N:8|16]]xf32>
// CHECK: vector.shuffle %{{.*}} [{{7|15}}, {{.*}}, 1, 0] : vector<[[N]]xf32>
// What a row leaves over: under masks where these have registers of their own.
// WIDE-NOT: gather
// WIDE: llvm.intr.masked.load
// WIDE: vector.shuffle %{{.*}} [15, {{.*}}, 1, 0] : vector<16xf32>
// WIDE-NOT: gather
// CHECK-LABEL: func.func @lathe_k0_backwards_{{.*}}_plan
// A sum of rows in this order has their elements in the lanes, too, not one of each row.
// CHECK-LABEL: func.func private @lathe_k1_largest_{{.*}}.body(
// CHECK-NOT: gather
// CHECK: vector.shuffle %{{.*}} [{{7|15}}, {{.*}}, 1, 0] : vector<[[N]]xf32>
// CHECK-NOT: gather
// CHECK-LABEL: func.func @lathe_k1_largest_{{.*}}_plan
// Of rows that go on by reflection a vector at the ends is read where it has lanes.
// WIDE-LABEL: func.func private @lathe_k2_reflected_{{.*}}.body(
// WIDE: llvm.intr.vector.reduce.or
// WIDE-NEXT: scf.if
// WIDE-NOT: scf.yield
// WIDE: llvm.intr.masked.load
// WIDE: vector.shuffle %{{.*}} [15, {{.*}}, 1, 0] : vector<16xf32>
lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [1, 9223372036854775807]
func.func @f(%a0: tensor<?x?xf32, #lathe.dims<"m", "n">>, %a1: tensor<?x64xf32, #lathe.dims<"m", "64">>) {
  %r0 = kernel.generic loop @backwards axes(i = "m", c = "n") ins(%a0 : tensor<?x?xf32, #lathe.dims<"m", "n">>) outs(tensor<?x?xf32, #lathe.dims<"m", "n">>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["n*i + n - c - 1"] : !kernel.ref<f32> -> f32
    kernel.store %x, %out0["n*i + c"] : f32, !kernel.ref<f32>
  }
  %r1 = kernel.generic reduction @largest axes(i = "m", c = "64") ins(%a1 : tensor<?x64xf32, #lathe.dims<"m", "64">>) outs(tensor<?xf32, #lathe.dims<"m">>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["64*i - c + 63"] : !kernel.ref<f32> -> f32
    %y = kernel.reduce max %x over ["c"] : f32
    kernel.store %y, %out0["i"] : f32, !kernel.ref<f32>
  }
  %r2 = kernel.generic reduction @reflected axes(i = "m", c = "67") ins(%a1 : tensor<?x64xf32, #lathe.dims<"m", "64">>) outs(tensor<?xf32, #lathe.dims<"m">>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %c = kernel.index "c"
    %three = arith.constant 3 : i64
    %in = arith.cmpi sge, %c, %three : i64
    %out = arith.cmpi slt, %c, %three : i64
    %x = kernel.load %in0["64*i + c - 3"] if %in : !kernel.ref<f32> -> f32
    %y = kernel.load %in0["64*i - c + 3"] if %out : !kernel.ref<f32> -> f32
    %z = arith.select %in, %x, %y : f32
    %s = kernel.reduce add %z over ["c"] : f32
    kernel.store %s, %out0["i"] : f32, !kernel.ref<f32>
  }
  return
}
