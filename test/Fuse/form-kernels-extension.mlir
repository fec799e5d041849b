// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s
// RUN: lathe-opt %s '--lathe-form-kernels=extends-rows=false' | FileCheck %s --check-prefix=APART

module {

// A row program would make the sum of 64 one after the other, for its lanes are the 196 elements that need it; where each element is a thread's, each would make
// it again: they have a kernel of their own.
// CHECK-LABEL: func.func @many
// CHECK: %[[sum:[0-9]+]] = kernel.generic reduction @{{.*}} outs(tensor<8xf32>)
// CHECK: kernel.generic loop @{{.*}} ins(%[[sum]], {{.*}} outs(tensor<8x196xf32>)
// CHECK-SAME: each of its elements would make the sum again
// APART-LABEL: func.func @many
// APART: %[[sum:[0-9]+]] = kernel.generic reduction @{{.*}} outs(tensor<8xf32>)
// APART: kernel.generic loop @{{.*}} ins(%[[sum]], {{.*}} outs(tensor<8x196xf32>)
// APART-SAME: each of its elements would make the sum again
func.func @many(%x: tensor<8x64xf32>, %y: tensor<8x196xf32>) -> tensor<8x196xf32> {
  %0 = lathe.reduce sum %x axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %1 = lathe.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = lathe.broadcast %1 : tensor<8x1xf32> -> tensor<8x196xf32>
  %3 = lathe.mul %2, %y : tensor<8x196xf32>
  return %3 : tensor<8x196xf32>
}

// A few elements, or a sum of few, stay.
// APART-LABEL: func.func @few_elements
// APART: kernel.generic reduction @{{.*}} outs(tensor<8x4xf32>)
// APART-NOT: kernel.generic
// APART: return
func.func @few_elements(%x: tensor<8x64xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = lathe.reduce sum %x axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %1 = lathe.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = lathe.broadcast %1 : tensor<8x1xf32> -> tensor<8x4xf32>
  %3 = lathe.mul %2, %y : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// A long sum does not where threads make it, and neither does a convolution over many channels: as a product of tiles it has places for its own results alone.
// CHECK-LABEL: func.func @long_sum
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<8x4xf32>)
// APART-LABEL: func.func @long_sum
// APART: kernel.generic reduction @{{.*}} outs(tensor<8xf32>)
// APART: kernel.generic loop @{{.*}} outs(tensor<8x4xf32>)
// APART-SAME: each of its elements would make the sum again
func.func @long_sum(%x: tensor<8x640xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = lathe.reduce sum %x axes [1] : tensor<8x640xf32> -> tensor<8xf32>
  %1 = lathe.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = lathe.broadcast %1 : tensor<8x1xf32> -> tensor<8x4xf32>
  %3 = lathe.mul %2, %y : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// APART-LABEL: func.func @repeated_image
// APART: kernel.generic reduction @{{.*}} outs(tensor<1x16x8x8xf32>)
// APART: kernel.generic loop @{{.*}} outs(tensor<1x16x8x8x2xf32>)
func.func @repeated_image(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>, %y: tensor<1x16x8x8x2xf32>) -> tensor<1x16x8x8x2xf32> {
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  %1 = lathe.reshape %0 : tensor<1x16x8x8xf32> -> tensor<1x16x8x8x1xf32>
  %2 = lathe.broadcast %1 : tensor<1x16x8x8x1xf32> -> tensor<1x16x8x8x2xf32>
  %3 = lathe.mul %2, %y : tensor<1x16x8x8x2xf32>
  return %3 : tensor<1x16x8x8x2xf32>
}

// Neither does a convolution with a single place, whose lanes are its columns: what scales an image by it is another kernel.
// CHECK-LABEL: func.func @gate
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<2x16x1x1xf32>)
// CHECK: kernel.generic loop @{{.*}} outs(tensor<2x16x8x8xf32>)
// CHECK-SAME: each of its elements would make the sum again
func.func @gate(%x: tensor<2x16x8x8xf32>, %m: tensor<2x16x1x1xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<2x16x8x8xf32> {
  %0 = lathe.conv %m, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<2x16x1x1xf32>, tensor<16x16x1x1xf32> -> tensor<2x16x1x1xf32>
  %1 = lathe.broadcast %0 : tensor<2x16x1x1xf32> -> tensor<2x16x8x8xf32>
  %2 = lathe.mul %x, %1 : tensor<2x16x8x8xf32>
  return %2 : tensor<2x16x8x8xf32>
}

// The sum of everything and those of its rows are two kernels: in one, all rows would wait for one another.
// CHECK-LABEL: func.func @whole_and_rows
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<f32>)
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<80xf32>)
func.func @whole_and_rows(%x: tensor<80x640xf32>) -> (tensor<f32>, tensor<80xf32>) {
  %0 = lathe.reduce sum %x axes [0, 1] : tensor<80x640xf32> -> tensor<f32>
  %1 = lathe.reduce max %x axes [1] : tensor<80x640xf32> -> tensor<80xf32>
  return %0, %1 : tensor<f32>, tensor<80xf32>
}

