// What follows a product on the ordinary cores is code of one row of a thread's eight, in a loop: a function of each element is there
// eight or 16 times, not 64 or 128. A short one is written out.
// RUN: lathe-cuda %s --kernel=long --sm=90 --emit=ptx | FileCheck %s --check-prefix=LONG
// RUN: lathe-cuda %s --kernel=short --sm=90 --emit=ptx | FileCheck %s --check-prefix=SHORT
// RUN: lathe-cuda %s --kernel=short --sm=90 --emit=ptx | FileCheck %s --check-prefix=COPIED
// RUN: lathe-cuda %s --kernel=short --sm=75 --emit=ptx | FileCheck %s --check-prefix=LOADED
// RUN: lathe-cuda %s --kernel=short --sm=90 --emit=plan --processors=132 | FileCheck %s --check-prefix=FEW
// RUN: lathe-cuda %s --kernel=short --sm=90 --emit=plan --processors=96 | FileCheck %s --check-prefix=ENOUGH
// REQUIRES: ptxas

// 192 blocks are launched early (the eighth word) only where there are two for each multiprocessor: fewer would lie where the kernel ahead leaves room.
// FEW: 2 192 1 1 256 0 0 0 0
// ENOUGH: 2 192 1 1 256 0 0 1 0

// What the next step multiplies is on its way before this step's products: by itself, or through registers where threads have to carry it.
// COPIED-LABEL: .entry gemm_simt_64x64(
// COPIED: bar.sync
// COPIED: cp.async.cg.shared.global
// COPIED: fma.rn.f32
// COPIED-NOT: ld.global.v4
// COPIED: ret;
// LOADED-LABEL: .entry gemm_simt_64x64(
// LOADED: bar.sync
// LOADED: ld.global.v4
// LOADED: fma.rn.f32

// LONG-LABEL: .entry gemm_simt_128x256(
// LONG-COUNT-16: ex2.approx
// LONG-NOT: ex2.approx
// LONG-LABEL: .entry gemm_simt_128x128(
// LONG-COUNT-8: ex2.approx
// LONG-NOT: ex2.approx
// LONG-LABEL: .entry gemm_simt_64x64(
// LONG-COUNT-4: ex2.approx
// LONG-NOT: ex2.approx
// LONG: ret;
// SHORT-LABEL: .entry gemm_simt_64x64(
// SHORT-COUNT-4: st.global.v4
// SHORT: ret;

!x = tensor<1024x512xf32>
!w = tensor<512x768xf32>
!y = tensor<1024x768xf32>
func.func @f(%x: !x, %w: !w) -> (!y, !y) {
  %0 = kernel.generic contraction @long axes(m = "1024", n = "768", k = "512") ins(%x, %w : !x, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["512*m + k"], %b["768*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    %2 = math.tanh %1 : f32
    kernel.store %2, %out["768*m + n"] : f32, !kernel.ref<f32>
  }
  %3 = kernel.generic contraction @short axes(m = "1024", n = "768", k = "512") ins(%x, %w : !x, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["512*m + k"], %b["768*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %out["768*m + n"] : f32, !kernel.ref<f32>
  }
  return %0, %3 : !y, !y
}
