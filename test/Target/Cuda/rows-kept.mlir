// A long row that a pass reads again waits in shared memory; blocks of a cluster share it where the machine has clusters.
// RUN: lathe-cuda %s --kernel=rms --sm=90 --emit=ptx | FileCheck %s --check-prefix=CLUSTER
// RUN: lathe-cuda %s --kernel=rms --sm=90 --emit=plan | FileCheck %s --check-prefix=PLAN
// RUN: lathe-cuda %s --kernel=scaled --sm=90 --emit=ptx | FileCheck %s --check-prefix=SCALED
// RUN: lathe-cuda %s --kernel=scaled --sm=90 --emit=plan | FileCheck %s --check-prefix=THREADS
// RUN: lathe-cuda %s --kernel=few --sm=90 --emit=ptx | FileCheck %s --check-prefix=NEXT
// RUN: lathe-cuda %s --kernel=few --sm=90 --emit=plan --processors=132 | FileCheck %s --check-prefix=TURNS
// RUN: lathe-cuda %s --kernel=shorter --sm=80 --emit=ptx | FileCheck %s --check-prefix=BLOCK
// RUN: lathe-cuda %s --kernel=rms --sm=80 --emit=entries | FileCheck %s --check-prefix=LOOP
// RUN: lathe-cuda %s --kernel=sum --sm=90 --emit=entries | FileCheck %s --check-prefix=LOOP
// RUN: lathe-cuda %s --kernel=columns --sm=90 --emit=ptx | FileCheck %s --check-prefix=COLUMNS
// RUN: lathe-cuda %s --kernel=columns --sm=90 --emit=plan | FileCheck %s --check-prefix=PLACES
// REQUIRES: ptxas

// Each thread asks for its accesses, four at a time and then those that are left, and waits for them alone; passes read them past no barrier but the block's. Blocks
// of the cluster send one another their sums, of which each lane takes one block's: no barrier of the cluster but the first, behind which words may come.
// CLUSTER: .visible .entry rows_kept
// CLUSTER-NOT: ld.global
// CLUSTER: mbarrier.init
// CLUSTER: barrier.cluster.arrive.aligned
// CLUSTER-COUNT-4: cp.async.cg.shared.global
// CLUSTER: cp.async.cg.shared.global
// CLUSTER: barrier.cluster.wait.aligned
// CLUSTER: cp.async.wait_all
// CLUSTER: ld.shared.v4.{{[bu]}}32
// CLUSTER: mbarrier.arrive.expect_tx
// CLUSTER: st.async.shared::cluster
// CLUSTER: mbarrier.try_wait
// CLUSTER-COUNT-3: shfl.sync.bfly
// CLUSTER: ld.shared.v4.{{[bu]}}32
// CLUSTER: st.global
// CLUSTER-NOT: cp.async
// CLUSTER-NOT: barrier.cluster
// CLUSTER: ret;
// Of few rows a cluster may have several: what the last pass has read and stored makes room for the next row.
// NEXT: .visible .entry rows_kept
// NEXT-COUNT-5: cp.async.cg.shared.global
// NEXT: cp.async.wait_all
// NEXT: st.global
// NEXT: cp.async.cg.shared.global
// NEXT: ret;
// BLOCK: .visible .entry rows_kept
// BLOCK-NOT: cluster
// BLOCK: st.shared.b16
// BLOCK-NOT: cluster
// BLOCK: ld.shared.b16
// BLOCK: ret;

// 1,024 rows of 65,536 elements of 2 bytes, 64 KB for each of two blocks of 256 threads. 256 of them: as many blocks as run at once, which is up to three for each multiprocessor.
// PLAN: {{^}}0 2048 1 1 256 66560 2 1
// TURNS: {{^}}0 396 1 1 256 66560 2 3

// With parameters along the row 512 threads, which read those of two accesses before they store the first. Of two numbers of bf16 in a register one is shifted, the other one masked.
// THREADS: {{^}}0 2048 1 1 512 66560 2 1
// SCALED: .visible .entry rows_kept
// SCALED: ld.shared.v4.{{[bu]}}32
// SCALED-NOT: cvt.f32.bf16
// SCALED: shl.b32 {{.*}}, 16;
// SCALED: and.b32 {{.*}}, -65536;
// SCALED: st.async
// SCALED: ld.global.v4
// SCALED-NOT: st.global
// SCALED: ld.global.v4
// SCALED: st.global.v4
// SCALED-NOT: ld.global
// SCALED: st.global.v4

