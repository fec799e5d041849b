// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters=winograd=false | FileCheck %s

!x = tensor<1x16x8x8xf32>
// Rows of a packed filter follow the order of the summed axes, of which channels go last that fill vectors; a depthwise filter gets its channels last. The last result
// has its pixels in order, so that its filter could stay, but its image has channels last.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = lathe.constant dense_resource<w>
// CHECK: %[[D:.*]] = lathe.constant dense_resource<d>
// CHECK: kernel.pack %[[W]] {k = 144 : i64, kExtents = array<i64: 3, 3, 16>, kStride = 0 : i64, kStrides = array<i64: 3, 1, 9>, n = 40 : i64, nStride = 144 : i64, panel = 32 : i64} : tensor<40x16x3x3xf32> -> tensor<2x144x32xf32>
// CHECK: kernel.load %{{.*}}["144*i0 + 9*i3 + 3*i4 + i5"] {packed}
// CHECK: kernel.pack %[[D]] {k = 40 : i64, kStride = 9 : i64, n = 9 : i64, nStride = 1 : i64, panel = 0 : i64} : tensor<40x1x3x3xf32> -> tensor<9x40xf32>
// CHECK: kernel.load %{{.*}}["i0 + 120*i3 + 40*i4"]
// CHECK: kernel.pack %{{.*}} {k = 40 : i64, kExtents = array<i64: 40>
func.func @main(%x: !x) -> !x {
  %w = lathe.constant dense_resource<w> : tensor<40x16x3x3xf32>
  %d = lathe.constant dense_resource<d> : tensor<40x1x3x3xf32>
  %p = lathe.constant dense_resource<p> : tensor<16x40x1x1xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<40x16x3x3xf32> -> tensor<1x40x8x8xf32>
  %2 = lathe.conv %1, %d strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 40 : tensor<1x40x8x8xf32>, tensor<40x1x3x3xf32> -> tensor<1x40x8x8xf32>
  %3 = lathe.conv %2, %p strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x40x8x8xf32>, tensor<16x40x1x1xf32> -> !x
  return %3 : !x
}

// Four groups of four channels fill 16 lanes and are one panel; a group of 24 channels is a panel of its own. The axis that is
// the channels of the image within a group is the first that is summed over.
// CHECK-LABEL: func.func @grouped
// CHECK: kernel.pack %{{.*}} {k = 36 : i64, kExtents = array<i64: 4, 3, 3>, kStride = 0 : i64, kStrides = array<i64: 9, 3, 1>, n = 16 : i64, nStride = 36 : i64, panel = 16 : i64} : tensor<16x4x3x3xf32> -> tensor<1x36x16xf32>
// CHECK: kernel.load %{{.*}}{grouped = array<i64: 16, 0>}
// CHECK: kernel.pack %{{.*}} n = 48 : i64, nStride = 72 : i64, panel = 24 : i64} : tensor<48x8x3x3xf32> -> tensor<2x72x24xf32>
// CHECK: kernel.load %{{.*}}["1728*i0 + i1 + {{.*}}{grouped = array<i64: 24, 0>}
func.func @grouped(%x: !x) -> (!x, tensor<1x48x8x8xf32>) {
  %w = lathe.constant dense_resource<w> : tensor<16x4x3x3xf32>
  %d = lathe.constant dense_resource<d> : tensor<48x8x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 4 : !x, tensor<16x4x3x3xf32> -> !x
  %2 = lathe.conv %x, %d strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 2 : !x, tensor<48x8x3x3xf32> -> tensor<1x48x8x8xf32>
  return %1, %2 : !x, tensor<1x48x8x8xf32>
}

// A depthwise convolution of an image with its pixels together: 16 groups are a panel.
// CHECK-LABEL: func.func @depthwise
// CHECK: kernel.pack %{{.*}} n = 16 : i64, nStride = 9 : i64, panel = 16 : i64} : tensor<16x1x3x3xf32> -> tensor<1x9x16xf32>
// CHECK: kernel.load %{{.*}}{grouped = array<i64: 16, -1>}
func.func @depthwise(%x: !x) -> !x {
  %w = lathe.constant dense_resource<w> : tensor<16x1x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 16 : !x, tensor<16x1x3x3xf32> -> !x
  return %1 : !x
}

