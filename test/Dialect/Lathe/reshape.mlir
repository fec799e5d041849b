// A reshape has as many elements as its operand, where that can be told from the sizes alone.
// RUN: lathe-opt %s -split-input-file -verify-diagnostics

func.func @open(%x: tensor<?x6xf32, #lathe.dims<"n", "6">>) -> tensor<?x2xf32, #lathe.dims<"3*n", "2">> {
  %0 = lathe.reshape %x : tensor<?x6xf32, #lathe.dims<"n", "6">> -> tensor<?x2xf32, #lathe.dims<"3*n", "2">>
  return %0 : tensor<?x2xf32, #lathe.dims<"3*n", "2">>
}

// -----

func.func @fixed(%x: tensor<4x6xf32>) -> tensor<5x5xf32> {
  // expected-error @+1 {{operand of 24 elements, result of 25}}
  %0 = lathe.reshape %x : tensor<4x6xf32> -> tensor<5x5xf32>
  return %0 : tensor<5x5xf32>
}

// -----

func.func @longer(%x: tensor<?xf32, #lathe.dims<"n">>) -> tensor<?xf32, #lathe.dims<"n + 1">> {
  // expected-error @+1 {{operand of n elements, result of n + 1}}
  %0 = lathe.reshape %x : tensor<?xf32, #lathe.dims<"n">> -> tensor<?xf32, #lathe.dims<"n + 1">>
  return %0 : tensor<?xf32, #lathe.dims<"n + 1">>
}

// -----

func.func @elements(%x: tensor<4xf32>) -> tensor<2x2xf16> {
  // expected-error @+1 {{cannot change the element type}}
  %0 = lathe.reshape %x : tensor<4xf32> -> tensor<2x2xf16>
  return %0 : tensor<2x2xf16>
}
