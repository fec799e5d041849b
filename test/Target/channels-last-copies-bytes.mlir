// RUN: lathe-opt %s --lathe-form-kernels '--lathe-channels-last=halves=true bytes=true copies=true' | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels '--lathe-channels-last=halves=true copies=true' | FileCheck %s --check-prefix=WITHOUT

// An image of bytes that windows read many times is copied like one of halves, where its channels come in pieces of 16 bytes: 24 do not.
// WITHOUT-NOT: @channels_last
// CHECK-LABEL: func.func @input(
// CHECK: kernel.generic loop @channels_last axes(i0 = "n", i2 = "81", i1 = "32") ins({{.*}}) outs(tensor<?x9x9x32xui8, #lathe.dims<"n", "9", "9", "32">>)
// CHECK-NEXT: ^bb0(%{{.*}}: !kernel.ref<i8>, %{{.*}}: !kernel.ref<i8>):
// CHECK: kernel.generic reduction @conv
// CHECK-LABEL: func.func @between
// CHECK-NOT: @channels_last
// CHECK: return
!x = tensor<?x32x9x9xui8, #lathe.dims<"n", "32", "9", "9">>
!y = tensor<?x16x9x9xi32, #lathe.dims<"n", "16", "9", "9">>
!odd = tensor<?x24x9x9xui8, #lathe.dims<"n", "24", "9", "9">>
module {
lathe.symbol "n" range [1, -1]
func.func @input(%x: !x) -> !y {
  %w = lathe.constant dense_resource<w> : tensor<16x32x3x3xi8>
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x32x3x3xi8> -> !y
  return %0 : !y
}
func.func @between(%x: !odd) -> !y {
  %w = lathe.constant dense_resource<w> : tensor<16x24x3x3xi8>
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !odd, tensor<16x24x3x3xi8> -> !y
  return %0 : !y
}
}
