// Code in the llvm dialect: functions of numbers are polynomials on a CPU, and calls of libdevice on a GPU.
// RUN: lathe-opt %s --lathe-emit-code=machine=avx2 --lathe-lower-code=machine=avx2 | FileCheck %s
// RUN: lathe-opt %s --lathe-emit-code=machine=baseline --lathe-lower-code=machine=baseline | FileCheck %s --check-prefix=BASELINE
// RUN: lathe-opt %s --lathe-emit-code=machine=sm_75 --lathe-lower-code=machine=sm_75 | FileCheck %s --check-prefix=DEVICE
// RUN: not lathe-opt %s --lathe-lower-code=machine=z80 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: no machine 'z80' in the table of machines

// CHECK: module @exponential {
// CHECK-NOT: {{math|arith|scf|vector|func}}.
// CHECK: llvm.intr.fma({{.*}} vector<8xf32>
// CHECK-NOT: {{math|arith|scf|vector|func}}.
// CHECK: llvm.func @exponential_plan
// BASELINE: module @exponential {
// BASELINE-NOT: llvm.intr.fma
// BASELINE: llvm.fmul {{.*}} : vector<4xf32>
// BASELINE-NOT: llvm.intr.fma
// DEVICE: module @exponential attributes {lathe.part = "device"} {
// DEVICE: llvm.call @__nv_expf
// DEVICE: module @exponential_0 attributes {lathe.part = "plan"} {
// DEVICE: llvm.func @plan(
// DEVICE-NOT: __nv_
module {
func.func @f(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = kernel.generic loop @exponential axes(i = "1000") ins(%x : tensor<1000xf32>) outs(tensor<1000xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %in["i"] : <f32> -> f32
    %y = math.exp %v : f32
    kernel.store %y, %out["i"] : f32, <f32>
  }
  return %0 : tensor<1000xf32>
}
}
