// Filters for Winograd's minimal filtering, where it takes less time.
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters=winograd=false | FileCheck %s --check-prefix=DIRECT
// DIRECT-NOT: winograd = array

// 36 places of 64 channels for a panel of 32 columns. Filters arrive while products are made, also the large ones of 256 channels; of 512 channels
// of 7x7 pixels, places of 2x2 results are less to load. The windows' taps come first in k, whatever the order of the kernel's axes.
// CHECK-LABEL: func.func @fixed
// CHECK: kernel.pack %{{.*}} {k = 576 : i64, kExtents = array<i64: 3, 3, 64>, kStride = 0 : i64, kStrides = array<i64: 3, 1, 9>, n = 64 : i64, nStride = 576 : i64, panel = 32 : i64, winograd = array<i64: 4, 4>} : tensor<64x64x3x3xf32> -> tensor<2x2304x32xf32>
// CHECK: kernel.load %{{.*}} {packed, winograd = array<i64: 4, 4>}
func.func @fixed(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  return %1 : tensor<1x64x56x56xf32>
}

// CHECK-LABEL: func.func @deep
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 4, 4>} : tensor<256x256x3x3xf32> -> tensor<8x9216x32xf32>
func.func @deep(%x: tensor<1x256x14x14xf32>) -> tensor<1x256x14x14xf32> {
  %w = lathe.constant dense_resource<w> : tensor<256x256x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x256x14x14xf32>, tensor<256x256x3x3xf32> -> tensor<1x256x14x14xf32>
  return %1 : tensor<1x256x14x14xf32>
}

// CHECK-LABEL: func.func @deepest
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 2, 2>} : tensor<512x512x3x3xf32> -> tensor<16x8192x32xf32>
func.func @deepest(%x: tensor<1x512x7x7xf32>) -> tensor<1x512x7x7xf32> {
  %w = lathe.constant dense_resource<w> : tensor<512x512x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x512x7x7xf32>, tensor<512x512x3x3xf32> -> tensor<1x512x7x7xf32>
  return %1 : tensor<1x512x7x7xf32>
}

// Where there are few pixels for many filters, these are what takes the time, and the direct form's are the smallest.
// CHECK-LABEL: func.func @few
// CHECK-NOT: winograd
func.func @few(%x: tensor<1x512x4x4xf32>) -> tensor<1x512x4x4xf32> {
  %w = lathe.constant dense_resource<w> : tensor<512x512x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x512x4x4xf32>, tensor<512x512x3x3xf32> -> tensor<1x512x4x4xf32>
  return %1 : tensor<1x512x4x4xf32>
}

// A window that lies outside of the image as a whole sums nothing, which is zero and no rounding of it.
// CHECK-LABEL: func.func @padded
// CHECK-NOT: winograd
func.func @padded(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x60x56xf32> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["3", "1", "3", "1"] groups 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x60x56xf32>
  return %1 : tensor<1x64x60x56xf32>
}

// One pixel is less work as it is: of open sizes the kernel has both filters, and each call chooses.
// CHECK-LABEL: func.func @open
// CHECK: %[[TILES:.*]] = kernel.pack %[[W:.*]] {{{.*}}winograd = array<i64: 4, 4>}
// CHECK: kernel.generic reduction @conv{{.*}} ins(%arg0, %{{.*}}, %[[TILES]] :
// CHECK: kernel.load %{{.*}}winograd = array<i64: 4, 4>, winograd_filter = 2 : i64}
!open = tensor<1x64x?x?xf32, #lathe.dims<"1", "64", "h", "w">>
func.func @open(%x: !open) -> !open {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !open, tensor<64x64x3x3xf32> -> !open
  return %1 : !open
}

