// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s
// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=AVX512

// A row of 6 f64 takes two registers of AVX2, and of the second one nothing is ever read. LLVM 19 would take its mask, known to be
// empty only as instructions are selected, for a full one and read past the end.
// CHECK-LABEL: pad_avx2.body:
// CHECK-NOT: vmov{{[au]}}p{{[sd]}} 32(%r
// CHECK: vmaskmovpd
// CHECK-NOT: vmov{{[au]}}p{{[sd]}} 32(%r
// CHECK-LABEL: pad_avx2:
// AVX512-LABEL: pad_avx512.body:
// AVX512-NOT: vmaskmovpd
// AVX512: {%k
func.func @f(%x: tensor<1x4xf64>) {
  %0 = kernel.generic loop @pad axes(i0 = "3", i1 = "6") ins(%x : tensor<1x4xf64>) outs(tensor<3x6xf64>) {
  ^bb0(%in: !kernel.ref<f64>, %out: !kernel.ref<f64>):
    %1 = kernel.index "i0 - 2"
    %zero = arith.constant 0 : i64
    %2 = arith.cmpi sge, %1, %zero : i64
    %3 = kernel.index "i1"
    %four = arith.constant 4 : i64
    %4 = arith.cmpi slt, %3, %four : i64
    %5 = arith.andi %2, %4 : i1
    %6 = kernel.load %in["4*i0 + i1 - 8"] if %5 : <f64> -> f64
    %cst = arith.constant 0.000000e+00 : f64
    %7 = arith.select %5, %6, %cst : f64
    kernel.store %7, %out["6*i0 + i1"] : f64, <f64>
  }
  return
}
