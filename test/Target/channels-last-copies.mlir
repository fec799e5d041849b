// RUN: lathe-opt %s --lathe-form-kernels '--lathe-channels-last=halves=true copies=true' | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last=halves=true | FileCheck %s --check-prefix=WITHOUT

!x = tensor<?x16x?x?xf16, #lathe.dims<"n", "16", "h", "w">>
!odd = tensor<?x20x?x?xf16, #lathe.dims<"n", "20", "h", "w">>
module {
lathe.symbol "n" range [1, -1]
lathe.symbol "h" range [1, -1]
lathe.symbol "w" range [1, -1]

// WITHOUT-NOT: @channels_last

// The model's own image cannot be rearranged: it is copied for the windows that read it, once for both. What is between kernels needs
// no copy, and who adds the image to a result reads it as it is.
// CHECK-LABEL: func.func @input(
// CHECK-SAME: %[[x:.*]]: tensor
// CHECK: %[[copy:.*]] = kernel.generic loop @channels_last axes(i0 = "n", i2 = "h*w", i1 = "16") ins(%[[x]] :
// CHECK-SAME: outs(tensor<?x?x?x16xf16, #lathe.dims<"n", "h", "w", "16">>)
// CHECK: kernel.load %{{.*}}["16*h*i0*w + h*i1*w + i2"] : <f16> -> f16
// CHECK: kernel.store %{{.*}}["16*h*i0*w + i1 + 16*i2"] : f16
// CHECK: %[[first:.*]] = kernel.generic reduction @conv axes({{.*}}) ins(%[[copy]],
// CHECK-SAME: outs(tensor<?x?x?x16xf16
// CHECK: kernel.load %{{.*}}["16*h*i0*w + 16*i2*w + 16*i5*w + 16*i3 + i4 + 16*i6 - 16*w - 16"] if
// CHECK-NOT: @channels_last
// CHECK: kernel.generic reduction @add axes({{.*}}) ins(%[[first]], %{{.*}}, %[[x]] :
// CHECK: kernel.generic reduction @sqrt axes({{.*}}) ins(%[[copy]],
func.func @input(%x: !x) -> (!x, !x) {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf16>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x16x3x3xf16> -> !x
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x16x3x3xf16> -> !x
  %3 = lathe.add %2, %x : !x
  %4 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x16x3x3xf16> -> !x
  %5 = lathe.sqrt %4 : !x
  return %3, %5 : !x, !x
}

// A window of one place reads each element once, and 20 channels do not come in pieces of 16 bytes: neither is copied.
// CHECK-LABEL: func.func @few
// CHECK-NOT: @channels_last
// CHECK: return
func.func @few(%x: !x, %odd: !odd) -> (!x, !x) {
  %w = lathe.constant dense_resource<w> : tensor<16x16x1x1xf16>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !x, tensor<16x16x1x1xf16> -> !x
  %v = lathe.constant dense_resource<v> : tensor<16x20x3x3xf16>
  %2 = lathe.conv %odd, %v strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !odd, tensor<16x20x3x3xf16> -> !x
  return %1, %2 : !x, !x
}

// A border of more than half of the image, as wide dilations have it, still belongs to the pixels, not to the channels.
// CHECK-LABEL: func.func @wide
// CHECK: %[[copy:.*]] = kernel.generic loop @channels_last
// CHECK-SAME: outs(tensor<2x8x8x16xf16>)
// CHECK: kernel.generic reduction @conv_{{[0-9]+}} axes({{.*}}) ins(%[[copy]],
func.func @wide(%x: tensor<2x16x8x8xf16>) -> tensor<2x16x8x8xf16> {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf16>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [6, 6] pads ["6", "6", "6", "6"] groups 1 : tensor<2x16x8x8xf16>, tensor<16x16x3x3xf16> -> tensor<2x16x8x8xf16>
  return %1 : tensor<2x16x8x8xf16>
}

// An image that comes with its channels side by side is not copied.
// CHECK-LABEL: func.func @together
// CHECK-NOT: @channels_last
func.func @together(%x: tensor<4x16x16x64xf16>) -> tensor<4x64x16x16xf16> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf16>
  %0 = lathe.transpose %x [0, 3, 1, 2] : tensor<4x16x16x64xf16> -> tensor<4x64x16x16xf16>
  %1 = lathe.conv %0, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<4x64x16x16xf16>, tensor<64x64x3x3xf16> -> tensor<4x64x16x16xf16>
  return %1 : tensor<4x64x16x16xf16>
}
}
