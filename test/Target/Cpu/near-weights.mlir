// A single row reads panel after panel as they lie. It requests them ahead where the second-level cache of the machine that runs it holds them all,
// 256 KB here; of 16 MB, which none holds, nothing is asked.
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s
// CHECK-LABEL: func.func private @{{.*}}_near_avx512.body
// CHECK: %[[END:.*]] = arith.addi %arg{{[0-9]+}}, %c1_i64
// CHECK: %[[NEAR:.*]] = arith.cmpi sgt, %[[END]], %c262144_i64
// CHECK: scf.if %[[NEAR]] {
// CHECK: "llvm.intr.prefetch"
// CHECK: } else {
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK-LABEL: func.func private @{{.*}}_far_avx512.body
// CHECK-NOT: "llvm.intr.prefetch"
func.func @f(%x: tensor<1x256xf32>, %w: tensor<65536xf32>, %y: tensor<1x2048xf32>, %u: tensor<4194304xf32>) -> (tensor<1x256xf32>, tensor<1x2048xf32>) {
  %0 = kernel.generic contraction @near axes(i0 = "1", i1 = "256", i2 = "256") ins(%x, %w : tensor<1x256xf32>, tensor<65536xf32>) outs(tensor<1x256xf32>)
      attributes {schedule.cases = [#schedule.case<#schedule.tiles<narrow = 32>>]} {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["256*i0 + i2"], %b["256*i1 + i2"] over ["i2"] packed {n_panel = 32 : i64} : (<f32>, <f32>) -> f32
    kernel.store %1, %out["256*i0 + i1"] : f32, <f32>
  }
  %2 = kernel.generic contraction @far axes(i0 = "1", i1 = "2048", i2 = "2048") ins(%y, %u : tensor<1x2048xf32>, tensor<4194304xf32>) outs(tensor<1x2048xf32>)
      attributes {schedule.cases = [#schedule.case<#schedule.tiles<narrow = 32>>]} {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["2048*i0 + i2"], %b["2048*i1 + i2"] over ["i2"] packed {n_panel = 32 : i64} : (<f32>, <f32>) -> f32
    kernel.store %1, %out["2048*i0 + i1"] : f32, <f32>
  }
  return %0, %2 : tensor<1x256xf32>, tensor<1x2048xf32>
}