// A second filter of 5.8 MB is too much for one kernel, not for two that share it.
// CHECK-LABEL: func.func @large
// CHECK-NOT: winograd
// CHECK-LABEL: func.func @shared
// CHECK: kernel.load %{{.*}}winograd = array<i64: {{[24], [24]}}>, winograd_filter = 2 : i64}
// CHECK: kernel.load %{{.*}}winograd = array<i64: {{[24], [24]}}>, winograd_filter = 2 : i64}
!narrow = tensor<1x256x?x?xf32, #lathe.dims<"1", "256", "h", "w">>
!wide = tensor<1x360x?x?xf32, #lathe.dims<"1", "360", "h", "w">>
func.func @large(%x: !narrow) -> !wide {
  %w = lathe.constant dense_resource<w> : tensor<360x256x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !narrow, tensor<360x256x3x3xf32> -> !wide
  return %1 : !wide
}
func.func @shared(%x: !narrow, %y: !narrow) -> (!wide, !wide) {
  %w = lathe.constant dense_resource<w> : tensor<360x256x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !narrow, tensor<360x256x3x3xf32> -> !wide
  %2 = lathe.conv %y, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !narrow, tensor<360x256x3x3xf32> -> !wide
  return %1, %2 : !wide, !wide
}

// Along the line alone: the three lines of the window are among what is summed over.
// CHECK-LABEL: func.func @line
// CHECK: kernel.pack %{{.*}} {k = 192 : i64, kExtents = array<i64: 3, 64>, {{.*}}winograd = array<i64: 1, 4>} : tensor<64x64x1x3xf32> -> tensor<2x384x32xf32>
func.func @line(%x: tensor<1x64x40x40xf32>) -> tensor<1x64x40x40xf32> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x1x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["0", "1", "0", "1"] groups 1 : tensor<1x64x40x40xf32>, tensor<64x64x1x3xf32> -> tensor<1x64x40x40xf32>
  return %1 : tensor<1x64x40x40xf32>
}

// Neither strides nor windows of five taps, nor one result.
// CHECK-LABEL: func.func @others
// CHECK-NOT: winograd
func.func @others(%x: tensor<1x64x40x40xf32>, %small: tensor<1x64x3x3xf32>) -> (tensor<1x64x20x20xf32>, tensor<1x64x40x40xf32>, tensor<1x64x1x1xf32>) {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %v = lathe.constant dense_resource<v> : tensor<64x64x5x5xf32>
  %1 = lathe.conv %x, %w strides [2, 2] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x64x40x40xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x20x20xf32>
  %3 = lathe.conv %x, %v strides [1, 1] dilations [1, 1] pads ["2", "2", "2", "2"] groups 1 : tensor<1x64x40x40xf32>, tensor<64x64x5x5xf32> -> tensor<1x64x40x40xf32>
  %4 = lathe.conv %small, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x64x3x3xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x1x1xf32>
  return %1, %3, %4 : tensor<1x64x20x20xf32>, tensor<1x64x40x40xf32>, tensor<1x64x1x1xf32>
}

// Every fourth line is a line of an image of its own, over which the window slides by one: the residues of lines are an axis in front of them. Between
// planes pixels stay side by side, between channels each fourth pixel is a pixel of such an image, too.
// CHECK-LABEL: func.func @dilated
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 4, 1>} : tensor<64x64x3x3xf32>
// CHECK: kernel.generic reduction @conv{{.*}} axes(i0 = "64", [[R:i[0-9]+]] = "4", i1 = "14", i2 = "56", i3 = "64", i4 = "3", i5 = "3")
// CHECK: kernel.load %{{.*}}["{{.*}}224*i1{{.*}}56*[[R]]{{.*}}"]
func.func @dilated(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [4, 4] pads ["4", "4", "4", "4"] groups 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  return %1 : tensor<1x64x56x56xf32>
}

