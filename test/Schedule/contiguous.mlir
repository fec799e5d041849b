// Sequences that lie side by side, in a number of them that is open, may turn out as one: then each is read from end to end.
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | FileCheck %s
!x = tensor<?x?x?xf32, #lathe.dims<"b", "n", "s">>
!i = tensor<?x5x?xi64, #lathe.dims<"b", "5", "s">>
lathe.symbol "b" range [1, -1]
lathe.symbol "n" range [5, -1]
lathe.symbol "s" range [1, -1]
func.func @f(%x: !x) -> (!i, !x, !i) {
  // CHECK: @selected {{.*}}[#schedule.case<"s = 1", #schedule.plain>, #schedule.case<#schedule.plain>]
  %0 = kernel.generic sort @selected axes(i = "b", j = "s", p = "5", k = "n") ins(%x : !x) outs(!i) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %1 = kernel.load %a["i*n*s + k*s + j"] : <f32> -> f32
    %2 = kernel.sort %1 along "k" to "p" {descending} : f32
    kernel.store %2, %out["5*i*s + p*s + j"] : i64, <i64>
  }
  // CHECK: @summed {{.*}}[#schedule.case<"s = 1", #schedule.plain>, #schedule.case<#schedule.plain>]
  %3 = kernel.generic scan @summed axes(i = "b", j = "s", k = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i*n*s + k*s + j"] : <f32> -> f32
    %2 = kernel.scan add %1 along "k" : f32
    kernel.store %2, %out["i*n*s + k*s + j"] : f32, <f32>
  }
  // Sequences that lie one behind the other do already.
  // CHECK: @behind
  // CHECK-NOT: #schedule.case<"
  // CHECK-SAME: [#schedule.case<#schedule.plain>]
  %4 = kernel.generic sort @behind axes(i = "b", j = "s", p = "5", k = "n") ins(%x : !x) outs(!i) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %1 = kernel.load %a["i*n*s + j*n + k"] : <f32> -> f32
    %2 = kernel.sort %1 along "k" to "p" : f32
    kernel.store %2, %out["5*i*s + 5*j + p"] : i64, <i64>
  }
  return %0, %3, %4 : !i, !x, !i
}