// A whole sum converts the narrow elements itself, which others need wide, too: nothing writes them as wide ones.
// CHECK-LABEL: func.func @whole_of_halves
// CHECK: kernel.generic reduction @{{.*}} ins(%{{[^:]*}} : tensor<80x640xbf16>) outs(tensor<f32>)
// CHECK: arith.extf
// CHECK: kernel.reduce add
// CHECK: kernel.reduce add
// CHECK-NOT: kernel.generic
// CHECK: return
func.func @whole_of_halves(%h: tensor<80x640xbf16>) -> tensor<f32> {
  %x = lathe.cast %h : tensor<80x640xbf16> -> tensor<80x640xf32>
  %0 = lathe.reduce sum %x axes [0, 1] : tensor<80x640xf32> -> tensor<f32>
  %1 = lathe.broadcast %0 : tensor<f32> -> tensor<80x640xf32>
  %2 = lathe.sub %x, %1 : tensor<80x640xf32>
  %3 = lathe.abs %2 : tensor<80x640xf32>
  %4 = lathe.reduce sum %3 axes [0, 1] : tensor<80x640xf32> -> tensor<f32>
  return %4 : tensor<f32>
}

// What a row's own elements need of their sum is no further axis.
// APART-LABEL: func.func @own
// APART: kernel.generic reduction @{{.*}} outs(tensor<8x196xf32>)
// APART-NOT: kernel.generic
// APART: return
func.func @own(%y: tensor<8x196xf32>) -> tensor<8x196xf32> {
  %0 = lathe.reduce sum %y axes [1] : tensor<8x196xf32> -> tensor<8xf32>
  %1 = lathe.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = lathe.broadcast %1 : tensor<8x1xf32> -> tensor<8x196xf32>
  %3 = lathe.mul %2, %y : tensor<8x196xf32>
  return %3 : tensor<8x196xf32>
}

// Weights that are worth more than a trip through memory are made once, not again for each of the rows that they are multiplied with; of four, which are
// written out, each is made before the loop over these.
// CHECK-LABEL: func.func @weights
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<10x40xf32>)
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<9x40xf32>)
// CHECK-SAME: much of each row would be repeated
// CHECK-LABEL: func.func @few_weights
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<9x40xf32>)
// CHECK-NOT: kernel.generic
// CHECK: return
func.func @weights(%p: tensor<10x40xf32>, %x: tensor<9x10x40xf32>) -> tensor<9x40xf32> {
  %m0 = lathe.mul %p, %p : tensor<10x40xf32>
  %a0 = lathe.add %m0, %p : tensor<10x40xf32>
  %m1 = lathe.mul %a0, %p : tensor<10x40xf32>
  %a1 = lathe.add %m1, %p : tensor<10x40xf32>
  %m2 = lathe.mul %a1, %p : tensor<10x40xf32>
  %a2 = lathe.add %m2, %p : tensor<10x40xf32>
  %m3 = lathe.mul %a2, %p : tensor<10x40xf32>
  %a3 = lathe.add %m3, %p : tensor<10x40xf32>
  %m4 = lathe.mul %a3, %p : tensor<10x40xf32>
  %a4 = lathe.add %m4, %p : tensor<10x40xf32>
  %m5 = lathe.mul %a4, %p : tensor<10x40xf32>
  %a5 = lathe.add %m5, %p : tensor<10x40xf32>
  %m6 = lathe.mul %a5, %p : tensor<10x40xf32>
  %a6 = lathe.add %m6, %p : tensor<10x40xf32>
  %m7 = lathe.mul %a6, %p : tensor<10x40xf32>
  %a7 = lathe.add %m7, %p : tensor<10x40xf32>
  %m8 = lathe.mul %a7, %p : tensor<10x40xf32>
  %a8 = lathe.add %m8, %p : tensor<10x40xf32>
  %s = lathe.reduce sum %a8 axes [0] : tensor<10x40xf32> -> tensor<40xf32>
  %r = lathe.reshape %s : tensor<40xf32> -> tensor<1x40xf32>
  %b = lathe.broadcast %r : tensor<1x40xf32> -> tensor<10x40xf32>
  %w = lathe.div %a8, %b : tensor<10x40xf32>
  %v = lathe.reshape %w : tensor<10x40xf32> -> tensor<1x10x40xf32>
  %all = lathe.broadcast %v : tensor<1x10x40xf32> -> tensor<9x10x40xf32>
  %y = lathe.mul %x, %all : tensor<9x10x40xf32>
  %z = lathe.reduce sum %y axes [1] : tensor<9x10x40xf32> -> tensor<9x40xf32>
  return %z : tensor<9x40xf32>
}
func.func @few_weights(%p: tensor<4x40xf32>, %x: tensor<9x4x40xf32>) -> tensor<9x40xf32> {
  %m0 = lathe.mul %p, %p : tensor<4x40xf32>
  %a0 = lathe.add %m0, %p : tensor<4x40xf32>
  %m1 = lathe.mul %a0, %p : tensor<4x40xf32>
  %a1 = lathe.add %m1, %p : tensor<4x40xf32>
  %m2 = lathe.mul %a1, %p : tensor<4x40xf32>
  %a2 = lathe.add %m2, %p : tensor<4x40xf32>
  %m3 = lathe.mul %a2, %p : tensor<4x40xf32>
  %a3 = lathe.add %m3, %p : tensor<4x40xf32>
  %m4 = lathe.mul %a3, %p : tensor<4x40xf32>
  %a4 = lathe.add %m4, %p : tensor<4x40xf32>
  %m5 = lathe.mul %a4, %p : tensor<4x40xf32>
  %a5 = lathe.add %m5, %p : tensor<4x40xf32>
  %m6 = lathe.mul %a5, %p : tensor<4x40xf32>
  %a6 = lathe.add %m6, %p : tensor<4x40xf32>
  %m7 = lathe.mul %a6, %p : tensor<4x40xf32>
  %a7 = lathe.add %m7, %p : tensor<4x40xf32>
  %m8 = lathe.mul %a7, %p : tensor<4x40xf32>
  %a8 = lathe.add %m8, %p : tensor<4x40xf32>
  %s = lathe.reduce sum %a8 axes [0] : tensor<4x40xf32> -> tensor<40xf32>
  %r = lathe.reshape %s : tensor<40xf32> -> tensor<1x40xf32>
  %b = lathe.broadcast %r : tensor<1x40xf32> -> tensor<4x40xf32>
  %w = lathe.div %a8, %b : tensor<4x40xf32>
  %v = lathe.reshape %w : tensor<4x40xf32> -> tensor<1x4x40xf32>
  %all = lathe.broadcast %v : tensor<1x4x40xf32> -> tensor<9x4x40xf32>
  %y = lathe.mul %x, %all : tensor<9x4x40xf32>
  %z = lathe.reduce sum %y axes [1] : tensor<9x4x40xf32> -> tensor<9x40xf32>
  return %z : tensor<9x40xf32>
}

