// RUN: lathe-cuda %s --kernel=layer_norm --sm=90 --emit=ptx | FileCheck %s --check-prefix=NORM
// REQUIRES: ptxas
// RUN: lathe-cuda %s --kernel=layer_norm --sm=75 --emit=ptx | FileCheck %s --check-prefix=NORM75

func.func @f(%x: tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>, %g: tensor<768xf32>) {
  // A row of 768 elements takes a warp; every access moves 16 bytes, and the row stays in registers.
  // NORM: .visible .entry rows_by_lanes
  // NORM: griddepcontrol.wait
  // NORM-COUNT-6: ld.global.v4.f32
  // NORM: shfl.sync.bfly.b32
  // NORM-NOT: ld.global.f32
  // NORM: st.global.v4.f32
  // NORM75-NOT: griddepcontrol
  // NORM75: .target sm_75
  // NORM75: ld.global.v4.f32
  %y = kernel.generic reduction @layer_norm axes(n = "batch*seq", d = "768")
      ins(%x, %g : tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>, tensor<768xf32>)
      outs(tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>) {
  ^bb0(%in: !kernel.ref<f32>, %gr: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["768*n + d"] : !kernel.ref<f32> -> f32
    %s = kernel.reduce add %0 over ["d"] : f32
    %c = arith.constant 0.00130208337 : f32
    %mean = arith.mulf %s, %c : f32
    %1 = arith.subf %0, %mean : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = kernel.reduce add %2 over ["d"] : f32
    %4 = arith.mulf %3, %c : f32
    %eps = arith.constant 1.0e-5 : f32
    %5 = arith.addf %4, %eps : f32
    %6 = math.rsqrt %5 : f32
    %7 = arith.mulf %1, %6 : f32
    %gg = kernel.load %gr["d"] : !kernel.ref<f32> -> f32
    %8 = arith.mulf %7, %gg : f32
    kernel.store %8, %out["768*n + d"] : f32, !kernel.ref<f32>
  }
  return
}
