// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=AVX512
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=AVX2
// RUN: lathe-kernel %s --variant=baseline --emit=asm | FileCheck %s --check-prefix=SSE2

// A row times codes of 4 bits: a shift, a choice among the sixteen numbers and a multiply-add for a vector of columns; the scale of a
// block multiplies the block's sum. Without a choice among sixteen the code is masked and converted.
// AVX512-LABEL: decode_avx512.body:
// AVX512: vpsr{{[al]}}d ${{[0-9]+}}, %zmm
// AVX512: vperm{{d|ps}} %zmm
// AVX512: vfmadd231ps {{.*}}%zmm
// AVX512-NOT: vcvtdq2ps
// AVX512-NOT: vgather
// AVX512: ret
// AVX2-LABEL: decode_avx2.body:
// AVX2: vcvtdq2ps {{.*}}%ymm
// AVX2-NOT: vgather
// AVX2: ret
// SSE2-LABEL: decode_baseline.body:
// SSE2: cvtdq2ps
func.func @main(%x: tensor<1x128xf32>, %w: tensor<2x4x4x1x32xi32>, %s: tensor<2x4x1x1x32xf32>) {
  %0 = kernel.generic reduction @decode axes(m = "1", p = "2", n = "32", b = "4", w = "4", c = "8")
      ins(%x, %w, %s : tensor<1x128xf32>, tensor<2x4x4x1x32xi32>, tensor<2x4x1x1x32xf32>) outs(tensor<1x64xf32>) {
  ^bb0(%xr: !kernel.ref<f32>, %wr: !kernel.ref<i32>, %sr: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %xr["128*m + 32*b + 8*w + c"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %wr["512*p + 128*b + 32*w + n"] : !kernel.ref<i32> -> i32
    %3 = kernel.index "4*c"
    %4 = arith.trunci %3 : i64 to i32
    %5 = arith.shrsi %2, %4 : i32
    %c15 = arith.constant 15 : i32
    %6 = arith.andi %5, %c15 : i32
    %7 = arith.sitofp %6 : i32 to f32
    %c8 = arith.constant 8.0 : f32
    %8 = arith.subf %7, %c8 : f32
    %9 = kernel.load %sr["128*p + 32*b + n"] : !kernel.ref<f32> -> f32
    %10 = arith.mulf %8, %9 : f32
    %11 = arith.mulf %1, %10 : f32
    %12 = kernel.reduce add %11 over ["b", "w", "c"] : f32
    kernel.store %12, %o["64*m + 32*p + n"] : f32, !kernel.ref<f32>
  }
  return
}
