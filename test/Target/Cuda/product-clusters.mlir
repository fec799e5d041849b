// Products of many tiles have large ones, and where their rows come in pairs two blocks are a cluster: each brings half of the right operand's columns to both, and
// tells both when it has read a stage. A third row of tiles would stand alone: then each block brings its own.
// RUN: lathe-cuda %s --kernel=pairs --sm=90 --emit=plan --processors=132 | FileCheck %s --check-prefix=PAIRS
// RUN: lathe-cuda %s --kernel=odd --sm=90 --emit=plan --processors=132 | FileCheck %s --check-prefix=ODD
// RUN: lathe-cuda %s --kernel=few --sm=90 --emit=entries | FileCheck %s --check-prefix=FEW
// RUN: lathe-cuda %s --kernel=shallow --sm=90 --emit=plan --processors=132 | FileCheck %s --check-prefix=SHALLOW
// RUN: lathe-cuda %s --kernel=pairs --sm=90 --emit=ptx | FileCheck %s
// REQUIRES: ptxas

// Entry point, blocks, threads, shared memory, blocks of a cluster.
// PAIRS: 4 512 1 1 384 {{[0-9]+}} 2 
// ODD: 4 262 1 1 384 {{[0-9]+}} 1 
// FEW-NOT: 128x256
// A short depth does not hide what a large tile's results take.
// SHALLOW: 2 1024 1 1 384 {{[0-9]+}} 1 

// CHECK-LABEL: .entry gemm_wgmma_128x128(
// CHECK-NOT: multicast
// CHECK-LABEL: .entry gemm_wgmma_128x256(
// CHECK: barrier.cluster.wait
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
// CHECK: mapa.shared::cluster.u32 there, {{.*}}mbarrier.arrive.shared::cluster.b64
// Nobody leaves before the others are done.
// CHECK: barrier.cluster.wait
// CHECK-NEXT: ret;

!x = tensor<4096x4096xbf16>
!tall = tensor<16700x4096xbf16>
!wide = tensor<4096x512xbf16>
!low = tensor<512x4096xbf16>
!thin = tensor<4096x64xbf16>
!flat = tensor<64x4096xbf16>
func.func @f(%x: !x, %tall: !tall, %wide: !wide, %low: !low, %thin: !thin, %flat: !flat) {
  %0 = kernel.generic contraction @pairs axes(m = "4096", n = "4096", k = "4096") ins(%x, %x : !x, !x) outs(!x) {
  ^bb0(%a: !kernel.ref<bf16>, %b: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.contract %a["4096*m + k"], %b["4096*k + n"] over ["k"] : (!kernel.ref<bf16>, !kernel.ref<bf16>) -> f32
    %2 = arith.truncf %1 : f32 to bf16
    kernel.store %2, %out["4096*m + n"] : bf16, !kernel.ref<bf16>
  }
  %3 = kernel.generic contraction @odd axes(m = "16700", n = "512", k = "4096") ins(%tall, %wide : !tall, !wide) outs(tensor<16700x512xbf16>) {
  ^bb0(%a: !kernel.ref<bf16>, %b: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.contract %a["4096*m + k"], %b["512*k + n"] over ["k"] : (!kernel.ref<bf16>, !kernel.ref<bf16>) -> f32
    %2 = arith.truncf %1 : f32 to bf16
    kernel.store %2, %out["512*m + n"] : bf16, !kernel.ref<bf16>
  }
  %4 = kernel.generic contraction @few axes(m = "512", n = "4096", k = "4096") ins(%low, %x : !low, !x) outs(tensor<512x4096xbf16>) {
  ^bb0(%a: !kernel.ref<bf16>, %b: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.contract %a["4096*m + k"], %b["4096*k + n"] over ["k"] : (!kernel.ref<bf16>, !kernel.ref<bf16>) -> f32
    %2 = arith.truncf %1 : f32 to bf16
    kernel.store %2, %out["4096*m + n"] : bf16, !kernel.ref<bf16>
  }
  %5 = kernel.generic contraction @shallow axes(m = "4096", n = "4096", k = "64") ins(%thin, %flat : !thin, !flat) outs(!x) {
  ^bb0(%a: !kernel.ref<bf16>, %b: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.contract %a["64*m + k"], %b["4096*k + n"] over ["k"] : (!kernel.ref<bf16>, !kernel.ref<bf16>) -> f32
    %2 = arith.truncf %1 : f32 to bf16
    kernel.store %2, %out["4096*m + n"] : bf16, !kernel.ref<bf16>
  }
  return
}