// CHECK-LABEL: func.func @between
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 4, 4>} : tensor<64x64x3x3xf32>
// CHECK: kernel.load %{{.*}}winograd = array<i64: 4, 4>}
func.func @between(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %u = lathe.constant dense_resource<u> : tensor<64x64x1x1xf32>
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %1 = lathe.conv %x, %u strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x56x56xf32>
  %2 = lathe.conv %1, %w strides [1, 1] dilations [4, 4] pads ["4", "4", "4", "4"] groups 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  %3 = lathe.conv %2, %u strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x56x56xf32>
  return %3 : tensor<1x64x56x56xf32>
}

// A third of 40 lines are 14, 13 and 13: the last lines of the shorter ones are neither read nor written. The image is read as far as by the last window,
// here 5 + 40 - 1 + 2 * 3 lines.
// CHECK-LABEL: func.func @uneven
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 4, 1>} : tensor<64x64x3x3xf32>
// CHECK: kernel.generic reduction @conv{{.*}} axes({{.*}}[[R:i[0-9]+]] = "3", i1 = "14"
// CHECK: %[[AT:.*]] = kernel.index "3*i1 + [[R]]"
// CHECK: %[[LINES:.*]] = kernel.index "40"
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[AT]], %[[LINES]]
// CHECK: %[[READ:.*]] = kernel.index "3*i1 + 3*i4 + [[R]]"
// CHECK: %[[LAST:.*]] = kernel.index "46"
// CHECK: %[[REACHED:.*]] = arith.cmpi slt, %[[READ]], %[[LAST]]
// CHECK: kernel.load %{{.*}} if %[[REACHED]] else
// CHECK: kernel.store {{.*}} if %[[INSIDE]]
func.func @uneven(%x: tensor<1x64x46x40xf32>) -> tensor<1x64x40x34xf32> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [3, 3] pads ["0", "0", "0", "0"] groups 1 : tensor<1x64x46x40xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x40x34xf32>
  return %1 : tensor<1x64x40x34xf32>
}

!dilated = tensor<1x64x?x?xf32, #lathe.dims<"1", "64", "h", "w">>
// Of open lines no more needs to be known; windows begin and end inside of the image where the border is no wider than the dilation.
// CHECK-LABEL: func.func @dilated_open
// CHECK: kernel.generic reduction @conv{{.*}} axes({{.*}}[[R:i[0-9]+]] = "2", i1 = "floordiv(h + 1, 2)"
// CHECK: kernel.load %{{.*}}winograd = array<i64: 4, 1>
func.func @dilated_open(%x: !dilated) -> !dilated {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [2, 2] pads ["2", "2", "2", "2"] groups 1 : !dilated, tensor<64x64x3x3xf32> -> !dilated
  return %1 : !dilated
}

// Windows that lie outside of the image as a whole, as those of the first residue do here.
// CHECK-LABEL: func.func @beyond
// CHECK-NOT: winograd
func.func @beyond(%x: tensor<1x64x46x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [4, 4] pads ["9", "4", "9", "4"] groups 1 : tensor<1x64x46x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  return %1 : tensor<1x64x56x56xf32>
}

// Of an open batch one image of 7x7 pixels would rather have 2x2 and many 4x4: the filter for those has the places of 2x2 among its own.
// CHECK-LABEL: func.func @batches
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 4, 4>} : tensor<256x256x3x3xf32>
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 4, 4>} : tensor<512x512x3x3xf32> -> tensor<16x18432x32xf32>
!images = tensor<?x256x14x14xf32, #lathe.dims<"batch", "256", "14", "14">>
!small = tensor<?x512x7x7xf32, #lathe.dims<"batch", "512", "7", "7">>
func.func @batches(%x: !images, %y: !small) -> (!images, !small) {
  %w = lathe.constant dense_resource<w> : tensor<256x256x3x3xf32>
  %v = lathe.constant dense_resource<v> : tensor<512x512x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !images, tensor<256x256x3x3xf32> -> !images
  %2 = lathe.conv %y, %v strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !small, tensor<512x512x3x3xf32> -> !small
  return %1, %2 : !images, !small
}