// Pixels between pixels: the columns take the order that they have in the result, (channel, row, column), and so do the filter's.
// CHECK-LABEL: func.func @interleaved
// CHECK: lathe.constant dense<{{.*}}[0.000000e+00]{{.*}}[1.000000e+01]{{.*}}[2.000000e+01]{{.*}}[3.000000e+01]{{.*}}[4.000000e+01]
// CHECK: %[[O:.*]] = lathe.constant dense<{{.*}}[0.000000e+00]{{.*}}[4.000000e+01]{{.*}}[8.000000e+01]{{.*}}[1.200000e+02]{{.*}}[1.000000e+01]
// CHECK: kernel.pack %[[O]] {k = 2 : i64
// CHECK: axes(i1 = "8", i2 = "8", i5 = "4", i6 = "2", i7 = "2", i3 = "2")
// CHECK: kernel.load %{{.*}}["i3 + 8*i5 + 4*i6 + 2*i7"] {packed}
func.func @interleaved(%x: tensor<1x2x8x8xf32>) -> tensor<1x4x16x16xf32> {
  %w = lathe.constant dense<[[[[0.0]], [[1.0]]], [[[10.0]], [[11.0]]], [[[20.0]], [[21.0]]], [[[30.0]], [[31.0]]], [[[40.0]], [[41.0]]], [[[50.0]], [[51.0]]], [[[60.0]], [[61.0]]], [[[70.0]], [[71.0]]], [[[80.0]], [[81.0]]], [[[90.0]], [[91.0]]], [[[100.0]], [[101.0]]], [[[110.0]], [[111.0]]], [[[120.0]], [[121.0]]], [[[130.0]], [[131.0]]], [[[140.0]], [[141.0]]], [[[150.0]], [[151.0]]]]> : tensor<16x2x1x1xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x2x8x8xf32>, tensor<16x2x1x1xf32> -> tensor<1x16x8x8xf32>
  %2 = lathe.reshape %1 : tensor<1x16x8x8xf32> -> tensor<1x2x2x4x8x8xf32>
  %3 = lathe.transpose %2 [0, 3, 4, 1, 5, 2] : tensor<1x2x2x4x8x8xf32> -> tensor<1x4x8x2x8x2xf32>
  %4 = lathe.reshape %3 : tensor<1x4x8x2x8x2xf32> -> tensor<1x4x16x16xf32>
  return %4 : tensor<1x4x16x16xf32>
}

// Of 7x7 pixels, which lie together in image and result, panels would be computed whole, 64 of them: the filter is packed all the same, with its
// channels last. 8x8 pixels fill panels, but a twelfth of the window's lines lies outside of them, which tiles of pixels leave out. 16x16 pixels fill panels, and
// the filter stays.
// CHECK-LABEL: func.func @pixels
// CHECK: kernel.pack %{{.*}} {k = 144 : i64, kExtents = array<i64: 3, 3, 16>, {{.*}} n = 32 : i64, nStride = 144 : i64, panel = 32 : i64}
// CHECK: {packed}
// CHECK: panel = 32
// CHECK: {packed}
// CHECK-NOT: panel = 32
// CHECK: return
// Of three pixels in one dimension a panel would have 29 too many.
// CHECK-LABEL: func.func @three
// CHECK: kernel.pack %{{.*}} {k = 48 : i64, {{.*}}panel = 32 : i64}
// CHECK: {packed}
func.func @pixels(%x: tensor<1x16x7x7xf32>, %y: !x, %z: tensor<1x16x16x16xf32>) -> (tensor<1x32x7x7xf32>, tensor<1x32x8x8xf32>, tensor<1x32x16x16xf32>) {
  %w = lathe.constant dense_resource<w> : tensor<32x16x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x7x7xf32>, tensor<32x16x3x3xf32> -> tensor<1x32x7x7xf32>
  %2 = lathe.conv %y, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<32x16x3x3xf32> -> tensor<1x32x8x8xf32>
  %3 = lathe.conv %z, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x16x16xf32>, tensor<32x16x3x3xf32> -> tensor<1x32x16x16xf32>
  return %1, %2, %3 : tensor<1x32x7x7xf32>, tensor<1x32x8x8xf32>, tensor<1x32x16x16xf32>
}
func.func @three(%x: tensor<1x16x3xf32>) -> tensor<1x32x3xf32> {
  %w = lathe.constant dense_resource<w> : tensor<32x16x3xf32>
  %1 = lathe.conv %x, %w strides [1] dilations [1] pads ["1", "1"] groups 1 : tensor<1x16x3xf32>, tensor<32x16x3xf32> -> tensor<1x32x3xf32>
  return %1 : tensor<1x32x3xf32>
}

// An image that comes with its channels side by side has them innermost in the sum, as one that was moved; few columns are a panel, too, since no vector
// of pixels is made.
// CHECK-LABEL: func.func @together
// CHECK: kernel.pack %{{.*}} {k = 144 : i64, kExtents = array<i64: 3, 3, 16>, kStride = 0 : i64, kStrides = array<i64: 3, 1, 9>, n = 3 : i64, nStride = 144 : i64, panel = 32 : i64} : tensor<3x16x3x3xf32> -> tensor<1x144x32xf32>
// CHECK: kernel.load %{{.*}}{packed}
func.func @together(%x: tensor<1x8x8x16xf32>) -> tensor<1x8x8x3xf32> {
  %w = lathe.constant dense_resource<w> : tensor<3x16x3x3xf32>
  %1 = lathe.transpose %x [0, 3, 1, 2] : tensor<1x8x8x16xf32> -> !x
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<3x16x3x3xf32> -> tensor<1x3x8x8xf32>
  %3 = lathe.transpose %2 [0, 2, 3, 1] : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
  return %3 : tensor<1x8x8x3xf32>
}
