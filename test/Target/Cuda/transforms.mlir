// RUN: lathe-cuda %s --emit=entries | FileCheck %s --check-prefix=ENTRIES
// RUN: lathe-cuda %s --emit=plan --size=N=1000 | FileCheck %s --check-prefix=PLAN
// RUN: lathe-cuda %s --emit=plan --size=N=0 | FileCheck %s --check-prefix=NONE
// RUN: lathe-cuda %s --emit=ptx --sm=90 | FileCheck %s
// REQUIRES: ptxas

// A row of 4096 real numbers is one of 2048 complex ones, in a block of its own: 16 numbers a thread, which are read, and written with one more, as pairs.
// ENTRIES: {{^}}transform{{$}}
// Words: entry, grid, block, shared memory.
// PLAN: {{^}}0 1000 1 1 128 0
// NONE: {{^}}0 0 1 1 128 0
// CHECK: .entry transform(
// CHECK: .shared .align 16 .b8 transform_numbers
// CHECK-COUNT-16: ld.global.v2.f32
// CHECK-NOT: ld.global.v2
// CHECK-NOT: .local
// CHECK-COUNT-17: st.global.v2.f32
// CHECK-NOT: st.global
func.func @f(%x: tensor<?x4096xf32, #lathe.dims<"N", "4096">>) {
  %y = kernel.generic transform @rfft axes(n = "N", f = "2049", p = "2", d = "4096")
      ins(%x : tensor<?x4096xf32, #lathe.dims<"N", "4096">>) outs(tensor<?x2049x2xf32, #lathe.dims<"N", "2049", "2">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["4096*n + d"] : !kernel.ref<f32> -> f32
    %1 = kernel.fft r2c %0 along "d" to "f" parts "p" length 4096 : f32
    kernel.store %1, %out["4098*n + 2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}
