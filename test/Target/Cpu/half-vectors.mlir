// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters | lathe-kernel - --variant=avx512 --emit=asm | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters | lathe-kernel - --variant=avx2 --emit=asm | FileCheck %s --check-prefix=AVX2

// 24 columns are a vector and a half of 16 lanes: elements of two rows are spread, and their last eight columns are products of one register, which has
// the one row's element in its first half and the other's in its second.
// CHECK-LABEL: cast_avx512.body:
// CHECK: vbroadcastf64x4 {{.*}}, %zmm[[HALVES:[0-9]+]]
// CHECK: vbroadcastss {{.*}}, %zmm[[FIRST:[0-9]+]]
// CHECK: vfmadd{{.*}} %zmm[[FIRST]]
// CHECK: vbroadcastss {{.*}}, %zmm[[SECOND:[0-9]+]]
// CHECK: vfmadd{{.*}} %zmm[[SECOND]]
// CHECK: vinsertf64x4 $1, %ymm[[SECOND]], %zmm[[FIRST]], %zmm[[BOTH:[0-9]+]]
// CHECK: vfmadd{{.*}} %zmm[[HALVES]], %zmm[[BOTH]]
// The last row of an odd number has half a vector of its own.
// CHECK: vfmadd{{.*}}%ymm
// CHECK: .size
// Three whole vectors of eight.
// AVX2-LABEL: cast_avx2.body:
// AVX2-NOT: vfmadd{{.*}}%xmm
// AVX2: .size
func.func @main(%x: tensor<1x9x9x64xf32>) -> tensor<1x9x9x24xf32> {
  %w = lathe.constant dense_resource<w> : tensor<24x64x1x1xf32>
  %1 = lathe.transpose %x [0, 3, 1, 2] : tensor<1x9x9x64xf32> -> tensor<1x64x9x9xf32>
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x64x9x9xf32>, tensor<24x64x1x1xf32> -> tensor<1x24x9x9xf32>
  %3 = lathe.transpose %2 [0, 2, 3, 1] : tensor<1x24x9x9xf32> -> tensor<1x9x9x24xf32>
  return %3 : tensor<1x9x9x24xf32>
}
