// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last=bytes | FileCheck %s --check-prefix=BYTES

!x = tensor<?x16x?x?xf32, #lathe.dims<"n", "16", "h", "w">>
!y = tensor<?x16x?x?xf32, #lathe.dims<"n", "16", "2*h", "2*w">>
!b = tensor<1x16x8x8xui8>
!s = tensor<1x16x8x8xi32>
module {
lathe.symbol "n" range [1, -1]
lathe.symbol "h" range [1, -1]
lathe.symbol "w" range [1, -1]

// What the model gets and gives stays as it is; between kernels channels come last, and so do their axes. The first
// convolution reads an image with its channels first: its rows are short.
// CHECK-LABEL: func.func @chain
// CHECK: kernel.generic reduction @conv axes(i0 = "n", i2 = "h", i3 = "w", i1 = "16", i4 = "16", i5 = "3", i6 = "3")
// CHECK-SAME: outs(tensor<?x?x?x16xf32, #lathe.dims<"n", "h", "w", "16">>)
// CHECK: kernel.load %{{.*}}["16*h*i0*w + h*i4*w + i2*w + i5*w + i3 + i6 - w - 1"] if
// CHECK: kernel.store %{{.*}}["16*h*i0*w + 16*i2*w + i1 + 16*i3"]
// CHECK: kernel.generic reduction @conv_1 axes(i0 = "n", i2 = "h", i3 = "w", i1 = "16", i4 = "3", i5 = "3")
// CHECK: kernel.load %{{.*}}["16*h*i0*w + 16*i2*w + 16*i4*w + i1 + 16*i3 + 16*i5 - 16*w - 16"] if
// CHECK: kernel.generic reduction @conv_2 axes(i0 = "n", i1 = "16", i2 = "h", i3 = "w", i5 = "3", i6 = "3", i4 = "16")
// CHECK: kernel.load %{{.*}}["16*h*i0*w + 16*i2*w + 16*i5*w + 16*i3 + i4 + 16*i6 - 16*w - 16"] if
// CHECK: kernel.store %{{.*}}["16*h*i0*w + h*i1*w + i2*w + i3"]
func.func @chain(%x: !x) -> !x {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf32>
  %d = lathe.constant dense_resource<d> : tensor<16x1x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x16x3x3xf32> -> !x
  %2 = lathe.conv %1, %d strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 16 : !x, tensor<16x1x3x3xf32> -> !x
  %3 = lathe.conv %2, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x16x3x3xf32> -> !x
  return %3 : !x
}

// Where a sum has many products, the epilogue may read what keeps its order; places of an enlarged image are those of the small one.
// CHECK-LABEL: func.func @upsampled
// CHECK: kernel.load %{{.*}}["16*h*i0*w + h*i1*w + i2*w + i3"] : <f32> -> f32
// CHECK: kernel.store %{{.*}}["16*h*i0*w + 16*i2*w + i1 + 16*i3"]
// CHECK: kernel.load %{{.*}}["16*h*i0*w + 16*floordiv(i2, 2)*w + 16*floordiv(i3, 2) + i1"]
// CHECK: kernel.store %{{.*}}["64*h*i0*w + 32*i2*w + i1 + 16*i3"]
// CHECK: kernel.load %{{.*}}["64*h*i0*w + 32*i2*w + 32*i5*w + 16*i3 + i4 + 16*i6 - 32*w - 16"] if
func.func @upsampled(%x: !x) -> !y {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x16x3x3xf32> -> !x
  %2 = lathe.add %1, %x : !x
  %3 = lathe.reshape %2 : !x -> tensor<?x16x?x1x?x1xf32, #lathe.dims<"n", "16", "h", "1", "w", "1">>
  %4 = lathe.broadcast %3 : tensor<?x16x?x1x?x1xf32, #lathe.dims<"n", "16", "h", "1", "w", "1">> -> tensor<?x16x?x2x?x2xf32, #lathe.dims<"n", "16", "h", "2", "w", "2">>
  %5 = lathe.reshape %4 : tensor<?x16x?x2x?x2xf32, #lathe.dims<"n", "16", "h", "2", "w", "2">> -> !y
  %6 = lathe.conv %5, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !y, tensor<16x16x3x3xf32> -> !y
  return %6 : !y
}

// A norm over groups of channels wants each group's pixels side by side: nothing moves.
// CHECK-LABEL: func.func @groups
// CHECK: kernel.generic reduction @conv{{.*}} axes(i0 = "n", i1 = "16", i2 = "h", i3 = "w"
// CHECK: kernel.store %{{.*}}["16*h*i0*w + h*i1*w + i2*w + i3"]
func.func @groups(%x: !x) -> tensor<?x4xf32, #lathe.dims<"n", "4">> {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x16x3x3xf32> -> !x
  %2 = lathe.reshape %1 : !x -> tensor<?x4x?xf32, #lathe.dims<"n", "4", "4*h*w">>
  %3 = lathe.reduce sum %2 axes [2] : tensor<?x4x?xf32, #lathe.dims<"n", "4", "4*h*w">> -> tensor<?x4xf32, #lathe.dims<"n", "4">>
  return %3 : tensor<?x4xf32, #lathe.dims<"n", "4">>
}

