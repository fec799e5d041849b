// Where all of a row is wanted and no place is, keys are sorted alone: in the results, where those are as wide, with as much room beside them. Zeros and NaNs, which have one
// number each, are put into their places in the order in which they come, where a row has other ones than 0. A place that is a result takes words of keys and places.
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s
!x = tensor<1000xf32>
!d = tensor<1000xf64>
!h = tensor<1000xbf16>
!i = tensor<1000xi64>
func.func @f(%x: !x, %d: !d, %h: !h, %i: !i) {
  // CHECK-LABEL: func.func private @lathe_k0_real_avx2.body(
  // CHECK: %[[ROW:[0-9]+]] = llvm.getelementptr inbounds %arg1[
  // CHECK: llvm.store %{{.*}} : vector<8xi32>, !llvm.ptr
  // CHECK: %[[SORTED:.*]] = func.call @lathe_sort_keys(%[[ROW]], %arg7,
  // CHECK-COUNT-3: call @lathe_find_key(%[[SORTED]],
  // CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<8xi32>
  // CHECK: vector.reduction <or>
  // CHECK-LABEL: @lathe_k0_real_avx2_plan(
  // CHECK: llvm.store %c4032_i64
  %0 = kernel.generic sort @real axes(p = "1000", k = "1000") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["k"] : <f32> -> f32
    %2 = kernel.sort %1 along "k" to "p" : f32
    %3 = kernel.load %a["$0"] indirect(%2) : <f32> -> f32
    kernel.store %3, %out["p"] : f32, <f32>
  }
  // CHECK-LABEL: func.func private @lathe_k1_integers_avx2.body(
  // CHECK: call @lathe_sort_wide_keys(
  // CHECK-NOT: call @lathe_find
  // CHECK-LABEL: @lathe_k1_integers_avx2_plan(
  // CHECK: llvm.store %c8000_i64
  %4 = kernel.generic sort @integers axes(p = "1000", k = "1000") ins(%i : !i) outs(!i) {
  ^bb0(%a: !kernel.ref<i64>, %out: !kernel.ref<i64>):
    %1 = kernel.load %a["k"] : <i64> -> i64
    %2 = kernel.sort %1 along "k" to "p" {descending} : i64
    %3 = kernel.load %a["$0"] indirect(%2) : <i64> -> i64
    kernel.store %3, %out["p"] : i64, <i64>
  }
  // Results are narrower than words.
  // CHECK-LABEL: func.func private @lathe_k2_halves_avx2.body(
  // CHECK: call @lathe_sort_keys(%arg7,
  // CHECK-LABEL: @lathe_k2_halves_avx2_plan(
  // CHECK: llvm.store %c8064_i64
  %5 = kernel.generic sort @halves axes(p = "1000", k = "1000") ins(%h : !h) outs(!h) {
  ^bb0(%a: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %a["k"] : <bf16> -> bf16
    %2 = kernel.sort %1 along "k" to "p" : bf16
    %3 = kernel.load %a["$0"] indirect(%2) : <bf16> -> bf16
    kernel.store %3, %out["p"] : bf16, <bf16>
  }
  // CHECK-LABEL: func.func private @lathe_k3_places_avx2.body(
  // CHECK: call @lathe_sort_words(
  %6:2 = kernel.generic sort @places axes(p = "1000", k = "1000") ins(%x : !x) outs(!x, !i) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>, %at: !kernel.ref<i64>):
    %1 = kernel.load %a["k"] : <f32> -> f32
    %2 = kernel.sort %1 along "k" to "p" : f32
    %3 = kernel.load %a["$0"] indirect(%2) : <f32> -> f32
    kernel.store %3, %out["p"] : f32, <f32>
    kernel.store %2, %at["p"] : i64, <i64>
  }
  return
}
