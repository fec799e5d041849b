// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// From row to row indices count along, and what one of them carries to the next is a number: of conditions that are combined bytes of registers are set, which wait
// for what these held before, the row's result.
// CHECK-LABEL: turned_avx512.body(
// CHECK: %[[WRAPS:.*]] = arith.cmpi sge, %[[C:.*]], %c7_i64
// CHECK: %[[CARRY:.*]] = arith.extui %[[WRAPS]] : i1 to i64
// CHECK: %[[B:.*]] = arith.addi %{{.*}}, %[[CARRY]] : i64
// CHECK: arith.cmpi sge, %[[B]], %c6_i64
// CHECK-NOT: arith.andi
// CHECK: scf.yield
func.func @main(%x: tensor<6x5x7x20xf32>) {
  %0 = kernel.generic reduction @turned axes(a = "5", b = "6", c = "7", d = "20") ins(%x : tensor<6x5x7x20xf32>) outs(tensor<5x6x7xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %in["700*b + 140*a + 20*c + d"] : !kernel.ref<f32> -> f32
    %m = kernel.reduce max %v over ["d"] : f32
    kernel.store %m, %out["42*a + 7*b + c"] : f32, !kernel.ref<f32>
  }
  return
}
