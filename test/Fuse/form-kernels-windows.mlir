// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

!x = tensor<1x8x16x16xf32>
!h = tensor<?x4x?x32xf32, #lathe.dims<"batch", "4", "h*w", "32">>
!t = tensor<?x4x32x?xf32, #lathe.dims<"batch", "4", "32", "h*w">>
!c = tensor<?x128x?x?xf32, #lathe.dims<"batch", "128", "h", "w">>

module {
lathe.symbol "batch" range [1, -1]
lathe.symbol "h" range [1, -1]
lathe.symbol "w" range [1, -1]
// What a window reads is made by its producer, once, not at each of the window's places: the function after the first
// convolution is its epilogue.
// CHECK-LABEL: func.func @sliding
// CHECK: kernel.generic reduction @exp
// CHECK: kernel.reduce add
// CHECK: math.exp
// CHECK: kernel.generic reduction @conv
// CHECK-NOT: math.exp
// CHECK: return
func.func @sliding(%x: !x) -> !x {
  %w = lathe.constant dense_resource<w> : tensor<8x8x3x3xf32>
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<8x8x3x3xf32> -> !x
  %1 = lathe.exp %0 : !x
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<8x8x3x3xf32> -> !x
  return %2 : !x
}

// An attention's result is stored in the order of the transposed view; the reshape behind it does not split its rows.
// CHECK-LABEL: func.func @rows
// CHECK: kernel.generic attention
// CHECK: query "i2" key "i4"
// CHECK: kernel.store
func.func @rows(%q: !h, %k: !h, %v: !h) -> !c {
  %0 = lathe.attention %q, %k, %v : !h, !h, !h -> !h {
  ^bb0(%s: f32, %b: i64, %n: i64, %i: i64, %j: i64):
    lathe.yield %s : f32
  }
  %1 = lathe.transpose %0 [0, 1, 3, 2] : !h -> !t
  %2 = lathe.reshape %1 : !t -> !c
  %3 = lathe.exp %2 : !c
  return %3 : !c
}
}
