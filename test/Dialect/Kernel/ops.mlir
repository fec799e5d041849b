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

// CHECK-LABEL: @ordered
func.func @ordered(%x: tensor<?x9xf32, #lathe.dims<"N", "9">>) {
  // CHECK: kernel.generic scan @running
  %y = kernel.generic scan @running axes(n = "N", d = "9") ins(%x : tensor<?x9xf32, #lathe.dims<"N", "9">>)
      outs(tensor<?x9xf32, #lathe.dims<"N", "9">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["9*n + d"] : !kernel.ref<f32> -> f32
    // CHECK: kernel.scan logaddexp %{{.*}} along "d" {exclusive, reverse} : f32
    %s = kernel.scan logaddexp %0 along "d" {exclusive, reverse} : f32
    kernel.store %s, %out["9*n + d"] : f32, !kernel.ref<f32>
  }
  // CHECK: kernel.generic sort @first
  %i = kernel.generic sort @first axes(n = "N", p = "4", d = "9") ins(%x : tensor<?x9xf32, #lathe.dims<"N", "9">>)
      outs(tensor<?x4xi64, #lathe.dims<"N", "4">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %0 = kernel.load %in["9*n + d"] : !kernel.ref<f32> -> f32
    // CHECK: kernel.sort %{{.*}} along "d" to "p" {descending} : f32
    %s = kernel.sort %0 along "d" to "p" {descending} : f32
    kernel.store %s, %out["4*n + p"] : i64, !kernel.ref<i64>
  }
  return
}

// CHECK-LABEL: @transforms
func.func @transforms(%x: tensor<?x64x8x2xf32, #lathe.dims<"N", "64", "8", "2">>, %r: tensor<30xf64>) {
  // CHECK: kernel.generic transform @columns
  %y = kernel.generic transform @columns axes(n = "N", c = "8", f = "64", d = "64", p = "2") ins(%x : tensor<?x64x8x2xf32, #lathe.dims<"N", "64", "8", "2">>)
      outs(tensor<?x64x8x2xf32, #lathe.dims<"N", "64", "8", "2">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["1024*n + 16*d + 2*c + p"] : !kernel.ref<f32> -> f32
    // CHECK: kernel.fft c2c %{{.*}} along "d" to "f" parts "p" length 64 turned "c" of 512 {inverse} : f32
    %1 = kernel.fft c2c %0 along "d" to "f" parts "p" length 64 turned "c" of 512 {inverse} : f32
    kernel.store %1, %out["1024*n + 16*f + 2*c + p"] : f32, !kernel.ref<f32>
  }
  %z = kernel.generic transform @row axes(p = "2", f = "16", d = "30") ins(%r : tensor<30xf64>) outs(tensor<16x2xf64>) {
  ^bb0(%in: !kernel.ref<f64>, %out: !kernel.ref<f64>):
    %0 = kernel.load %in["d"] : !kernel.ref<f64> -> f64
    // CHECK: kernel.fft r2c %{{.*}} along "d" to "f" parts "p" length 30 : f64
    %1 = kernel.fft r2c %0 along "d" to "f" parts "p" length 30 : f64
    kernel.store %1, %out["2*f + p"] : f64, !kernel.ref<f64>
  }
  return
}
