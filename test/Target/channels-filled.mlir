// RUN: lathe-opt %s --lathe-form-kernels '--lathe-channels-last=halves=true copies=true' | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last=halves=true | FileCheck %s --check-prefix=WITHOUT

// Three channels come to no whole pieces of 16 bytes: for windows that read an element many times the image is copied with its channels
// side by side and zeros behind them, and the filter has zeros in the same places. Two convolutions of one image share the copy.
// WITHOUT-NOT: @channels_filled

// What comes of it is what numpy says.
// REQUIRES: numpy
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/channels_filled.py inputs %t/in.npz
// RUN: lathe-opt %s --lathe-form-kernels '--lathe-channels-last=halves=true copies=true' --lathe-interpret="inputs=%t/in.npz outputs=%t/out.npz" -o /dev/null
// RUN: %python %S/Inputs/channels_filled.py check %t/in.npz %t/out.npz

lathe.symbol "n" range [1, -1]

// CHECK: %[[copy:.*]] = kernel.generic loop @channels_filled axes(i = "n", p = "42", c = "8") ins(%arg0 :
// CHECK-SAME: outs(tensor<?x8xf16, #lathe.dims<"42*n", "8">>)
// CHECK: kernel.load %{{.*}}["42*c + 126*i + p"] if %{{.*}} else %{{.*}} : <f16> else f16 -> f16
// CHECK: kernel.store %{{.*}}["c + 336*i + 8*p"] : f16, <f16>
// CHECK: %[[filter:.*]] = lathe.constant dense<{{.*}}> : tensor<72x8xf16>
// CHECK: kernel.generic reduction @abs axes({{.*}}, i6 = "3", i4 = "8") ins(%[[copy]], %[[filter]] :
// CHECK: kernel.load %{{.*}}["336*i0 + 112*i2 + 16*i3 + i4 + 56*i5 + 8*i6 - 64"] if
// CHECK: kernel.load %{{.*}}["48*i1 + i4 + 24*i5 + 8*i6"] :
// CHECK-NOT: @channels_filled
// CHECK: kernel.generic reduction @conv axes({{.*}}) ins(%[[copy]],
func.func @main(%x: tensor<?x3x6x7xf16, #lathe.dims<"n", "3", "6", "7">> {lathe.name = "x"})
    -> (tensor<?x12x3x3xf16, #lathe.dims<"n", "12", "3", "3">> {lathe.name = "y"}, tensor<?x12x3x3xf16, #lathe.dims<"n", "12", "3", "3">> {lathe.name = "again"}) {
  %w = lathe.constant dense<"0x00BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C00B8003D00B4003E000000BE003400BD003800BC003A00BA003C"> : tensor<12x3x2x3xf16>
  %y = lathe.conv %x, %w strides [2, 2] dilations [1, 1] pads ["1", "1", "0", "0"] groups 1 : tensor<?x3x6x7xf16, #lathe.dims<"n", "3", "6", "7">>, tensor<12x3x2x3xf16> -> tensor<?x12x3x3xf16, #lathe.dims<"n", "12", "3", "3">>
  %a = lathe.abs %y : tensor<?x12x3x3xf16, #lathe.dims<"n", "12", "3", "3">>
  %b = lathe.conv %x, %w strides [2, 2] dilations [1, 1] pads ["1", "1", "0", "0"] groups 1 : tensor<?x3x6x7xf16, #lathe.dims<"n", "3", "6", "7">>, tensor<12x3x2x3xf16> -> tensor<?x12x3x3xf16, #lathe.dims<"n", "12", "3", "3">>
  return %a, %b : tensor<?x12x3x3xf16, #lathe.dims<"n", "12", "3", "3">>, tensor<?x12x3x3xf16, #lathe.dims<"n", "12", "3", "3">>
}