// More than a block has room for, or nothing that is read again.
// LOOP-NOT: rows_kept
// LOOP: rows_by_block

// Rows side by side: each thread asks for the accesses of its columns. One barrier for the largest values and one at the end: threads of a warp meet
// in one place, though some of them alone put values together before it and behind it.
// COLUMNS: .visible .entry rows_kept
// COLUMNS: cp.async.cg.shared.global
// COLUMNS: barrier.cluster.wait.aligned
// COLUMNS: mapa.shared::cluster
// COLUMNS: barrier.cluster.wait.aligned
// COLUMNS-NOT: barrier.cluster.wait.aligned
// COLUMNS: .visible .entry
// 4,096 columns in groups of 32 by four blocks of a cluster, 1,024 of the 4,096 places of a column each.
// PLACES: {{^}}0 512 1 1 512 {{[0-9]+}} 4 3

!long = tensor<1024x65536xbf16>
!wide = tensor<4096x4096xbf16>
!short = tensor<1024x9001xbf16>
func.func @f(%x: !long, %y: tensor<256x65536xbf16>, %s: !short, %w: !wide, %p: tensor<65536xbf16>) {
  %c = kernel.generic reduction @columns axes(c = "4096", r = "4096") ins(%w : !wide) outs(!wide) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["4096*r + c"] : <bf16> -> bf16
    %2 = kernel.reduce max %1 over ["r"] : bf16
    %3 = arith.subf %1, %2 : bf16
    kernel.store %3, %out["4096*r + c"] : bf16, <bf16>
  }
  %0 = kernel.generic reduction @rms axes(n = "1024", c = "65536") ins(%x : !long) outs(!long) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["65536*n + c"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = arith.mulf %2, %2 : f32
    %4 = kernel.reduce add %3 over ["c"] : f32
    %5 = math.rsqrt %4 : f32
    %6 = arith.mulf %2, %5 : f32
    %7 = arith.truncf %6 : f32 to bf16
    kernel.store %7, %out["65536*n + c"] : bf16, <bf16>
  }
  %11 = kernel.generic reduction @scaled axes(n = "1024", c = "65536") ins(%x, %p : !long, tensor<65536xbf16>) outs(!long) {
  ^bb0(%in: !kernel.ref<bf16>, %scale: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["65536*n + c"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = arith.mulf %2, %2 : f32
    %4 = kernel.reduce add %3 over ["c"] : f32
    %5 = math.rsqrt %4 : f32
    %6 = arith.mulf %2, %5 : f32
    %7 = kernel.load %scale["c"] : <bf16> -> bf16
    %8 = arith.extf %7 : bf16 to f32
    %9 = arith.mulf %6, %8 : f32
    %10 = arith.truncf %9 : f32 to bf16
    kernel.store %10, %out["65536*n + c"] : bf16, <bf16>
  }
  %10 = kernel.generic reduction @few axes(n = "256", c = "65536") ins(%y : tensor<256x65536xbf16>) outs(tensor<256x65536xbf16>) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["65536*n + c"] : <bf16> -> bf16
    %2 = kernel.reduce max %1 over ["c"] : bf16
    %3 = arith.subf %1, %2 : bf16
    kernel.store %3, %out["65536*n + c"] : bf16, <bf16>
  }
  %8 = kernel.generic reduction @shorter axes(n = "1024", c = "9001") ins(%s : !short) outs(!short) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["9001*n + c"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = arith.mulf %2, %2 : f32
    %4 = kernel.reduce add %3 over ["c"] : f32
    %5 = math.rsqrt %4 : f32
    %6 = arith.mulf %2, %5 : f32
    %7 = arith.truncf %6 : f32 to bf16
    kernel.store %7, %out["9001*n + c"] : bf16, <bf16>
  }
  %9 = kernel.generic reduction @sum axes(n = "1024", c = "65536") ins(%x : !long) outs(tensor<1024xf32>) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["65536*n + c"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = kernel.reduce add %2 over ["c"] : f32
    kernel.store %3, %out["n"] : f32, <f32>
  }
  return
}
