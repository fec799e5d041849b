// Tiles of an open number request the next panel: two of them a half each, of four or more a quarter, which a call decides. With sixteen registers they are
// taken for four.
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant avx2 --emit=mlir | FileCheck %s --check-prefix=SIXTEEN
// CHECK: %[[SEVERAL:.*]] = arith.cmpi sgt, %[[TILES:[0-9]+]], %c1_i64
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[TILES]], %c4_i64
// CHECK: %[[FEW:.*]] = arith.andi %[[SEVERAL]], %[[BELOW]]
// CHECK: arith.select %[[FEW]], %c1_i64{{.*}}, %c3_i64
// CHECK: %[[STEP:.*]] = arith.select %[[FEW]], %c16_i64{{.*}}, %c8_i64
// SIXTEEN-NOT: arith.andi {{.*}} : i1
func.func @f(%x: tensor<?x768xf32>, %w: tensor<589824xf32>) -> tensor<?x768xf32> {
  %0 = kernel.generic contraction @open axes(i0 = "m", i1 = "768", i2 = "768") ins(%x, %w : tensor<?x768xf32>, tensor<589824xf32>) outs(tensor<?x768xf32>)
      attributes {schedule.cases = [#schedule.case<#schedule.tiles<narrow = 32>>]} {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["768*i0 + i2"], %b["768*i1 + i2"] over ["i2"] packed {n_panel = 32 : i64} : (<f32>, <f32>) -> f32
    kernel.store %1, %out["768*i0 + i1"] : f32, <f32>
  }
  return %0 : tensor<?x768xf32>
}
