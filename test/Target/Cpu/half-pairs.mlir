// RUN: lathe-opt %s --lathe-pack-weights="panel=32 precision=bf16" | lathe-kernel - --variant=avx512 --emit=asm | FileCheck %s
// RUN: lathe-opt %s --lathe-pack-weights="panel=32" | lathe-kernel - --variant=avx512 --emit=asm | FileCheck %s --check-prefix=SINGLE
// RUN: lathe-opt %s --lathe-pack-weights="panel=32 precision=bf16" | lathe-kernel - --variant=avx2 --emit=asm | FileCheck %s --check-prefix=AVX2

// Weights of bf16 that several tiles of rows are multiplied with: rows are rounded, too, where two products and their sum are one instruction,
// and the loop over the points has a spread word of each row and nothing that converts.
// CHECK-LABEL: product_avx512.body:
// CHECK-NOT: vdpbf16ps
// CHECK: vfmadd{{.*}}%zmm
// CHECK-LABEL: product_avx512bf16.body:
// CHECK: vcvtne2ps2bf16
// CHECK: vdpbf16ps {{.*}}%zmm
// CHECK-NEXT: vdpbf16ps {{.*}}%zmm
// CHECK-NEXT: vbroadcastss
// CHECK-NEXT: vdpbf16ps {{.*}}%zmm
// CHECK: .size

// The same in tiles where there is a unit for them.
// CHECK-LABEL: product_avx512amx.body:
// CHECK-NOT: vdpbf16ps
// CHECK: ldtilecfg
// CHECK: vcvtne2ps2bf16
// CHECK: tdpbf16ps %tmm6, %tmm4, %tmm0
// CHECK: tdpbf16ps %tmm7, %tmm5, %tmm3
// CHECK: tilerelease

// A single tile reads each weight once, which is what takes the time: as f32.
// CHECK-LABEL: few_avx512bf16.body:
// CHECK-NOT: vdpbf16ps
// CHECK: .size

// Both operands of f16: each number is two bf16, a word of the row is multiplied once as it is and once with its halves exchanged.
// CHECK-NOT: both_avx512bf16.body:
// CHECK-LABEL: both_avx512amx.body:
// CHECK: vcvtph2ps
// CHECK: vcmpeqps
// CHECK: vprold $16
// CHECK: tdpbf16ps %tmm7, %tmm5, %tmm3
// CHECK: tileloadd
// CHECK: tdpbf16ps %tmm7, %tmm5, %tmm3
// CHECK: tilerelease

// SINGLE-NOT: avx512bf16
// SINGLE-NOT: product_avx512amx
// AVX2-NOT: bf16.body
func.func @main(%x: tensor<64x64xf32>, %z: tensor<4x64xf32>) {
  %w = lathe.constant dense<1.5> : tensor<64x64xf32>
  %0 = kernel.generic contraction @product axes(m = "64", n = "64", k = "64") ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(tensor<64x64xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["64*m + k"], %b["64*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["64*m + n"] : f32, !kernel.ref<f32>
  }
  %2 = kernel.generic contraction @few axes(m = "4", n = "64", k = "64") ins(%z, %w : tensor<4x64xf32>, tensor<64x64xf32>) outs(tensor<4x64xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %3 = kernel.contract %a["64*m + k"], %b["64*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %3, %o["64*m + n"] : f32, !kernel.ref<f32>
  }
  %h = lathe.constant dense<1.5> : tensor<64x64xf16>
  %4 = kernel.generic contraction @both axes(m = "64", n = "64", k = "64") ins(%x, %h : tensor<64x64xf32>, tensor<64x64xf16>) outs(tensor<64x64xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f16>, %o: !kernel.ref<f32>):
    %5 = kernel.contract %a["64*m + k"], %b["64*k + n"] over ["k"] {may_round} : (!kernel.ref<f32>, !kernel.ref<f16>) -> f32
    kernel.store %5, %o["64*m + n"] : f32, !kernel.ref<f32>
  }
  return
}
