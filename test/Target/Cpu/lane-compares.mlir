// The lanes' places against one that is the same in all of them, on either side of the comparison: their distance from lane 0 fits into 32 bits.
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=ASM

// CHECK-LABEL: func.func private @lathe_k0_diagonal_avx512.body(
// CHECK: arith.cmpi eq, {{.*}} : vector<16xi32>
// CHECK-NOT: arith.cmpi {{.*}} : vector<16xi64>
// CHECK-LABEL: func.func @lathe_k0_diagonal_avx512(
// The operands change places: so does what the comparison says.
// CHECK-LABEL: func.func private @lathe_k1_below_avx512.body(
// CHECK: arith.cmpi sle, {{.*}} : vector<16xi32>
// CHECK-NOT: arith.cmpi {{.*}} : vector<16xi64>
// CHECK-LABEL: func.func @lathe_k1_below_avx512(
// CHECK-LABEL: func.func private @lathe_k2_above_avx512.body(
// CHECK: arith.cmpi sgt, {{.*}} : vector<16xi32>
// CHECK-NOT: arith.cmpi {{.*}} : vector<16xi64>
// ASM-LABEL: lathe_k0_diagonal_avx512.body:
// ASM-NOT: vpcmpeqq
// ASM: vpcmpeqd
// ASM-LABEL: lathe_k0_diagonal_avx512:
func.func @f(%x: tensor<?xf32>) {
  %0 = kernel.generic loop @diagonal axes(i = "N", j = "N") outs(tensor<?xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %i = kernel.index "i"
    %j = kernel.index "j"
    %same = arith.cmpi eq, %i, %j : i64
    %one = arith.constant 1.0 : f32
    %none = arith.constant 0.0 : f32
    %y = arith.select %same, %one, %none : f32
    kernel.store %y, %out["N*i + j"] : f32, <f32>
  }
  %1 = kernel.generic loop @below axes(i = "N", j = "N") ins(%x : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %i = kernel.index "i"
    %j = kernel.index "j"
    %seen = arith.cmpi sge, %i, %j : i64
    %none = arith.constant 0.0 : f32
    %v = kernel.load %in["N*i + j"] : <f32> -> f32
    %y = arith.select %seen, %v, %none : f32
    kernel.store %y, %out["N*i + j"] : f32, <f32>
  }
  %2 = kernel.generic loop @above axes(i = "N", j = "N") ins(%x : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %i = kernel.index "i"
    %j = kernel.index "j"
    %seen = arith.cmpi slt, %i, %j : i64
    %none = arith.constant 0.0 : f32
    %v = kernel.load %in["N*i + j"] : <f32> -> f32
    %y = arith.select %seen, %v, %none : f32
    kernel.store %y, %out["N*i + j"] : f32, <f32>
  }
  return
}
