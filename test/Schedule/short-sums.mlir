// A product whose depth is found in a run: short sums go from their registers to what follows, long ones through a tile in memory.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | FileCheck %s --check-prefix=AVX2
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s --check-prefix=CODE

!x = tensor<?x?x?xf32, #lathe.dims<"b", "m", "k">>
!w = tensor<?x?x?xf32, #lathe.dims<"b", "k", "n">>
!y = tensor<?x?x?xf32, #lathe.dims<"b", "m", "n">>

// CHECK: @scores {{.*}}#schedule.case<"k <= 80", #schedule.tiles<narrow = 16, direct = 1>>, #schedule.case<#schedule.tiles<narrow = 16>>]
// Sixteen registers are full of sums: a trip through memory counts longer beside the rest.
// AVX2: @scores {{.*}}#schedule.case<"k <= 256", #schedule.tiles<narrow = 16, direct = 1>>, #schedule.case<#schedule.tiles<narrow = 16>>]
// Behind the loop over the depth each vector of a whole panel is scaled and stored where it belongs.
// CODE-LABEL: func.func private @lathe_k0_scores_avx512.way2.body(
// CODE: llvm.intr.fma
// CODE-NOT: llvm.store
// CODE: %[[SCALED:.*]] = arith.mulf %{{.*}}, %{{.*}} {lathe.rounded} : vector<16xf32>
// CODE: llvm.getelementptr inbounds %arg2[
// CODE-NEXT: llvm.store %[[SCALED]],
// CODE-LABEL: func.func private @lathe_k0_scores_avx512.way3.body(
func.func @scores(%x: !x, %w: !w) -> !y {
  %0 = kernel.generic contraction @scores axes(i0 = "b", i1 = "m", i2 = "n", i3 = "k") ins(%x, %w : !x, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["i0*m*k + i1*k + i3"], %b["i0*k*n + i3*n + i2"] over ["i3"] : (<f32>, <f32>) -> f32
    %scale = arith.constant 1.250000e-01 : f32
    %2 = arith.mulf %1, %scale : f32
    kernel.store %2, %out["i0*m*n + i1*n + i2"] : f32, <f32>
  }
  return %0 : !y
}

// What has constants and steps of its own keeps its registers.
// CHECK: @swish
// CHECK-NOT: direct
// CHECK: return
func.func @swish(%x: !x, %w: !w) -> !y {
  %0 = kernel.generic contraction @swish axes(i0 = "b", i1 = "m", i2 = "n", i3 = "k") ins(%x, %w : !x, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["i0*m*k + i1*k + i3"], %b["i0*k*n + i3*n + i2"] over ["i3"] : (<f32>, <f32>) -> f32
    %2 = math.tanh %1 : f32
    kernel.store %2, %out["i0*m*n + i1*n + i2"] : f32, <f32>
  }
  return %0 : !y
}

// Results of which columns do not lie side by side are transposed in the tile.
// CHECK: @across
// CHECK-NOT: direct
// CHECK: return
func.func @across(%x: !x, %w: !w) -> !y {
  %0 = kernel.generic contraction @across axes(i0 = "b", i1 = "m", i2 = "n", i3 = "k") ins(%x, %w : !x, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["i0*m*k + i1*k + i3"], %b["i0*k*n + i3*n + i2"] over ["i3"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["i0*m*n + i2*m + i1"] : f32, <f32>
  }
  return %0 : !y
}
