// RUN: lathe-cuda %s --emit=entries | FileCheck %s --check-prefix=ENTRIES
// RUN: lathe-cuda %s --emit=plan --size=N=1 --size=C=1048576 --processors=132 | FileCheck %s --check-prefix=FEW
// RUN: lathe-cuda %s --emit=plan --size=N=1 --size=C=1048576 --processors=16 | FileCheck %s --check-prefix=SMALL
// RUN: lathe-cuda %s --emit=plan --size=N=1 --size=C=1048575 --processors=132 | FileCheck %s --check-prefix=ODD
// RUN: lathe-cuda %s --emit=plan --size=N=4096 --size=C=16384 --processors=132 | FileCheck %s --check-prefix=MANY
// RUN: lathe-cuda %s --emit=plan --size=N=4096 --size=C=64 --processors=132 | FileCheck %s --check-prefix=SHORT
// REQUIRES: ptxas

// Wide accesses first, then those of any size.
// ENTRIES: {{^}}scan_by_blocks{{$}}
// ENTRIES-NEXT: scan_rows_totals
// ENTRIES-NEXT: scan_rows_chunks
// ENTRIES-NEXT: scan_by_warps
// ENTRIES-NEXT: scan_by_blocks_any
// ENTRIES-NEXT: scan_rows_totals_any

// Words: entry, grid, block, shared memory, cluster, flags, maps, persistent, scratch memory, following launches.
// A row for the whole machine: chunks of 4,096 elements and a total of each; a smaller machine makes fewer.
// FEW: {{^}}1 256 1 1 256 0 0 1 0 0 1024 1
// SMALL: {{^}}1 64 1 1 256 0 0 1 0 0 256 1
// ODD: {{^}}5 512 1 1 256 0 0 1 0 0 2048 1
// MANY: {{^}}0 4096 1 1 256 0 0 1 0 0 0 1
// SHORT: {{^}}3 512 1 1 256 0 0 1 0 0 0 1
func.func @f(%x: tensor<?x?xf32, #lathe.dims<"N", "C">>) {
  %r = kernel.generic scan @sums axes(n = "N", c = "C") ins(%x : tensor<?x?xf32, #lathe.dims<"N", "C">>)
      outs(tensor<?x?xf32, #lathe.dims<"N", "C">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %in["C*n + c"] : !kernel.ref<f32> -> f32
    %s = kernel.scan add %v along "c" : f32
    kernel.store %s, %out["C*n + c"] : f32, !kernel.ref<f32>
  }
  return
}
