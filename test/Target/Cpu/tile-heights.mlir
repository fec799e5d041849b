// Of an open number of rows, shared out among tiles, lower tiles come first, and choose among their heights; the highest ones have a loop in which nobody
// asks for a height.
// Rows at one open distance share a register, three of them: the second and the third lie once and twice as far behind it.
// RUN: lathe-kernel %s --variant avx2 --emit=mlir | FileCheck %s

!x = tensor<?x?xf32, #lathe.dims<"m", "k">>
!w = tensor<?x?xf32, #lathe.dims<"k", "n">>
!y = tensor<?x?xf32, #lathe.dims<"m", "n">>

// CHECK-LABEL: func.func private @lathe_k0_product_avx2.body
// CHECK: scf.index_switch
// CHECK: case 5 {
// CHECK-NOT: case 6 {
// The tile's first row is six times its number, less the rows that lower tiles lack.
// CHECK: %[[SIX:.*]] = arith.muli %{{.*}}, %c6_i64
// CHECK: arith.subi %[[SIX]],
// CHECK-NOT: scf.index_switch
// CHECK: %[[FIRST:.*]] = llvm.call_intrinsic "llvm.launder.invariant.group"
// CHECK: %[[FOURTH:.*]] = llvm.call_intrinsic "llvm.launder.invariant.group"
// CHECK-NOT: llvm.launder
// CHECK: llvm.intr.fma
// CHECK-NOT: scf.index_switch
// CHECK: return
func.func @product(%x: !x, %w: !w) -> !y {
  %0 = kernel.generic contraction @product axes(i0 = "m", i1 = "n", i2 = "k") ins(%x, %w : !x, !w) outs(!y) attributes {schedule.cases = [
      #schedule.case<#schedule.tiles<narrow = 32>>]} {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["i0*k + i2"], %b["i2*n + i1"] over ["i2"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["i0*n + i1"] : f32, <f32>
  }
  return %0 : !y
}
