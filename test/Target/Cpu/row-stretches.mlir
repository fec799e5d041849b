// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s

// Two rows of bytes behind one another. AVX2 masks no bytes: each row is whole vectors of 32, the last of which ends where the row does, and
// no element asks which row it is of.

// CHECK-LABEL: func.func private @lathe_k0_joined_avx2.body(
// CHECK: llvm.load {{.*}} -> vector<32xi8>
// CHECK-NOT: -> i8
// CHECK-LABEL: func.func @lathe_k0_joined_avx2_plan

// Rows of twelve f32: two vectors of eight, which overlap. A masked store would take as long as a dozen others.
// CHECK-LABEL: func.func private @lathe_k1_short_avx2.body(
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK-NOT: masked
// CHECK-LABEL: func.func @lathe_k1_short_avx2_plan

func.func @f(%a0: tensor<?xi8>, %a1: tensor<?xi8>) {
  %r0 = kernel.generic loop @joined axes(n = "9", c = "88") ins(%a0, %a1 : tensor<?xi8>, tensor<?xi8>) outs(tensor<?xi8>) {
  ^bb0(%in0: !kernel.ref<i8>, %in1: !kernel.ref<i8>, %out0: !kernel.ref<i8>):
    %i = kernel.index "c"
    %p = arith.constant 33 : i64
    %first = arith.cmpi slt, %i, %p : i64
    %a = kernel.load %in0["33*n + c"] if %first : !kernel.ref<i8> -> i8
    %second = arith.cmpi sge, %i, %p : i64
    %b = kernel.load %in1["55*n + c - 33"] if %second : !kernel.ref<i8> -> i8
    %y = arith.select %second, %b, %a : i8
    kernel.store %y, %out0["88*n + c"] : i8, !kernel.ref<i8>
  }
  return
}
func.func @g(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @short axes(n = "9", k = "20", c = "12") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %a = kernel.load %in0["12*n + c"] : !kernel.ref<f32> -> f32
    kernel.store %a, %out0["240*n + 12*k + c"] : f32, !kernel.ref<f32>
  }
  return
}
