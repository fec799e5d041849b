// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// What is the same in all lanes, however much it is, is computed once for four vectors that go together.
// CHECK-LABEL: func.func private @lathe_k0_sampled_avx512.body(
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-52: arith.{{addi|xori}} {{.*}} : i64
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// CHECK: scf.yield
func.func @f(%a0: tensor<?xf32>, %a1: tensor<?xi64>) {
  %r0 = kernel.generic reduction @sampled axes(r = "R", c = "64", k = "K") ins(%a0, %a1 : tensor<?xf32>, tensor<?xi64>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %in1: !kernel.ref<i64>, %out0: !kernel.ref<f32>):
    %i = kernel.load %in1["K*r + k"] : <i64> -> i64
    %t0 = arith.xori %i, %i : i64
    %t1 = arith.addi %t0, %i : i64
    %t2 = arith.xori %t1, %i : i64
    %t3 = arith.addi %t2, %i : i64
    %t4 = arith.xori %t3, %i : i64
    %t5 = arith.addi %t4, %i : i64
    %t6 = arith.xori %t5, %i : i64
    %t7 = arith.addi %t6, %i : i64
    %t8 = arith.xori %t7, %i : i64
    %t9 = arith.addi %t8, %i : i64
    %t10 = arith.xori %t9, %i : i64
    %t11 = arith.addi %t10, %i : i64
    %t12 = arith.xori %t11, %i : i64
    %t13 = arith.addi %t12, %i : i64
    %t14 = arith.xori %t13, %i : i64
    %t15 = arith.addi %t14, %i : i64
    %t16 = arith.xori %t15, %i : i64
    %t17 = arith.addi %t16, %i : i64
    %t18 = arith.xori %t17, %i : i64
    %t19 = arith.addi %t18, %i : i64
    %t20 = arith.xori %t19, %i : i64
    %t21 = arith.addi %t20, %i : i64
    %t22 = arith.xori %t21, %i : i64
    %t23 = arith.addi %t22, %i : i64
    %t24 = arith.xori %t23, %i : i64
    %t25 = arith.addi %t24, %i : i64
    %t26 = arith.xori %t25, %i : i64
    %t27 = arith.addi %t26, %i : i64
    %t28 = arith.xori %t27, %i : i64
    %t29 = arith.addi %t28, %i : i64
    %t30 = arith.xori %t29, %i : i64
    %t31 = arith.addi %t30, %i : i64
    %t32 = arith.xori %t31, %i : i64
    %t33 = arith.addi %t32, %i : i64
    %t34 = arith.xori %t33, %i : i64
    %t35 = arith.addi %t34, %i : i64
    %t36 = arith.xori %t35, %i : i64
    %t37 = arith.addi %t36, %i : i64
    %t38 = arith.xori %t37, %i : i64
    %t39 = arith.addi %t38, %i : i64
    %t40 = arith.xori %t39, %i : i64
    %t41 = arith.addi %t40, %i : i64
    %t42 = arith.xori %t41, %i : i64
    %t43 = arith.addi %t42, %i : i64
    %t44 = arith.xori %t43, %i : i64
    %t45 = arith.addi %t44, %i : i64
    %t46 = arith.xori %t45, %i : i64
    %t47 = arith.addi %t46, %i : i64
    %t48 = arith.xori %t47, %i : i64
    %t49 = arith.addi %t48, %i : i64
    %t50 = arith.xori %t49, %i : i64
    %t51 = arith.addi %t50, %i : i64
    %zero = arith.constant 0 : i64
    %last = kernel.index "N - 1"
    %low = arith.maxsi %t51, %zero : i64
    %at = arith.minsi %low, %last : i64
    %x = kernel.load %in0["64*$0 + c"] indirect(%at) : <f32> -> f32
    %s = kernel.reduce add %x over ["k"] : f32
    kernel.store %s, %out0["64*r + c"] : f32, <f32>
  }
  return
}
