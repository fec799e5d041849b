// RUN: lathe-opt %s | lathe-opt | FileCheck %s

// Syntax of the kernel dialect, printed and parsed again.

// CHECK-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>) -> tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">> {
  // CHECK: kernel.generic reduction @center axes(n = "batch*seq", d = "768") ins(%{{.*}} : tensor<?x?x768xf32
  %y = kernel.generic reduction @center axes(n = "batch*seq", d = "768")
      ins(%x : tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>)
      outs(tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    // CHECK: kernel.load %{{.*}}["768*n + d"] : <f32> -> f32
    %0 = kernel.load %in["768*n + d"] : !kernel.ref<f32> -> f32
    // CHECK: kernel.reduce add %{{.*}} over ["d"] : f32
    %s = kernel.reduce add %0 over ["d"] : f32
    %c = arith.constant 0.00130208337 : f32
    %mean = arith.mulf %s, %c : f32
    %1 = arith.subf %0, %mean : f32
    kernel.store %1, %out["768*n + d"] : f32, !kernel.ref<f32>
  }
  return %y : tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>
}
