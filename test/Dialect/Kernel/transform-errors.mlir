// RUN: lathe-opt %s --split-input-file --verify-diagnostics

func.func @class(%x: tensor<64x2xf32>) {
  // expected-error @+1 {{K5: the body does not fit class 'loop'}}
  %y = kernel.generic loop @class axes(f = "64", d = "64", p = "2") ins(%x : tensor<64x2xf32>) outs(tensor<64x2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    %1 = kernel.fft c2c %0 along "d" to "f" parts "p" length 64 : f32
    kernel.store %1, %out["2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @two(%x: tensor<64x2xf32>) {
  // expected-error @+1 {{K5: the body does not fit class 'transform'}}
  %y = kernel.generic transform @two axes(f = "64", d = "64", p = "2") ins(%x : tensor<64x2xf32>) outs(tensor<64x2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    %1 = kernel.fft c2c %0 along "d" to "f" parts "p" length 64 : f32
    %2 = kernel.fft c2c %1 along "d" to "f" parts "p" length 64 : f32
    kernel.store %1, %out["2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @prime(%x: tensor<17x2xf32>) {
  %y = kernel.generic transform @prime axes(f = "17", d = "17", p = "2") ins(%x : tensor<17x2xf32>) outs(tensor<17x2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{F1: a transform of length 17 of}}
    %1 = kernel.fft c2c %0 along "d" to "f" parts "p" length 17 : f32
    kernel.store %1, %out["2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @long(%x: tensor<16384x2xf32>) {
  %y = kernel.generic transform @long axes(f = "16384", d = "16384", p = "2") ins(%x : tensor<16384x2xf32>) outs(tensor<16384x2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{F1: a transform of length 16384 of}}
    %1 = kernel.fft c2c %0 along "d" to "f" parts "p" length 16384 : f32
    kernel.store %1, %out["2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @type(%x: tensor<64x2xf16>) {
  %y = kernel.generic transform @type axes(f = "64", d = "64", p = "2") ins(%x : tensor<64x2xf16>) outs(tensor<64x2xf16>) {
  ^bb0(%in: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f16> -> f16
    // expected-error @+1 {{F3: transforms f32 or f64, not 'f16'}}
    %1 = kernel.fft c2c %0 along "d" to "f" parts "p" length 64 : f16
    kernel.store %1, %out["2*f + p"] : f16, !kernel.ref<f16>
  }
  return
}

// -----

func.func @axis(%x: tensor<64x2xf32>) {
  %y = kernel.generic transform @axis axes(f = "64", d = "64", p = "2") ins(%x : tensor<64x2xf32>) outs(tensor<64x2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{F2: 'e' is no axis of the kernel}}
    %1 = kernel.fft c2c %0 along "e" to "f" parts "p" length 64 : f32
    kernel.store %1, %out["2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @twice(%x: tensor<64x2xf32>) {
  %y = kernel.generic transform @twice axes(f = "64", d = "64", p = "2") ins(%x : tensor<64x2xf32>) outs(tensor<64x2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{F2: an axis occurs twice}}
    %1 = kernel.fft c2c %0 along "d" to "d" parts "p" length 64 : f32
    kernel.store %1, %out["2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @points(%x: tensor<64x2xf32>) {
  %y = kernel.generic transform @points axes(f = "64", d = "64", p = "2") ins(%x : tensor<64x2xf32>) outs(tensor<64x2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{F2: the axes do not have the points of a transform of length 32}}
    %1 = kernel.fft c2c %0 along "d" to "f" parts "p" length 32 : f32
    kernel.store %1, %out["2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @half(%x: tensor<64x2xf32>) {
  %y = kernel.generic transform @half axes(f = "64", d = "64", p = "2") ins(%x : tensor<64x2xf32>) outs(tensor<64xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{F2: the axes do not have the points of a transform of length 64}}
    %1 = kernel.fft c2r %0 along "d" to "f" parts "p" length 64 : f32
    kernel.store %1, %out["f"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @turned(%x: tensor<33x2xf32>) {
  %y = kernel.generic transform @turned axes(f = "64", d = "33", p = "2", c = "1") ins(%x : tensor<33x2xf32>) outs(tensor<64xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{F4: real numbers are not turned}}
    %1 = kernel.fft c2r %0 along "d" to "f" parts "p" length 64 turned "c" of 64 : f32
    kernel.store %1, %out["f"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @open(%x: tensor<64x2xf32>) {
  %y = kernel.generic transform @open axes(c = "N", f = "64", d = "64", p = "2") ins(%x : tensor<64x2xf32>) outs(tensor<64x2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["2*d + p"] : !kernel.ref<f32> -> f32
    // expected-error @+1 {{F4: a frequency times a point of 'c' may be more than a whole turn}}
    %1 = kernel.fft c2c %0 along "d" to "f" parts "p" length 64 turned "c" of 64 : f32
    kernel.store %1, %out["2*f + p"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @graph(%x: tensor<8x16x2xf32>) {
  // expected-error @+1 {{the sizes are not those of a transform of length 15}}
  %0 = lathe.fft %x axis 1 parts 2 length 15 : tensor<8x16x2xf32> -> tensor<8x15x2xf32>
  return
}

// -----

func.func @dimension(%x: tensor<8x16x2xf32>) {
  // expected-error @+1 {{axis 2 and parts 2 are no two dimensions of rank 3}}
  %0 = lathe.fft %x axis 2 parts 2 length 2 : tensor<8x16x2xf32> -> tensor<8x16x2xf32>
  return
}

// -----

func.func @turning(%x: tensor<8x16x2xf32>) {
  // expected-error @+1 {{what turns the result is another dimension and how many places make a whole turn}}
  %0 = lathe.fft %x axis 1 parts 2 length 16 {turnDim = 1 : i64, turns = 16 : i64} : tensor<8x16x2xf32> -> tensor<8x16x2xf32>
  return
}
