// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters=winograd=false --lathe-verify-accesses | FileCheck %s

// Two channels side by side: the four elements of a window of two pixels are taps of one axis, of which pixels step over four; the borders are asked for in
// elements, and the filter has the channels innermost. The same with an open width.
// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]] = lathe.constant dense<{{.*}}0.000000e+00, 2.000000e+00{{.*}}1.000000e+00, 3.000000e+00
// CHECK: kernel.pack %[[F]] {k = 4 : i64, kExtents = array<i64: 4>, kStride = 0 : i64, kStrides = array<i64: 1>, n = 12 : i64, nStride = 4 : i64, panel = 32 : i64}
// CHECK: axes({{.*}}i1 = "16", i2 = "16", {{.*}} = "4")
// CHECK: kernel.index "4*i2 + i4 - 2"
// CHECK: kernel.load %{{.*}}["64*i1 + 4*i2 + i4 - 2"] if
// CHECK-LABEL: func.func @open
// CHECK: kernel.index "4*i2 + i4 - 2"
// CHECK: kernel.load %{{.*}}["4*i1*w + 4*i2 + i4 - 2"] if
!x = tensor<1x16x32x2xf32>
!open = tensor<1x16x?x2xf32, #lathe.dims<"1", "16", "2*w", "2">>
!planes = tensor<1x2x16x?xf32, #lathe.dims<"1", "2", "16", "2*w">>
!half = tensor<1x12x16x?xf32, #lathe.dims<"1", "12", "16", "w">>
module {
lathe.symbol "w" range [1, -1]
func.func @main(%x: !x) -> tensor<1x16x16x12xf32> {
  %w = lathe.constant dense_resource<w> : tensor<12x2x1x2xf32>
  %0 = lathe.transpose %x [0, 3, 1, 2] : !x -> tensor<1x2x16x32xf32>
  %1 = lathe.conv %0, %w strides [1, 2] dilations [1, 1] pads ["0", "1", "0", "0"] groups 1 : tensor<1x2x16x32xf32>, tensor<12x2x1x2xf32> -> tensor<1x12x16x16xf32>
  %2 = lathe.transpose %1 [0, 2, 3, 1] : tensor<1x12x16x16xf32> -> tensor<1x16x16x12xf32>
  return %2 : tensor<1x16x16x12xf32>
}
func.func @open(%x: !open) -> !half {
  %w = lathe.constant dense_resource<w> : tensor<12x2x1x2xf32>
  %0 = lathe.transpose %x [0, 3, 1, 2] : !open -> !planes
  %1 = lathe.conv %0, %w strides [1, 2] dilations [1, 1] pads ["0", "1", "0", "0"] groups 1 : !planes, tensor<12x2x1x2xf32> -> !half
  return %1 : !half
}
}
{-#
  dialect_resources: { builtin: { w: "0x04000000000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C4200002042000024420000284200002C4200003042000034420000384200003C42" } }
#-}
