// Words of keys that are all wanted are written where their indices will be, and sorted with as much room beside them. Where fewer are wanted, or words are wider
// than indices, they have a place of their own.
// RUN: lathe-kernel %s --variant avx2 --emit=mlir | FileCheck %s
!x = tensor<1000xf32>
!d = tensor<1000xf64>
!i = tensor<1000xi64>
!h = tensor<500xi64>
func.func @f(%x: !x, %d: !d) -> (!i, !h, !i) {
  // CHECK-LABEL: func.func private @{{[a-z0-9_]*}}all_avx2.body(
  // CHECK: %[[ROW:[0-9]+]] = llvm.getelementptr inbounds %arg1[
  // CHECK: call @lathe_sort_words(%[[ROW]], %arg7,
  // CHECK-LABEL: @{{[a-z0-9_]*}}all_avx2_plan(
  // CHECK: llvm.store %c8000_i64
  %0 = kernel.generic sort @all axes(p = "1000", k = "1000") ins(%x : !x) outs(!i) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %1 = kernel.load %a["k"] : <f32> -> f32
    %2 = kernel.sort %1 along "k" to "p" : f32
    kernel.store %2, %out["p"] : i64, <i64>
  }
  // CHECK-LABEL: func.func private @{{[a-z0-9_]*}}half_avx2.body(
  // CHECK: call @lathe_sort_words(%arg7,
  // CHECK-LABEL: @{{[a-z0-9_]*}}half_avx2_plan(
  // CHECK: llvm.store %c9216_i64
  %3 = kernel.generic sort @half axes(p = "500", k = "1000") ins(%x : !x) outs(!h) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %1 = kernel.load %a["k"] : <f32> -> f32
    %2 = kernel.sort %1 along "k" to "p" : f32
    kernel.store %2, %out["p"] : i64, <i64>
  }
  // CHECK-LABEL: @{{[a-z0-9_]*}}wide_avx2_plan(
  // CHECK: llvm.store %c32000_i64
  %4 = kernel.generic sort @wide axes(p = "1000", k = "1000") ins(%d : !d) outs(!i) {
  ^bb0(%a: !kernel.ref<f64>, %out: !kernel.ref<i64>):
    %1 = kernel.load %a["k"] : <f64> -> f64
    %2 = kernel.sort %1 along "k" to "p" : f64
    kernel.store %2, %out["p"] : i64, <i64>
  }
  return %0, %3, %4 : !i, !h, !i
}
