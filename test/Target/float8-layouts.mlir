// RUN: lathe-opt %s --lathe-form-kernels '--lathe-channels-last=halves=true bytes=true copies=true' --lathe-pack-weights=panel=0 | FileCheck %s

// Images and constants of floats of 8 bits lie as those of integers do: channels side by side, constants as [columns][depth].
// CHECK-LABEL: func.func @window(
// CHECK: kernel.generic loop @channels_last {{.*}} outs(tensor<?x9x9x32xf8E4M3FN, #lathe.dims<"n", "9", "9", "32">>)
// CHECK-NEXT: ^bb0(%{{.*}}: !kernel.ref<i8>, %{{.*}}: !kernel.ref<i8>):
// CHECK: kernel.pack %{{.*}} kExtents = array<i64: 3, 3, 32>{{.*}} : tensor<16x32x3x3xf8E4M3FN> -> tensor<16x288xf8E4M3FN>
// CHECK: kernel.generic reduction @conv
// CHECK-LABEL: func.func @columns
// CHECK: kernel.pack %{{.*}} : tensor<64x48xf8E5M2> -> tensor<48x64xf8E5M2>
// CHECK: kernel.generic reduction @contract
!x = tensor<?x32x9x9xf8E4M3FN, #lathe.dims<"n", "32", "9", "9">>
!y = tensor<?x16x9x9xf32, #lathe.dims<"n", "16", "9", "9">>
module {
lathe.symbol "n" range [1, -1]
func.func @window(%x: !x) -> !y {
  %w = lathe.constant dense_resource<w> : tensor<16x32x3x3xf8E4M3FN>
  %0 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !x, tensor<16x32x3x3xf8E4M3FN> -> !y
  return %0 : !y
}
func.func @columns(%x: tensor<8x64xf8E4M3FN>) -> tensor<8x48xf32> {
  %w = lathe.constant dense_resource<v> : tensor<64x48xf8E5M2>
  %0 = lathe.contract %x, %w batch [] x [] over [1] x [0] : tensor<8x64xf8E4M3FN>, tensor<64x48xf8E5M2> -> tensor<8x48xf32>
  return %0 : tensor<8x48xf32>
}
}
