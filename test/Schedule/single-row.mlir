// A product with a constant matrix, whose columns were packed: of an open number of rows a call with one has code of its own.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s --check-prefix=CODE

// All the sizes that make up the rows are one then.
// CHECK: @step {{.*}}schedule.cases = [#schedule.case<"b = 1 and t = 1", #schedule.tiles<narrow = 32>>, #schedule.case<#schedule.tiles<narrow = 32>>]
// No tile asks how high it is.
// CODE-LABEL: func.func private @lathe_k0_step_avx512.body(
// CODE-NOT: scf.index_switch
// CODE-LABEL: func.func private @lathe_k0_step_avx512.way1.body(
// CODE: scf.index_switch
func.func @f(%x: tensor<?x?x64xf32>, %w: tensor<8192xf32>) -> tensor<?x?x128xf32> {
  %0 = kernel.generic contraction @step axes(i0 = "b", i1 = "t", i2 = "128", i3 = "64") ins(%x, %w : tensor<?x?x64xf32>, tensor<8192xf32>)
      outs(tensor<?x?x128xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["64*i0*t + 64*i1 + i3"], %b["64*i2 + i3"] over ["i3"] packed {n_panel = 32 : i64} : (<f32>, <f32>) -> f32
    kernel.store %1, %out["128*i0*t + 128*i1 + i2"] : f32, <f32>
  }
  return %0 : tensor<?x?x128xf32>
}

// A difference of sizes is no product of them.
// CHECK: @window {{.*}}schedule.cases = [#schedule.case<#schedule.tiles<narrow = 32>>]
func.func @g(%x: tensor<?x64xf32>, %w: tensor<8192xf32>) -> tensor<?x128xf32> {
  %0 = kernel.generic contraction @window axes(i0 = "t - 3", i2 = "128", i3 = "64") ins(%x, %w : tensor<?x64xf32>, tensor<8192xf32>) outs(tensor<?x128xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["64*i0 + i3"], %b["64*i2 + i3"] over ["i3"] packed {n_panel = 32 : i64} : (<f32>, <f32>) -> f32
    kernel.store %1, %out["128*i0 + i2"] : f32, <f32>
  }
  return %0 : tensor<?x128xf32>
}