// A number for each channel has no order of its own: the scaled image has its channels last.
// CHECK-LABEL: func.func @excited
// CHECK: kernel.generic reduction @conv_{{[0-9]+}} axes(i0 = "n", i1 = "24", i2 = "h", i3 = "w", i4 = "16")
// CHECK: kernel.load %{{.*}}["16*h*i0*w + 16*i2*w + 16*i3 + i4"]
// CHECK: kernel.load %{{.*}}["16*i0 + i4"]
func.func @excited(%x: !x) -> tensor<?x24x?x?xf32, #lathe.dims<"n", "24", "h", "w">> {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf32>
  %p = lathe.constant dense_resource<p> : tensor<24x16x1x1xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x16x3x3xf32> -> !x
  %2 = lathe.reduce max %1 axes [2, 3] : !x -> tensor<?x16xf32, #lathe.dims<"n", "16">>
  %3 = lathe.reshape %2 : tensor<?x16xf32, #lathe.dims<"n", "16">> -> tensor<?x16x1x1xf32, #lathe.dims<"n", "16", "1", "1">>
  %4 = lathe.broadcast %3 : tensor<?x16x1x1xf32, #lathe.dims<"n", "16", "1", "1">> -> !x
  %5 = lathe.mul %1, %4 : !x
  %6 = lathe.conv %5, %p strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !x, tensor<24x16x1x1xf32> -> tensor<?x24x?x?xf32, #lathe.dims<"n", "24", "h", "w">>
  return %6 : tensor<?x24x?x?xf32, #lathe.dims<"n", "24", "h", "w">>
}

// Heads over two images, which may have no pixel, their channels shared out to boxes and behind one another: each part of what the last kernel
// runs over is an image of its own.
// CHECK-LABEL: func.func @heads
// CHECK: kernel.generic reduction @conv{{.*}} outs(tensor<1x?x?x48xf32, #lathe.dims<"1", "p", "q", "48">>)
// CHECK: kernel.generic reduction @conv{{.*}} outs(tensor<1x?x?x48xf32, #lathe.dims<"1", "r", "s", "48">>)
// CHECK: kernel.generic loop @concat
// CHECK: kernel.load %{{.*}}["48*floordiv(i0, 3*q)*q + i1 + 48*mod(floordiv(i0, 3), q) + 16*mod(i0, 3)"] if
// CHECK: kernel.load %{{.*}}["48*floordiv(-3*p*q + i0, 3*s)*s + i1 + 48*mod(-p*q + floordiv(i0, 3), s) + 16*mod(i0, 3)"] if
lathe.symbol "p" range [0, -1]
lathe.symbol "q" range [0, -1]
lathe.symbol "r" range [0, -1]
lathe.symbol "s" range [0, -1]
func.func @heads(%x: tensor<1x16x?x?xf32, #lathe.dims<"1", "16", "p", "q">>, %z: tensor<1x16x?x?xf32, #lathe.dims<"1", "16", "r", "s">>)
    -> tensor<1x?x16xf32, #lathe.dims<"1", "3*p*q + 3*r*s", "16">> {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf32>
  %v = lathe.constant dense_resource<v> : tensor<48x16x1x1xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x?x?xf32, #lathe.dims<"1", "16", "p", "q">>, tensor<16x16x3x3xf32> -> tensor<1x16x?x?xf32, #lathe.dims<"1", "16", "p", "q">>
  %2 = lathe.conv %z, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x?x?xf32, #lathe.dims<"1", "16", "r", "s">>, tensor<16x16x3x3xf32> -> tensor<1x16x?x?xf32, #lathe.dims<"1", "16", "r", "s">>
  %3 = lathe.conv %1, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x16x?x?xf32, #lathe.dims<"1", "16", "p", "q">>, tensor<48x16x1x1xf32> -> tensor<1x48x?x?xf32, #lathe.dims<"1", "48", "p", "q">>
  %4 = lathe.conv %2, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x16x?x?xf32, #lathe.dims<"1", "16", "r", "s">>, tensor<48x16x1x1xf32> -> tensor<1x48x?x?xf32, #lathe.dims<"1", "48", "r", "s">>
  %12 = lathe.add %3, %3 : tensor<1x48x?x?xf32, #lathe.dims<"1", "48", "p", "q">>
  %13 = lathe.add %4, %4 : tensor<1x48x?x?xf32, #lathe.dims<"1", "48", "r", "s">>
  %5 = lathe.reshape %12 : tensor<1x48x?x?xf32, #lathe.dims<"1", "48", "p", "q">> -> tensor<1x3x16x?x?xf32, #lathe.dims<"1", "3", "16", "p", "q">>
  %6 = lathe.reshape %13 : tensor<1x48x?x?xf32, #lathe.dims<"1", "48", "r", "s">> -> tensor<1x3x16x?x?xf32, #lathe.dims<"1", "3", "16", "r", "s">>
  %7 = lathe.transpose %5 [0, 3, 4, 1, 2] : tensor<1x3x16x?x?xf32, #lathe.dims<"1", "3", "16", "p", "q">> -> tensor<1x?x?x3x16xf32, #lathe.dims<"1", "p", "q", "3", "16">>
  %8 = lathe.transpose %6 [0, 3, 4, 1, 2] : tensor<1x3x16x?x?xf32, #lathe.dims<"1", "3", "16", "r", "s">> -> tensor<1x?x?x3x16xf32, #lathe.dims<"1", "r", "s", "3", "16">>
  %9 = lathe.reshape %7 : tensor<1x?x?x3x16xf32, #lathe.dims<"1", "p", "q", "3", "16">> -> tensor<1x?x16xf32, #lathe.dims<"1", "3*p*q", "16">>
  %10 = lathe.reshape %8 : tensor<1x?x?x3x16xf32, #lathe.dims<"1", "r", "s", "3", "16">> -> tensor<1x?x16xf32, #lathe.dims<"1", "3*r*s", "16">>
  %11 = lathe.concat %9, %10 axis 1 : tensor<1x?x16xf32, #lathe.dims<"1", "3*p*q", "16">>, tensor<1x?x16xf32, #lathe.dims<"1", "3*r*s", "16">> -> tensor<1x?x16xf32, #lathe.dims<"1", "3*p*q + 3*r*s", "16">>
  return %11 : tensor<1x?x16xf32, #lathe.dims<"1", "3*p*q + 3*r*s", "16">>
}

