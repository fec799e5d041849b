// The larger and the smaller number are an instruction each, with NaN from 8.0 on.
// RUN: lathe-cuda %s --kernel=bounds --sm=90 --emit=ptx | FileCheck %s
// RUN: lathe-cuda %s --kernel=bounds --sm=75 --emit=ptx | FileCheck %s --check-prefix=TURING
// CHECK: max.NaN.f32
// CHECK: min.NaN.f32
// CHECK-NOT: setp.nan
// TURING-NOT: max.NaN
// TURING: ret;
func.func @f(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = kernel.generic loop @bounds axes(i = "1024") ins(%x : tensor<1024xf32>) outs(tensor<1024xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    %zero = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %2 = arith.maximumf %1, %zero : f32
    %3 = arith.minimumf %2, %six : f32
    kernel.store %3, %out["i"] : f32, <f32>
  }
  return %0 : tensor<1024xf32>
}
