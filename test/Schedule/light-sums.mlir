// A sum of loads alone waits for its additions: rows of 32 vectors and more have eight vectors a trip, where these are all of it. Among 32 registers a row of sixteen needs no loop.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | FileCheck %s --check-prefix=AVX2
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!y = tensor<?xf32, #lathe.dims<"m">>
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]
func.func @f(%x: !x) -> (!y, !y) {
  // CHECK: @sums {{.*}}#schedule.case<"n = 256", #schedule.rows<persist = 16>>, #schedule.case<"512 <= n and mod(n, 128) = 0", #schedule.rows<unroll = 8>>, #schedule.case<"mod(n, 64) = 0", #schedule.rows<>>, #schedule.case<#schedule.rows<>>]
  // AVX2: @sums {{.*}}#schedule.case<"n <= 56 and 48 < n", #schedule.rows<persist = 7>>, #schedule.case<"n = 64", #schedule.rows<persist = 8>>, {{.*}}#schedule.case<"256 <= n and mod(n, 64) = 0", #schedule.rows<unroll = 8>>, #schedule.case<"mod(n, 32) = 0", #schedule.rows<>>, #schedule.case<#schedule.rows<>>]
  %0 = kernel.generic reduction @sums axes(i = "m", j = "n") ins(%x : !x) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["j"] : f32
    kernel.store %2, %out["i"] : f32, <f32>
  }
  // With an exponential in it, it has enough to do.
  // CHECK: @exps {{.*}}#schedule.case<"n = 128", #schedule.rows<persist = 8>>, #schedule.case<"mod(n, 64) = 0", #schedule.rows<>>, #schedule.case<#schedule.rows<>>]
  %3 = kernel.generic reduction @exps axes(i = "m", j = "n") ins(%x : !x) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %e = math.exp %1 : f32
    %2 = kernel.reduce add %e over ["j"] : f32
    kernel.store %2, %out["i"] : f32, <f32>
  }
  return %0, %3 : !y, !y
}
