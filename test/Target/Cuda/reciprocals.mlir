// REQUIRES: ptxas
// RUN: lathe-cuda %s --emit=ptx --sm=90 | FileCheck %s

// Indices are divided by sizes of the run: one reciprocal for each, before the kernel waits for what it reads, then products. The number of
// a thread has more bits than 32, and only where it or the size needs them it is divided as it is.
// CHECK-LABEL: .entry rows_by_lanes(
// CHECK: max.u64
// CHECK: cvt.rn.f32.u32
// CHECK-NEXT: rcp.approx.ftz.f32
// CHECK: mul.hi.u32 {{.*}}
// CHECK: add.s32 [[INVERSE:%r[0-9]+]]
// CHECK: griddepcontrol.wait
// CHECK-NOT: rcp.approx
// CHECK: mul.hi.u32 {{%r[0-9]+}}, {{%r[0-9]+}}, [[INVERSE]];
// CHECK: setp.eq.s32 [[FITS:%p[0-9]+]], {{%r[0-9]+}}, 0;
// CHECK: @[[FITS]] bra
// CHECK: div.u64
// CHECK-NOT: rcp.approx
lathe.symbol "n" range[1, -1]
lathe.symbol "m" range[1, -1]
func.func @main(%x: tensor<?x?xf32, #lathe.dims<"n", "m">>, %w: tensor<?xf32, #lathe.dims<"n">>) -> tensor<?x?xf32, #lathe.dims<"n", "m">> {
  %0 = kernel.generic loop @scaled axes(i = "n*m") ins(%x, %w : tensor<?x?xf32, #lathe.dims<"n", "m">>, tensor<?xf32, #lathe.dims<"n">>) outs(tensor<?x?xf32, #lathe.dims<"n", "m">>) {
  ^bb0(%in: !kernel.ref<f32>, %scale: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    %s = kernel.load %scale["floordiv(i, m)"] : !kernel.ref<f32> -> f32
    %p = arith.mulf %v, %s : f32
    kernel.store %p, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<?x?xf32, #lathe.dims<"n", "m">>
}
