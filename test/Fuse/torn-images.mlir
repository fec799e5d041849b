// Images whose lines are not lines in memory are brought into order in front of a convolution with a window.
// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s
// RUN: lathe-opt %s '--lathe-form-kernels=extends-rows=false' | FileCheck %s --check-prefix=THREADS

module {
// Enlarged to the nearest.
// CHECK-LABEL: func.func @enlarged
// CHECK: kernel.generic loop @cast {{.*}} outs(tensor<1x8x8x8xf32>)
// CHECK: kernel.load %{{.*}}["4*floordiv(i1, 2) + floordiv(i2, 2) + 16*i0"]
// CHECK: kernel.generic reduction @conv
// CHECK: kernel.load %{{.*}}["8*i1 + i2 + 64*i3 + 8*i4 + i5 - 9"] if
func.func @enlarged(%x: tensor<1x8x4x4xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %0 = lathe.reshape %x : tensor<1x8x4x4xf32> -> tensor<1x8x4x1x4x1xf32>
  %1 = lathe.broadcast %0 : tensor<1x8x4x1x4x1xf32> -> tensor<1x8x4x2x4x2xf32>
  %2 = lathe.reshape %1 : tensor<1x8x4x2x4x2xf32> -> tensor<1x8x8x8xf32>
  %3 = lathe.conv %2, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x8x8x8xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x8x8xf32>
  return %3 : tensor<1x16x8x8xf32>
}

// Turned within its planes, which is done in tiles; the function before it is made once.
// CHECK-LABEL: func.func @turned
// CHECK: math.exp
// CHECK: kernel.generic loop @cast{{.*}} outs(tensor<1x8x8x6xf32>)
// CHECK: kernel.generic reduction @conv
// CHECK-NOT: math.exp
func.func @turned(%x: tensor<1x8x6x8xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x6xf32> {
  %0 = lathe.exp %x : tensor<1x8x6x8xf32>
  %1 = lathe.transpose %0 [0, 1, 3, 2] : tensor<1x8x6x8xf32> -> tensor<1x8x8x6xf32>
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x8x8x6xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x8x6xf32>
  return %2 : tensor<1x16x8x6xf32>
}

// Depth to space.
// CHECK-LABEL: func.func @mixed
// CHECK: kernel.generic loop @cast{{.*}} outs(tensor<1x2x8x8xf32>)
// CHECK: kernel.generic reduction @conv
func.func @mixed(%x: tensor<1x8x4x4xf32>, %w: tensor<16x2x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %0 = lathe.reshape %x : tensor<1x8x4x4xf32> -> tensor<1x2x2x2x4x4xf32>
  %1 = lathe.transpose %0 [0, 1, 4, 2, 5, 3] : tensor<1x2x2x2x4x4xf32> -> tensor<1x2x4x2x4x2xf32>
  %2 = lathe.reshape %1 : tensor<1x2x4x2x4x2xf32> -> tensor<1x2x8x8xf32>
  %3 = lathe.conv %2, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x2x8x8xf32>, tensor<16x2x3x3xf32> -> tensor<1x16x8x8xf32>
  return %3 : tensor<1x16x8x8xf32>
}

// Channels that lay side by side are as good. A single place reads each element once, but tiles read lines: planes are turned first where these are what runs.
// CHECK-LABEL: func.func @kept
// CHECK: kernel.generic loop @cast{{.*}} outs(tensor<1x8x8x4xf32>)
// CHECK-NOT: @cast
// CHECK: return
// THREADS-LABEL: func.func @kept
// THREADS-NOT: @cast
// THREADS: return
func.func @kept(%x: tensor<1x4x4x8xf32>, %w: tensor<16x8x3x3xf32>, %y: tensor<1x8x4x8xf32>, %v: tensor<16x8x1x1xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x8x4xf32>) {
  %0 = lathe.transpose %x [0, 3, 1, 2] : tensor<1x4x4x8xf32> -> tensor<1x8x4x4xf32>
  %1 = lathe.conv %0, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x8x4x4xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x4x4xf32>
  %2 = lathe.transpose %y [0, 1, 3, 2] : tensor<1x8x4x8xf32> -> tensor<1x8x8x4xf32>
  %3 = lathe.conv %2, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x8x8x4xf32>, tensor<16x8x1x1xf32> -> tensor<1x16x8x4xf32>
  return %1, %3 : tensor<1x16x4x4xf32>, tensor<1x16x8x4xf32>
}

// Lanes of a depthwise convolution are places: its results are stored in lines before these are torn, and channels in another order are brought into it.
// CHECK-LABEL: func.func @depthwise
// CHECK: kernel.generic loop @cast{{.*}} outs(tensor<1x8x8x8xf32>)
// CHECK: kernel.generic reduction @conv{{.*}} outs(tensor<1x8x8x8xf32>)
// CHECK: kernel.store %{{.*}}["64*i0 + 8*i1 + i2"]
// CHECK: kernel.generic loop @cast{{.*}} outs(tensor<1x8x8x8xf32>)
func.func @depthwise(%x: tensor<1x8x8x8xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x8x8xf32> {
  %0 = lathe.reshape %x : tensor<1x8x8x8xf32> -> tensor<1x2x4x8x8xf32>
  %1 = lathe.transpose %0 [0, 2, 1, 3, 4] : tensor<1x2x4x8x8xf32> -> tensor<1x4x2x8x8xf32>
  %2 = lathe.reshape %1 : tensor<1x4x2x8x8xf32> -> tensor<1x8x8x8xf32>
  %3 = lathe.conv %2, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 8 : tensor<1x8x8x8xf32>, tensor<8x1x3x3xf32> -> tensor<1x8x8x8xf32>
  %4 = lathe.transpose %3 [0, 1, 3, 2] : tensor<1x8x8x8xf32> -> tensor<1x8x8x8xf32>
  return %4 : tensor<1x8x8x8xf32>
}

// Channels that come to lie side by side are lanes: they are stored there.
// CHECK-LABEL: func.func @channelsLast
// CHECK: kernel.generic reduction
// CHECK-NOT: kernel.generic
// CHECK: return
func.func @channelsLast(%x: tensor<1x8x8x8xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x8x8xf32> {
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 8 : tensor<1x8x8x8xf32>, tensor<8x1x3x3xf32> -> tensor<1x8x8x8xf32>
  %1 = lathe.transpose %0 [0, 2, 3, 1] : tensor<1x8x8x8xf32> -> tensor<1x8x8x8xf32>
  return %1 : tensor<1x8x8x8xf32>
}

// Channels that come last as columns lie far apart: a window of one place, too, has them in order.
// CHECK-LABEL: func.func @channels_in_columns
// CHECK: kernel.generic loop @cast{{.*}} outs(tensor<1x8x8x16xf32>)
// CHECK: kernel.generic reduction @conv
// THREADS-LABEL: func.func @channels_in_columns
// THREADS-NEXT: kernel.generic reduction @conv
func.func @channels_in_columns(%x: tensor<1x16x8x8xf32>, %v: tensor<16x8x1x1xf32>) -> tensor<1x16x8x16xf32> {
  %0 = lathe.transpose %x [0, 2, 3, 1] : tensor<1x16x8x8xf32> -> tensor<1x8x8x16xf32>
  %1 = lathe.conv %0, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x8x8x16xf32>, tensor<16x8x1x1xf32> -> tensor<1x16x8x16xf32>
  return %1 : tensor<1x16x8x16xf32>
}

// Channels in another order have lines at no one distance.
// CHECK-LABEL: func.func @shuffled
// CHECK: kernel.generic loop @cast{{.*}} outs(tensor<1x8x8x8xf32>)
// CHECK: kernel.generic reduction @conv
// CHECK-NOT: mod
// CHECK: return
func.func @shuffled(%x: tensor<1x8x8x8xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %0 = lathe.reshape %x : tensor<1x8x8x8xf32> -> tensor<1x2x4x8x8xf32>
  %1 = lathe.transpose %0 [0, 2, 1, 3, 4] : tensor<1x2x4x8x8xf32> -> tensor<1x4x2x8x8xf32>
  %2 = lathe.reshape %1 : tensor<1x4x2x8x8xf32> -> tensor<1x8x8x8xf32>
  %3 = lathe.conv %2, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x8x8x8xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x8x8xf32>
  return %3 : tensor<1x16x8x8xf32>
}

// Results are stored in lines before planes are turned.
// CHECK-LABEL: func.func @turned_behind
// CHECK: kernel.generic reduction @conv{{.*}} outs(tensor<1x16x8x6xf32>)
// CHECK: kernel.generic loop @cast{{.*}} outs(tensor<1x16x6x8xf32>)
// THREADS-LABEL: func.func @turned_behind
// THREADS-NEXT: kernel.generic reduction @{{.*}} outs(tensor<1x16x6x8xf32>)
func.func @turned_behind(%x: tensor<1x8x8x6xf32>, %v: tensor<16x8x1x1xf32>) -> tensor<1x16x6x8xf32> {
  %0 = lathe.conv %x, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x8x8x6xf32>, tensor<16x8x1x1xf32> -> tensor<1x16x8x6xf32>
  %1 = lathe.transpose %0 [0, 1, 3, 2] : tensor<1x16x8x6xf32> -> tensor<1x16x6x8xf32>
  return %1 : tensor<1x16x6x8xf32>
}
}
