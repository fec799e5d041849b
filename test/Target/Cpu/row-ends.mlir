// How rows of open length end. Those of few vectors stay in registers, the last ones under masks. Where a mask is a vector (AVX2), a store with one takes a
// dozen cycles, also of nothing: each asks whether its vector is whole, and whether it is there at all. Rows that are a whole number of trips have no end.
// RUN: lathe-kernel %s --variant avx2 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s --check-prefix=AVX512

lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>

// CHECK-LABEL: func.func private @lathe_k0_softmax_avx2.body
// CHECK-COUNT-4: llvm.store %{{.*}} : vector<8xf32>
// CHECK-NOT: llvm.store
// CHECK: arith.cmpi sgt, %[[LEFT:.*]], %c7_i64
// CHECK: scf.if
// CHECK-NEXT: llvm.store %[[VALUE:.*]], %[[TO:.*]] {alignment = 4 : i64} : vector<8xf32>
// CHECK-NEXT: } else {
// CHECK: arith.cmpi sgt, %[[LEFT]], %c0_i64
// CHECK: scf.if
// CHECK-NEXT: llvm.intr.masked.store %[[VALUE]], %[[TO]],
// CHECK-COUNT-1: llvm.intr.masked.store
// CHECK-NOT: masked.store
// CHECK-LABEL: func.func private @lathe_k0_softmax_avx2.way1.body
// CHECK-NOT: masked
// CHECK-LABEL: func.func private @lathe_k0_softmax_avx2.way2.body
// CHECK: llvm.intr.masked.store

// AVX512-LABEL: func.func private @lathe_k0_softmax_avx512.body
// AVX512: llvm.intr.masked.store
// AVX512-NOT: scf.if
// AVX512: llvm.intr.masked.store
// AVX512-LABEL: func.func private @lathe_k0_softmax_avx512.way1.body
func.func @softmax(%x: !x) -> !x {
  %0 = kernel.generic reduction @softmax axes(i0 = "m", i1 = "n") ins(%x : !x) outs(!x) attributes {schedule.cases = [
      #schedule.case<"n <= 48 and 32 < n", #schedule.rows<persist = 6>>, #schedule.case<"mod(n, 64) = 0", #schedule.rows<>>,
      #schedule.case<#schedule.rows<>>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i0*n + i1"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i1"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = kernel.reduce add %4 over ["i1"] : f32
    %6 = arith.divf %4, %5 : f32
    kernel.store %6, %out["i0*n + i1"] : f32, <f32>
  }
  return %0 : !x
}
