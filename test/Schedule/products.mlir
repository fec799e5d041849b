// Tiles of a product on a GPU: those that a schedule leaves, and which of them a call gets.
// RUN: lathe-opt %s --lathe-schedule=machine=sm_90 | FileCheck %s
// RUN: lathe-cuda %s --kernel=all --sm=80 --emit=entries | FileCheck %s --check-prefix=ALL
// RUN: lathe-cuda %s --kernel=forced --sm=80 --emit=entries | FileCheck %s --check-prefix=FORCED
// RUN: lathe-cuda %s --kernel=forced --sm=90 --emit=entries | FileCheck %s --check-prefix=GROUPS
// RUN: lathe-cuda %s --kernel=forced --sm=90 --emit=plan --size=m=64 --size=n=512 --size=k=256 | FileCheck %s --check-prefix=SMALL
// RUN: lathe-cuda %s --kernel=forced --sm=90 --emit=plan --size=m=65 --size=n=512 --size=k=256 | FileCheck %s --check-prefix=LARGE
// RUN: sed 's/rows = 64, columns = 64/rows = 64, columns = 48/' %s | not lathe-opt 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/parts = 0/parts = 2/' %s | not lathe-opt 2>&1 | FileCheck %s --check-prefix=PARTS
// NONE: no such tile; there are 128x256, 128x128, 64x64, 128x64, 64x96, 64x128, 128x192
// PARTS: parts: expected 0 or 1

!x = tensor<?x?xf16, #lathe.dims<"m", "k">>
!w = tensor<?x?xf16, #lathe.dims<"n", "k">>
!y = tensor<?x?xf16, #lathe.dims<"m", "n">>

module {
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]
lathe.symbol "k" range [1, -1]

// CHECK: @all {{.*}} attributes {schedule.cases = [#schedule.case<#schedule.products<>>]}
// ALL: gemm_mma_128x128
// ALL: gemm_mma_128x64
// ALL: gemm_mma_64x64
func.func @all(%x: !x, %w: !w) -> !y {
  %0 = kernel.generic contraction @all axes(i0 = "m", i1 = "n", i2 = "k") ins(%x, %w : !x, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.contract %a["i0*k + i2"], %b["i1*k + i2"] over ["i2"] : (<f16>, <f16>) -> f32
    %2 = arith.truncf %1 : f32 to f16
    kernel.store %2, %out["i0*n + i1"] : f16, <f16>
  }
  return %0 : !y
}

// FORCED-NOT: 128x64
// FORCED: gemm_mma_128x128
// FORCED-NOT: 128x64
// FORCED: gemm_mma_64x64
// GROUPS: gemm_wgmma_64x64
// GROUPS-NEXT: gemm_wgmma_128x128
// GROUPS-NOT: wgmma
// Eight tiles of 64x64, and four of 128x128.
// SMALL: {{^}}0 8 1 1 384
// LARGE: {{^}}1 4 1 1 384
func.func @forced(%x: !x, %w: !w) -> !y {
  %0 = kernel.generic contraction @forced axes(i0 = "m", i1 = "n", i2 = "k") ins(%x, %w : !x, !w) outs(!y)
      attributes {schedule.cases = [#schedule.case<"m <= 64", #schedule.products<rows = 64, columns = 64, parts = 0>>,
                                    #schedule.case<#schedule.products<rows = 128, columns = 128, parts = 0>>]} {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.contract %a["i0*k + i2"], %b["i1*k + i2"] over ["i2"] : (<f16>, <f16>) -> f32
    %2 = arith.truncf %1 : f32 to f16
    kernel.store %2, %out["i0*n + i1"] : f16, <f16>
  }
  return %0 : !y
}
}
