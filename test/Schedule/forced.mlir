// A schedule that is written down is what is emitted; what would be wrong is refused.
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s
// RUN: sed 's/C <= 64/C <= 65/' %s | not lathe-kernel - --variant avx512 --emit=mlir 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not lathe-kernel %s --variant baseline --emit=mlir 2>&1 | FileCheck %s --check-prefix=MASKS
// WRONG: persist = 4: the condition does not say that s000 <= 64
// MASKS: persist: rows of open length end under masks, which the machine has not for these types

// Four vectors, of which the last three may be cut off.
// CHECK-LABEL: func.func private @lathe_k0_sum_avx512.body(
// CHECK-COUNT-3: llvm.intr.masked.load
// CHECK-NOT: llvm.intr.masked.load
// Two vectors a trip.
// CHECK-LABEL: func.func private @lathe_k0_sum_avx512.way1.body(
// CHECK: scf.for {{.*}} step %c32
func.func @f(%x: tensor<?xf32>) {
  %0 = kernel.generic reduction @sum axes(n = "N", c = "C") ins(%x : tensor<?xf32>) outs(tensor<?xf32>)
      attributes {schedule.cases = [#schedule.case<"C <= 64 and 16 <= C", #schedule.rows<persist = 4>>, #schedule.case<#schedule.rows<unroll = 2>>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["C*n + c"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["c"] : f32
    kernel.store %2, %out["n"] : f32, <f32>
  }
  return
}
