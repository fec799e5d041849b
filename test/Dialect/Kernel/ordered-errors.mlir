// RUN: lathe-opt %s --split-input-file --verify-diagnostics

func.func @two(%x: tensor<9xf32>) {
  // expected-error @+1 {{K5: the body does not fit class 'scan'}}
  %y = kernel.generic scan @two axes(d = "9") ins(%x : tensor<9xf32>) outs(tensor<9xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["d"] : !kernel.ref<f32> -> f32
    %1 = kernel.scan add %0 along "d" : f32
    %2 = kernel.scan mul %1 along "d" : f32
    kernel.store %2, %out["d"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @reduced(%x: tensor<9xf32>) {
  // expected-error @+1 {{K5: the body does not fit class 'sort'}}
  %y = kernel.generic sort @reduced axes(p = "9", d = "9") ins(%x : tensor<9xf32>) outs(tensor<9xi64>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %0 = kernel.load %in["d"] : !kernel.ref<f32> -> f32
    %1 = kernel.reduce max %0 over ["d"] : f32
    %2 = arith.subf %0, %1 : f32
    %3 = kernel.sort %2 along "d" to "p" : f32
    kernel.store %3, %out["p"] : i64, !kernel.ref<i64>
  }
  return
}

// -----

func.func @axis(%x: tensor<9xf32>) {
  %y = kernel.generic scan @axis axes(d = "9") ins(%x : tensor<9xf32>) outs(tensor<9xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["d"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{'e' is no axis of the kernel}}
    %1 = kernel.scan add %0 along "e" : f32
    kernel.store %1, %out["d"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @same(%x: tensor<9xf32>) {
  %y = kernel.generic sort @same axes(d = "9") ins(%x : tensor<9xf32>) outs(tensor<9xi64>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %0 = kernel.load %in["d"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{the order needs an axis of its own}}
    %1 = kernel.sort %0 along "d" to "d" : f32
    kernel.store %1, %out["d"] : i64, !kernel.ref<i64>
  }
  return
}

// -----

func.func @combiner(%x: tensor<9xi32>) {
  %y = kernel.generic scan @combiner axes(d = "9") ins(%x : tensor<9xi32>) outs(tensor<9xi32>) {
  ^bb0(%in: !kernel.ref<i32>, %out: !kernel.ref<i32>):
    %0 = kernel.load %in["d"] : !kernel.ref<i32> -> i32
    // expected-error @+1 {{logaddexp combines floats}}
    %1 = kernel.scan logaddexp %0 along "d" : i32
    kernel.store %1, %out["d"] : i32, !kernel.ref<i32>
  }
  return
}

// -----

func.func @reduction(%x: tensor<9xf32>) {
  %y = kernel.generic reduction @reduction axes(d = "9") ins(%x : tensor<9xf32>) outs(tensor<f32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["d"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{logaddexp is of scans alone}}
    %1 = kernel.reduce logaddexp %0 over ["d"] : f32
    kernel.store %1, %out["0"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @graph(%x: tensor<3x9xf32>) {
  // expected-error @+1 {{axis 2 is outside rank 2}}
  %0 = lathe.scan sum %x axis 2 : tensor<3x9xf32>
  return
}

// -----

func.func @graph(%x: tensor<3x9xf32>) {
  // expected-error @+1 {{does not fit}}
  %0 = lathe.sort %x axis 1 : tensor<3x9xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @graph(%x: tensor<9xf32>, %m: tensor<9xi8>) {
  // expected-error @+1 {{has other elements than i1}}
  %0 = lathe.compact %x where %m : tensor<9xf32>, tensor<9xi8> -> tensor<4xf32>
  return
}

// -----

func.func @graph(%x: tensor<9xf32>, %m: tensor<9xi1>) {
  // expected-error @+1 {{does not fit}}
  %0 = lathe.compact %x where %m : tensor<9xf32>, tensor<9xi1> -> tensor<4xi32>
  return
}