// Bytes between convolutions have their channels last for processors that multiply bytes as they lie; what the model has keeps its order.
// CHECK-LABEL: func.func @bytes
// CHECK-NOT: outs(tensor<1x8x8x16x
// BYTES-LABEL: func.func @bytes
// BYTES: kernel.generic reduction @cast_1 axes(i1 = "8", i2 = "8", i0 = "16", i3 = "16"){{.*}} outs(tensor<1x8x8x16xui8>)
// BYTES: kernel.load %{{.*}}["8*i1 + i2 + 64*i3"]
// BYTES: kernel.store %{{.*}}["i0 + 128*i1 + 16*i2"]
// BYTES: kernel.generic reduction @cast_2 {{.*}} outs(tensor<1x8x8x16xui8>)
// BYTES: kernel.load %{{.*}}["128*i1 + 16*i2 + i3 + 128*i4 + 16*i5 - 144"] if
// BYTES: kernel.load %{{.*}}["128*i1 + 16*i2 + i3"]
// BYTES: kernel.store %{{.*}}["64*i0 + 8*i1 + i2"]
func.func @bytes(%x: !b) -> !s {
  %w = lathe.constant dense_resource<w8> : tensor<16x16x1x1xi8>
  %v = lathe.constant dense_resource<v8> : tensor<16x16x3x3xi8>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !b, tensor<16x16x1x1xi8> -> !s
  %2 = lathe.cast %1 : !s -> !b
  %3 = lathe.conv %2, %v strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !b, tensor<16x16x3x3xi8> -> !s
  %4 = lathe.cast %3 : !s -> tensor<1x16x8x8xf32>
  %5 = lathe.sqrt %4 : tensor<1x16x8x8xf32>
  %6 = lathe.cast %5 : tensor<1x16x8x8xf32> -> !b
  %7 = lathe.conv %6, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : !b, tensor<16x16x1x1xi8> -> !s
  return %7 : !s
}

// Parts of a concatenation that have as many channels: the second begins at a number of channels that is one of images, and is of the same image all the same.
// CHECK-LABEL: func.func @parts
// CHECK: kernel.generic reduction {{.*}} outs(tensor<1x8x8x16xf32>)
// CHECK: kernel.generic reduction {{.*}} outs(tensor<1x8x8x16xf32>)
// CHECK: kernel.generic reduction {{.*}} ins({{.*}}tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>, tensor<32x32x1x1xf32>)
// CHECK: kernel.load %{{.*}}["128*i1 + 16*i2 + i3"] if
// CHECK: kernel.load %{{.*}}["128*i1 + 16*i2 + i3 - 16"] if
func.func @parts(%x: tensor<1x16x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %w = lathe.constant dense_resource<w> : tensor<16x16x3x3xf32>
  %v = lathe.constant dense_resource<v> : tensor<32x32x1x1xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  %3 = lathe.concat %1, %2 axis 1 : tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32> -> tensor<1x32x8x8xf32>
  %4 = lathe.conv %3, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x32x8x8xf32>, tensor<32x32x1x1xf32> -> tensor<1x32x8x8xf32>
  return %4 : tensor<1x32x8x8xf32>
}
}
