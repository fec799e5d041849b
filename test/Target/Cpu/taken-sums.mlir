// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s
// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=WIDE

// A product of 48 points: a vector of sums is added to what the epilogue reads and stored, as it leaves its register. One of 512 points goes through a
// tile on the stack, which is nothing beside its products.
// CHECK-LABEL: shallow_avx2.body:
// CHECK: vfmadd231ps
// CHECK-NOT: vmov{{[a-z]+}} %ymm{{[0-9]+}}, {{.*}}(%rsp
// CHECK: .size
// CHECK-LABEL: deep_avx2.body:
// CHECK: vfmadd231ps
// CHECK: vmov{{[a-z]+}} %ymm{{[0-9]+}}, {{.*}}(%rsp
// CHECK: .size
// WIDE-LABEL: shallow_avx512.body:
// WIDE: vfmadd231ps
// WIDE-NOT: vmov{{[a-z]+}} %zmm{{[0-9]+}}, {{.*}}(%rsp
// WIDE: .size
// WIDE-LABEL: deep_avx512.body:
// WIDE: vfmadd231ps
// WIDE: vmov{{[a-z]+}} %zmm{{[0-9]+}}, {{.*}}(%rsp
// WIDE: .size
func.func @main(%x: tensor<60x48xf32>, %w: tensor<48x64xf32>, %z: tensor<60x512xf32>, %v: tensor<512x64xf32>, %bias: tensor<64xf32>) {
  %0 = kernel.generic contraction @shallow axes(m = "60", n = "64", k = "48") ins(%x, %w, %bias : tensor<60x48xf32>, tensor<48x64xf32>, tensor<64xf32>) outs(tensor<60x64xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %c: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["48*m + k"], %b["64*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    %2 = kernel.load %c["n"] : !kernel.ref<f32> -> f32
    %3 = arith.addf %1, %2 : f32
    kernel.store %3, %o["64*m + n"] : f32, !kernel.ref<f32>
  }
  %4 = kernel.generic contraction @deep axes(m = "60", n = "64", k = "512") ins(%z, %v, %bias : tensor<60x512xf32>, tensor<512x64xf32>, tensor<64xf32>) outs(tensor<60x64xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %c: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %5 = kernel.contract %a["512*m + k"], %b["64*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    %6 = kernel.load %c["n"] : !kernel.ref<f32> -> f32
    %7 = arith.addf %5, %6 : f32
    kernel.store %7, %o["64*m + n"] : f32, !kernel.ref<f32>
  }
  return
}
