// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters="winograd=false precision=bf16" | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters="winograd=false precision=f16" | FileCheck %s --check-prefix=F16
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters="precision=bf16" | FileCheck %s --check-prefix=TILES

// Filters of bf16 lie in pairs of neighbouring channels, of which there are 32 or more and an even number; others stay as they are. Those of f16 have the order of f32.
// CHECK-LABEL: func.func @main
// CHECK: kernel.pack %{{.*}} n = 40 : i64, nStride = 576 : i64, panel = 32 : i64} : tensor<40x64x3x3xf32> -> tensor<2x288x32x2xbf16>
// CHECK: %[[F:.*]] = kernel.load %{{.*}}{packed} : <bf16> -> bf16
// CHECK-NEXT: arith.extf %[[F]] : bf16 to f32
// CHECK: kernel.pack %{{.*}} : tensor<33x40x1x1xf32> -> tensor<2x20x32x2xbf16>
// CHECK: kernel.pack %{{.*}} : tensor<64x33x1x1xf32> -> tensor<2x33x32xf32>
// F16-LABEL: func.func @main
// F16: kernel.pack %{{.*}} : tensor<40x64x3x3xf32> -> tensor<2x576x32xf16>
// F16: arith.extf %{{.*}} : f16 to f32
// F16: kernel.pack %{{.*}} : tensor<33x40x1x1xf32> -> tensor<2x40x32xf16>
// F16: kernel.pack %{{.*}} : tensor<64x33x1x1xf32> -> tensor<2x33x32xf16>
// Filters for tiles of results are of f32.
// TILES-LABEL: func.func @main
// TILES: kernel.pack %{{.*}}winograd{{.*}} -> tensor<2x{{[0-9]+}}x32xf32>
func.func @main(%x: tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xf32> {
  %w = lathe.constant dense_resource<w> : tensor<40x64x3x3xf32>
  %u = lathe.constant dense_resource<u> : tensor<33x40x1x1xf32>
  %v = lathe.constant dense_resource<v> : tensor<64x33x1x1xf32>
  %0 = lathe.transpose %x [0, 3, 1, 2] : tensor<1x8x8x64xf32> -> tensor<1x64x8x8xf32>
  %1 = lathe.conv %0, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x64x8x8xf32>, tensor<40x64x3x3xf32> -> tensor<1x40x8x8xf32>
  %2 = lathe.conv %1, %u strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x40x8x8xf32>, tensor<33x40x1x1xf32> -> tensor<1x33x8x8xf32>
  %3 = lathe.conv %2, %v strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x33x8x8xf32>, tensor<64x33x1x1xf32> -> tensor<1x64x8x8xf32>
  %4 = lathe.transpose %3 [0, 2, 3, 1] : tensor<1x64x8x8xf32> -> tensor<1x8x8x64xf32>
  return %4 : tensor<1x8x8x64xf32>
}