// A sum weighted by a normalised row, and spread over places: within the rows it would be made for each place again, in a kernel of its own it is made once.
// CHECK-LABEL: func.func @weighted
// CHECK: kernel.generic reduction
// CHECK-COUNT-2: kernel.reduce add
// CHECK: kernel.generic loop
// CHECK-NOT: kernel.generic
func.func @weighted(%w: tensor<3x500xf32>, %x: tensor<3x500x48xf32>, %y: tensor<3x600x48xf32>) -> tensor<3x600x48xf32> {
  %0 = lathe.mul %w, %w : tensor<3x500xf32>
  %1 = lathe.reduce sum %0 axes [1] : tensor<3x500xf32> -> tensor<3xf32>
  %2 = lathe.reshape %1 : tensor<3xf32> -> tensor<3x1xf32>
  %3 = lathe.broadcast %2 : tensor<3x1xf32> -> tensor<3x500xf32>
  %4 = lathe.div %w, %3 : tensor<3x500xf32>
  %5 = lathe.reshape %4 : tensor<3x500xf32> -> tensor<3x500x1xf32>
  %6 = lathe.broadcast %5 : tensor<3x500x1xf32> -> tensor<3x500x48xf32>
  %7 = lathe.mul %6, %x : tensor<3x500x48xf32>
  %8 = lathe.reduce sum %7 axes [1] : tensor<3x500x48xf32> -> tensor<3x48xf32>
  %9 = lathe.reshape %8 : tensor<3x48xf32> -> tensor<3x1x48xf32>
  %10 = lathe.broadcast %9 : tensor<3x1x48xf32> -> tensor<3x600x48xf32>
  %11 = lathe.mul %10, %y : tensor<3x600x48xf32>
  return %11 : tensor<3x600x48xf32>
}

// Tiles of a convolution have no places for repeated results: its own are stored once, and repeated from there.
// CHECK-LABEL: func.func @repeated
// CHECK: kernel.generic reduction @{{.*}} axes(i0 = "8", i1 = "13", i2 = "29", i3 = "16", i4 = "5", i5 = "5")
// CHECK: kernel.generic loop
// CHECK-NOT: kernel.generic
func.func @repeated(%x: tensor<1x16x25x57xf32>, %w: tensor<8x16x5x5xf32>) -> tensor<4x8x13x4x29xf32> {
  %0 = lathe.conv %x, %w strides [2, 2] dilations [1, 1] pads ["2", "2", "2", "2"] groups 1 : tensor<1x16x25x57xf32>, tensor<8x16x5x5xf32> -> tensor<1x8x13x29xf32>
  %1 = lathe.abs %0 : tensor<1x8x13x29xf32>
  %2 = lathe.reshape %1 : tensor<1x8x13x29xf32> -> tensor<1x8x13x1x29xf32>
  %3 = lathe.broadcast %2 : tensor<1x8x13x1x29xf32> -> tensor<4x8x13x4x29xf32>
  return %3 : tensor<4x8x13x4x29xf32>
}
}
