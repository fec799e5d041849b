// Sums of a fragment that become 16-bit numbers, from what belongs to a row or a column alone, turn through shared memory as those: pairs of
// columns are written, and 16 bytes stored. What reads a number for each sum (a residual) turns as f32, so that it reads runs. Where the columns of a
// line are open, the run tells whether they come in eights.
// RUN: lathe-cuda %s --kernel=bias --sm=90 --emit=ptx | FileCheck %s --check-prefix=BIAS
// RUN: lathe-cuda %s --kernel=bias --sm=75 --emit=ptx | FileCheck %s --check-prefix=BIAS
// RUN: lathe-cuda %s --kernel=residual --sm=90 --emit=ptx | FileCheck %s --check-prefix=RESIDUAL
// RUN: lathe-cuda %s --kernel=open --sm=90 --emit=ptx | FileCheck %s --check-prefix=OPEN
// RUN: lathe-cuda %s --kernel=bias --sm=80 --emit=plan --processors=4 | FileCheck %s --check-prefix=ROOM
// REQUIRES: ptxas

// The largest tile of warps (24 of 128x256) has four stages without padding, its sums turn where operands were: it fits into the 101,376 bytes of 8.6 and 8.9.
// ROOM: 0 24 1 1 256 99328

// BIAS: cvt.rn.f16.f32
// BIAS: st.shared.{{[bu]}}32
// BIAS: ld.shared.v4
// BIAS: st.global.v4
// RESIDUAL-NOT: st.global.v4.b32
// RESIDUAL: st.shared.v2.f32
// RESIDUAL: ld.shared.v4.f32
// RESIDUAL-NOT: st.global.v4.b32
// OPEN-LABEL: .entry gemm_wgmma_64x64(
// OPEN: and.b64 %{{.*}}, 7
// OPEN: st.global.v4
// OPEN: .entry

!x = tensor<1024x512xf16>
!w = tensor<512x768xf16>
!y = tensor<1024x768xf16>
!b = tensor<768xf16>
!ox = tensor<?x?xf16, #lathe.dims<"rows", "depth">>
!ow = tensor<?x?xf16, #lathe.dims<"depth", "cols">>
!oy = tensor<?x?xf16, #lathe.dims<"rows", "cols">>
lathe.symbol "rows" range[1, -1]
lathe.symbol "depth" range[1, -1]
lathe.symbol "cols" range[1, -1]
func.func @f(%x: !x, %w: !w, %b: !b, %r: !y, %ox: !ox, %ow: !ow) -> (!y, !y, !oy) {
  %0 = kernel.generic contraction @bias axes(m = "1024", n = "768", k = "512") ins(%x, %w, %b : !x, !w, !b) outs(!y) {
  ^bb0(%a: !kernel.ref<f16>, %c: !kernel.ref<f16>, %d: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.contract %a["512*m + k"], %c["768*k + n"] over ["k"] : (!kernel.ref<f16>, !kernel.ref<f16>) -> f32
    %2 = kernel.load %d["n"] : !kernel.ref<f16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.addf %1, %3 : f32
    %5 = arith.truncf %4 : f32 to f16
    kernel.store %5, %out["768*m + n"] : f16, !kernel.ref<f16>
  }
  %6 = kernel.generic contraction @residual axes(m = "1024", n = "768", k = "512") ins(%x, %w, %r : !x, !w, !y) outs(!y) {
  ^bb0(%a: !kernel.ref<f16>, %c: !kernel.ref<f16>, %d: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.contract %a["512*m + k"], %c["768*k + n"] over ["k"] : (!kernel.ref<f16>, !kernel.ref<f16>) -> f32
    %2 = kernel.load %d["768*m + n"] : !kernel.ref<f16> -> f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.addf %1, %3 : f32
    %5 = arith.truncf %4 : f32 to f16
    kernel.store %5, %out["768*m + n"] : f16, !kernel.ref<f16>
  }
  %7 = kernel.generic contraction @open axes(i = "rows", j = "cols", l = "depth") ins(%ox, %ow : !ox, !ow) outs(!oy) {
  ^bb0(%a: !kernel.ref<f16>, %c: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.contract %a["i*depth + l"], %c["l*cols + j"] over ["l"] : (!kernel.ref<f16>, !kernel.ref<f16>) -> f32
    %2 = arith.truncf %1 : f32 to f16
    kernel.store %2, %out["i*cols + j"] : f16, !kernel.ref<f16>
  }
  return %0, %6, %7 : !y, !y, !oy
}
