// The place of a row's largest element is searched in 32 bits where they are enough: of known length, or where the call's is short. What else
// is reduced, and places at which no bound is known, stay as they are.
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | FileCheck %s --check-prefix=CASES
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir | FileCheck %s

lathe.symbol "n" range [1, -1]
!x = tensor<4x1000xf32>
!o = tensor<4x?xf32, #lathe.dims<"4", "n">>

// CASES-LABEL: @known
// CASES-SAME: schedule.cases = [#schedule.case<#schedule.rows<>>]
// CASES-LABEL: @open
// CASES-SAME: #schedule.case<"n <= 2147483646", #schedule.rows<>>, #schedule.case<#schedule.rows<>>]
// CASES-LABEL: @sum
// CASES-NOT: 2147483646
// CHECK-LABEL: func.func private @lathe_k0_known_avx2.body
// CHECK: arith.minsi {{.*}} : vector<8xi32>
// CHECK-NOT: vector<{{[48]}}xi64>, vector
// CHECK: arith.extsi {{.*}} : i32 to i64
// The last way is the general one.
// CHECK: func.func private @lathe_k1_open_avx2.way{{[0-9]+}}.body
// CHECK: arith.minsi {{.*}} : vector<8xi32>
// CHECK: arith.minsi {{.*}} : vector<8xi64>
// CHECK: func.func @lathe_k1_open_avx2(
// CHECK-LABEL: func.func private @lathe_k2_sum_avx2.body
// CHECK-NOT: i32>
func.func @f(%x: !x, %o: !o) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) {
  %0 = kernel.generic reduction @known axes(i = "4", j = "1000") ins(%x : !x) outs(tensor<4xi64>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %v = kernel.load %a["1000*i + j"] : <f32> -> f32
    %m = kernel.reduce max %v over ["j"] : f32
    %p = arith.cmpf oeq, %v, %m : f32
    %j = kernel.index "j"
    %n = arith.constant 1000 : i64
    %s = arith.select %p, %j, %n : i64
    %y = kernel.reduce min %s over ["j"] : i64
    kernel.store %y, %out["i"] : i64, <i64>
  }
  %1 = kernel.generic reduction @open axes(i = "4", j = "n") ins(%o : !o) outs(tensor<4xi64>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %v = kernel.load %a["i*n + j"] : <f32> -> f32
    %m = kernel.reduce max %v over ["j"] : f32
    %p = arith.cmpf oeq, %v, %m : f32
    %j = kernel.index "j"
    %n = kernel.index "n"
    %s = arith.select %p, %j, %n : i64
    %y = kernel.reduce min %s over ["j"] : i64
    kernel.store %y, %out["i"] : i64, <i64>
  }
  %2 = kernel.generic reduction @sum axes(i = "4", j = "1000") ins(%x : !x) outs(tensor<4xi64>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %v = kernel.load %a["1000*i + j"] : <f32> -> f32
    %zero = arith.constant 0.0 : f32
    %p = arith.cmpf ogt, %v, %zero : f32
    %j = kernel.index "j"
    %n = arith.constant 1000 : i64
    %s = arith.select %p, %j, %n : i64
    %y = kernel.reduce add %s over ["j"] : i64
    kernel.store %y, %out["i"] : i64, <i64>
  }
  return %0, %1, %2 : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>
}
