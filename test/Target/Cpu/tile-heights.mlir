// Of an open number of rows, shared out among tiles, the highest tiles have a loop in which nobody asks for a height; lower ones choose among theirs.
// Rows at one open distance share a register, three of them: the second and the third lie once and twice as far behind it.
// RUN: lathe-kernel %s --variant avx2 --emit=mlir | FileCheck %s

!x = tensor<?x?xf32, #lathe.dims<"m", "k">>
!w = tensor<?x?xf32, #lathe.dims<"k", "n">>
!y = tensor<?x?xf32, #lathe.dims<"m", "n">>

// CHECK-LABEL: func.func private @lathe_k0_product_avx2.body
// The tile's first row is six times its number.
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c6_i64
// CHECK-NOT: scf.index_switch
// CHECK: %[[FIRST:.*]] = llvm.call_intrinsic "llvm.launder.invariant.group"
// CHECK: %[[FOURTH:.*]] = llvm.call_intrinsic "llvm.launder.invariant.group"
// CHECK-NOT: llvm.launder
// CHECK: llvm.intr.fma
// CHECK: scf.index_switch
// CHECK: case 5 {
// CHECK-NOT: case 6 {
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
