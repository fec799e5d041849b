// RUN: lathe-opt %s --lathe-form-kernels --lathe-verify-accesses | FileCheck %s

// A Fourier transform is a kernel: what makes its numbers is computed where they are read, what follows elementwise where they are written,
// and a transposition behind it is the order in which they are.

!x = tensor<?x64xf32, #lathe.dims<"n", "64">>
!r = tensor<?x64x1xf32, #lathe.dims<"n", "64", "1">>
!y = tensor<?x33x2xf32, #lathe.dims<"n", "33", "2">>
!t = tensor<33x?x2xf32, #lathe.dims<"33", "n", "2">>

module {
lathe.symbol "n" range [0, -1]

// CHECK-LABEL: func.func @main
// CHECK: kernel.generic transform @fft axes(i0 = "n", i1 = "33", i2 = "2", i3 = "64")
// CHECK: %[[X:.*]] = kernel.load %{{.*}}["64*i0 + i3"]
// CHECK: %[[W:.*]] = kernel.load %{{.*}}["i3"]
// CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[W]]
// CHECK: %[[F:.*]] = kernel.fft r2c %[[P]] along "i3" to "i1" parts "i2" length 64 : f32
// CHECK: %[[S:.*]] = arith.mulf %[[F]], %{{.*}} : f32
// CHECK: %[[A:.*]] = math.absf %[[S]]
// CHECK: kernel.store %[[A]], %{{.*}}["2*i1*n + 2*i0 + i2"]
// CHECK-NOT: kernel.generic
// CHECK: return
func.func @main(%x: !x, %w: tensor<64xf32>) -> !t {
  %0 = lathe.broadcast %w : tensor<64xf32> -> !x
  %1 = lathe.mul %x, %0 : !x
  %2 = lathe.reshape %1 : !x -> !r
  %3 = lathe.fft %2 axis 1 parts 2 length 64 {scale = 0.125 : f64} : !r -> !y
  %4 = lathe.abs %3 : !y
  %5 = lathe.transpose %4 [1, 0, 2] : !y -> !t
  return %5 : !t
}

// Frames of a signal, of which is known where they lie: no index is read; a place past the end is the last one.
// RUN: lathe-opt %s --lathe-form-kernels --lathe-verify-accesses | FileCheck %s --check-prefix=FRAMES
// FRAMES-LABEL: func.func @frames
// FRAMES: kernel.load %{{.*}}["3*i0 + i1"]
// FRAMES-LABEL: func.func @clamped
// FRAMES: kernel.load %{{.*}}["min(18, 3*i0 + i1)"]
func.func @frames(%x: tensor<20xf32>) -> tensor<5x8xf32> {
  %0 = lathe.iota 0 : tensor<5x8xi64>
  %1 = lathe.constant dense<3> : tensor<5x8xi64>
  %2 = lathe.mul %0, %1 : tensor<5x8xi64>
  %3 = lathe.iota 1 : tensor<5x8xi64>
  %4 = lathe.add %2, %3 : tensor<5x8xi64>
  %5 = lathe.gather %x, %4 axis 0 : tensor<20xf32>, tensor<5x8xi64> -> tensor<5x8xf32>
  %6 = lathe.neg %5 : tensor<5x8xf32>
  return %6 : tensor<5x8xf32>
}
func.func @clamped(%x: tensor<19xf32>) -> tensor<5x8xf32> {
  %0 = lathe.iota 0 : tensor<5x8xi64>
  %1 = lathe.constant dense<3> : tensor<5x8xi64>
  %2 = lathe.mul %0, %1 : tensor<5x8xi64>
  %3 = lathe.iota 1 : tensor<5x8xi64>
  %4 = lathe.add %2, %3 : tensor<5x8xi64>
  %5 = lathe.gather %x, %4 axis 0 : tensor<19xf32>, tensor<5x8xi64> -> tensor<5x8xf32>
  %6 = lathe.neg %5 : tensor<5x8xf32>
  return %6 : tensor<5x8xf32>
}

// Frames that overlap read what is joined some times: it is joined once.
// FRAMES-LABEL: func.func @joined
// FRAMES: kernel.generic loop @concat
// FRAMES: kernel.generic loop @neg
func.func @joined(%x: tensor<20xf32>, %y: tensor<4xf32>) -> tensor<9x8xf32> {
  %c = lathe.concat %x, %y axis 0 : tensor<20xf32>, tensor<4xf32> -> tensor<24xf32>
  %0 = lathe.iota 0 : tensor<9x8xi64>
  %1 = lathe.constant dense<2> : tensor<9x8xi64>
  %2 = lathe.mul %0, %1 : tensor<9x8xi64>
  %3 = lathe.iota 1 : tensor<9x8xi64>
  %4 = lathe.add %2, %3 : tensor<9x8xi64>
  %5 = lathe.gather %c, %4 axis 0 : tensor<24xf32>, tensor<9x8xi64> -> tensor<9x8xf32>
  %6 = lathe.neg %5 : tensor<9x8xf32>
  return %6 : tensor<9x8xf32>
}
}
