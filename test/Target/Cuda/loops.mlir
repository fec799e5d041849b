// RUN: lathe-cuda %s --kernel=line --sm=90 --emit=ptx | FileCheck %s --check-prefix=LINE
// RUN: lathe-cuda %s --kernel=line --sm=90 --emit=plan | FileCheck %s --check-prefix=GRID
// RUN: lathe-cuda %s --kernel=narrow --sm=90 --emit=ptx | FileCheck %s --check-prefix=NARROW
// RUN: lathe-cuda %s --kernel=window --sm=90 --emit=ptx | FileCheck %s --check-prefix=WINDOW
// REQUIRES: ptxas

func.func @f(%x: tensor<2047xf32>, %y: tensor<8192x4097xbf16>, %b: tensor<4097xbf16>, %z: tensor<400000x11xf32>) {
  // One axis of any length: wide accesses, and a thread for each element behind the last of them. 511 of the former and 3 of the latter
  // take three blocks.
  // LINE: .visible .entry rows_by_lanes
  // LINE-DAG: ld.global.v4.f32
  // LINE-DAG: st.global.v4.f32
  // LINE-DAG: ld.global.f32
  // LINE-DAG: st.global.f32
  // LINE-NOT: .visible .entry
  // GRID: {{^}}0 3 1 1 256
  %0 = kernel.generic loop @line axes(i = "2047") ins(%x : tensor<2047xf32>) outs(tensor<2047xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    %2 = arith.addf %1, %1 : f32
    kernel.store %2, %out["i"] : f32, !kernel.ref<f32>
  }
  // Rows of odd length: a thread reads what it needs for eight points before it stores at the first.
  // NARROW: .visible .entry rows_by_lanes
  // NARROW-NOT: st.global
  // NARROW-COUNT-16: ld.global.b16
  // NARROW: st.global.b16
  %3 = kernel.generic loop @narrow axes(i = "8192", j = "4097") ins(%y, %b : tensor<8192x4097xbf16>, tensor<4097xbf16>)
      outs(tensor<8192x4097xbf16>) {
  ^bb0(%in: !kernel.ref<bf16>, %row: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %4 = kernel.load %in["4097*i + j"] : !kernel.ref<bf16> -> bf16
    %5 = kernel.load %row["j"] : !kernel.ref<bf16> -> bf16
    %6 = arith.addf %4, %5 : bf16
    kernel.store %6, %out["4097*i + j"] : bf16, !kernel.ref<bf16>
  }
  // A short sum of what does not lie side by side is a thread's own where there are many.
  // WINDOW: .visible .entry rows_by_lanes
  // WINDOW-NOT: shfl
  // WINDOW-COUNT-5: ld.global.f32
  // WINDOW-NOT: shfl
  // WINDOW: st.global.f32
  %7 = kernel.generic reduction @window axes(i = "400000", k = "5") ins(%z : tensor<400000x11xf32>) outs(tensor<400000xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %8 = kernel.load %in["11*i + 2*k"] : !kernel.ref<f32> -> f32
    %9 = kernel.reduce add %8 over ["k"] : f32
    kernel.store %9, %out["i"] : f32, !kernel.ref<f32>
  }
  return
}
