// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters="winograd=false precision=bf16" | lathe-kernel - --variant=avx512 --emit=asm | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters="winograd=false precision=bf16" | lathe-kernel - --variant=avx2 --emit=asm | FileCheck %s --check-prefix=AVX2
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters="winograd=false precision=f16" | lathe-kernel - --variant=avx512 --emit=asm | FileCheck %s --check-prefix=F16

// A filter in pairs of bf16: without products of such pairs the words of a panel are two vectors of f32, by a shift and a mask; with them a block's rows are
// rounded as they are copied. A word that waits for its second half would take one of sixteen registers: it is read again.
// CHECK-LABEL: cast_avx512.body:
// CHECK-NOT: vdpbf16ps
// CHECK: vpslld $16
// CHECK: vfmadd{{.*}}%zmm
// CHECK: .size
// CHECK-LABEL: cast_avx512bf16.body:
// CHECK: vcvtneps2bf16
// CHECK: vdpbf16ps {{.*}}%zmm
// CHECK-NEXT: vdpbf16ps {{.*}}%zmm
// CHECK-NOT: vpslld
// CHECK: .size
// The same rows and words are loaded as tiles where there is a unit for them.
// CHECK-LABEL: cast_avx512amx.body:
// CHECK-NOT: vdpbf16ps
// CHECK: vcvtneps2bf16
// CHECK: ldtilecfg
// CHECK: tdpbf16ps %tmm6, %tmm4, %tmm0
// CHECK: tdpbf16ps %tmm7, %tmm5, %tmm3
// CHECK: tilerelease
// AVX2-LABEL: cast_avx2.body:
// AVX2: vpslld $16
// AVX2-NOT: vmov{{[a-z]+}} %ymm{{[0-9]+}}, {{[-0-9x]*}}(%rsp)
// AVX2: .size
// F16-LABEL: cast_avx512.body:
// F16: vcvtph2ps
// F16: vfmadd{{.*}}%zmm
// F16: .size
func.func @main(%x: tensor<1x9x9x64xf32>) -> tensor<1x9x9x64xf32> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x1x1xf32>
  %1 = lathe.transpose %x [0, 3, 1, 2] : tensor<1x9x9x64xf32> -> tensor<1x64x9x9xf32>
  %2 = lathe.conv %1, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x64x9x9xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x9x9xf32>
  %3 = lathe.transpose %2 [0, 2, 3, 1] : tensor<1x64x9x9xf32> -> tensor<1x9x9x64xf32>
  return %3 : tensor<1x9x9x64xf32>
}
