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

// What a window would compute again at each of its places is made once, where that costs more than a trip through memory; the
// kernel says so. One place asks for it once. Groups of channels are an axis of their own.
// CHECK-LABEL: func.func @concatenated
// CHECK: kernel.generic loop @concat
// CHECK: kernel.generic reduction @conv{{.*}} axes(i0 = "4", i1 = "2", i2 = "16", i3 = "16", i4 = "4", i5 = "3", i6 = "3")
// CHECK-SAME: unfused = ["concat -> conv: it would be computed again at each place of the window, 9 times"]
// CHECK: kernel.load %{{.*}}["1024*i0 + 16*i2 + i3 + 256*i4 + 16*i5 + i6 - 17"]
func.func @concatenated(%x: !x, %y: !x) -> !x {
  %w = lathe.constant dense_resource<w> : tensor<8x4x3x3xf32>
  %0 = lathe.concat %x, %y axis 1 : !x, !x -> tensor<1x16x16x16xf32>
  %1 = lathe.conv %0, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 4 : tensor<1x16x16x16xf32>, tensor<8x4x3x3xf32> -> !x
  return %1 : !x
}

// CHECK-LABEL: func.func @once
// CHECK-NOT: kernel.generic loop
// CHECK: kernel.generic reduction
// CHECK: arith.select
// CHECK: kernel.reduce
func.func @once(%x: !x, %y: !x) -> !x {
  %p = lathe.constant dense_resource<p> : tensor<8x16x1x1xf32>
  %0 = lathe.concat %y, %x axis 1 : !x, !x -> tensor<1x16x16x16xf32>
  %1 = lathe.conv %0, %p strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x16x16x16xf32>, tensor<8x16x1x1xf32> -> !x
  return %1 : !x
}

// A pool whose windows go in steps, and the norm of its rows: lanes of a loop of its own are shuffled, those of rows have no elements side by side, and each
// pass over them would make the windows again.
// CHECK-LABEL: func.func @pooled
// CHECK: kernel.generic loop {{.*}} outs(tensor<4x8xf32>)
// CHECK-COUNT-2: kernel.load
// CHECK: kernel.generic reduction
// CHECK: kernel.reduce add
// CHECK: arith.divf
// CHECK-NOT: kernel.generic
func.func @pooled(%x: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %0 = lathe.slice %x starts ["0", "0"] steps [1, 2] : tensor<4x16xf32> -> tensor<4x8xf32>
  %1 = lathe.slice %x starts ["0", "1"] steps [1, 2] : tensor<4x16xf32> -> tensor<4x8xf32>
  %2 = lathe.max %0, %1 : tensor<4x8xf32>
  %3 = lathe.reduce sum %2 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %4 = lathe.reshape %3 : tensor<4xf32> -> tensor<4x1xf32>
  %5 = lathe.broadcast %4 : tensor<4x1xf32> -> tensor<4x8xf32>
  %6 = lathe.div %2, %5 : tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

// The same for a single reduction.
// CHECK-LABEL: func.func @total
// CHECK: kernel.generic loop {{.*}} outs(tensor<4x8xf32>)
// CHECK: kernel.generic reduction
// CHECK-NOT: kernel.generic
func.func @total(%x: tensor<4x16xf32>) -> tensor<4xf32> {
  %0 = lathe.slice %x starts ["0", "0"] steps [1, 2] : tensor<4x16xf32> -> tensor<4x8xf32>
  %1 = lathe.slice %x starts ["0", "1"] steps [1, 2] : tensor<4x16xf32> -> tensor<4x8xf32>
  %2 = lathe.max %0, %1 : tensor<4x8xf32>
  %3 = lathe.reduce sum %2 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
}
