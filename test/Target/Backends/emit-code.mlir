// Kernels become code for a machine, in the ways that are written down or that templates propose: a module for each, of a GPU two.
// RUN: lathe-opt %s --lathe-emit-code=machine=avx2 | FileCheck %s
// RUN: lathe-opt %s --lathe-emit-code=machine=neon | FileCheck %s --check-prefix=NEON
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 --lathe-emit-code=machine=avx512 | FileCheck %s --check-prefix=WAYS
// RUN: lathe-opt %s --lathe-emit-code=machine=sm_90 | FileCheck %s --check-prefix=DEVICE
// RUN: not lathe-opt %s --lathe-emit-code=machine=z80 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: no machine 'z80' in the table of machines

!x = tensor<1000xf32>
!r = tensor<?x?xf32, #lathe.dims<"m", "n">>
!s = tensor<?xf32, #lathe.dims<"m">>

module {
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, 64]

// CHECK-NOT: kernel.generic
// CHECK: module @halves {
// CHECK: arith.mulf {{.*}} : vector<8xf32>
// CHECK: module @rows {
// NEON: module @halves {
// NEON: arith.mulf {{.*}} : vector<4xf32>
// Two sizes of rows, and a general body.
// WAYS: module @rows {
// WAYS: .way1.body
// WAYS: vector<16xf32>
// DEVICE: module @halves attributes {lathe.part = "device"} {
// DEVICE: llvm.func @rows_by_lanes({{.*}} attributes {nvvm.kernel
// DEVICE: arith.mulf {{.*}} : vector<4xf32>
// DEVICE: module @halves_0 attributes {lathe.part = "plan"} {
// DEVICE: llvm.func @plan(
// DEVICE-NOT: nvvm.kernel
// DEVICE: module @rows attributes {lathe.part = "device"} {
// DEVICE: nvvm.shfl
func.func @f(%x: !x) -> !x {
  %0 = kernel.generic loop @halves axes(i = "1000") ins(%x : !x) outs(!x) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %c = arith.constant 0.5 : f32
    %v = kernel.load %in["i"] : <f32> -> f32
    %y = arith.mulf %v, %c : f32
    kernel.store %y, %out["i"] : f32, <f32>
  }
  return %0 : !x
}

func.func @g(%x: !r) -> !s {
  %0 = kernel.generic reduction @rows axes(i = "m", j = "n") ins(%x : !r) outs(!s) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %in["i*n + j"] : <f32> -> f32
    %e = math.exp %v : f32
    %s = kernel.reduce add %e over ["j"] : f32
    kernel.store %s, %out["i"] : f32, <f32>
  }
  return %0 : !s
}
}
