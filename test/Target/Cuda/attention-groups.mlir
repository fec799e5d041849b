// Attention by groups of warps: what a step computes of scores stands between the start of products and the wait for them.
// RUN: lathe-cuda %s --kernel=causal --sm=90 --emit=ptx | FileCheck %s
// Products are started in turns.
// CHECK: bar.sync %r{{[0-9]+}}, 256
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16
// CHECK: bar.arrive %r{{[0-9]+}}, 256
// CHECK: wgmma.wait_group.sync.aligned 1
// A maximum is one instruction; so is the argument of a power, scale and all, and a power.
// CHECK-NOT: setp.nan
// CHECK: max.f32
// CHECK: fma.rn.f32
// CHECK: ex2.approx.ftz.f32
// Registers of weights are free when their product is done.
// CHECK-NOT: cvt.rn.f16x2
// CHECK: wgmma.wait_group.sync.aligned 0
!x = tensor<?x?x64xf16, #lathe.dims<"b", "q", "64">>
func.func @f(%q: !x, %k: !x, %v: !x) -> !x {
  %0 = kernel.generic attention @causal axes(i0 = "b", i1 = "q", i2 = "64", i3 = "q", i4 = "64") ins(%q, %k, %v : !x, !x, !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %c: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.attention %a["64*i0*q + 64*i1 + i4"], %b["64*i0*q + 64*i3 + i4"], %c["64*i0*q + 64*i3 + i2"]
        query "i1" key "i3" depth "i4" value "i2" : (!kernel.ref<f16>, !kernel.ref<f16>, !kernel.ref<f16>) -> f32 {
    ^bb0(%s: f32):
      %h = arith.constant 0.125 : f32
      %t = arith.mulf %s, %h : f32
      kernel.yield %t : f32
    }
    %2 = arith.truncf %1 : f32 to f16
    kernel.store %2, %out["64*i0*q + 64*i1 + i2"] : f16, <f16>
  }
  return %0 : !x
}
