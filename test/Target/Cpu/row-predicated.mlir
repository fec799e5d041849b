// Vectors of a padded row read under masks wherever they lie, and processors do not look ahead of that: what each of them reads is asked for a kilobyte
// before. Where masks are vectors (AVX2) nothing is.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir | FileCheck %s --check-prefix=VECTORS

// VECTORS-NOT: prefetch

// CHECK-LABEL: func.func private @lathe_k0_pad_avx512.body
// CHECK: %[[place:[0-9]+]] = llvm.getelementptr %{{.*}}[%c1024_i64{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: "llvm.intr.prefetch"(%[[place]]) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
// CHECK: llvm.intr.masked.load
func.func @pad(%x: tensor<64x1024xf32>) -> tensor<64x1027xf32> {
  %0 = kernel.generic loop @pad axes(i = "64", j = "1027") ins(%x : tensor<64x1024xf32>) outs(tensor<64x1027xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.index "j - 1"
    %zero = arith.constant 0 : i64
    %2 = arith.cmpi sge, %1, %zero : i64
    %last = arith.constant 1024 : i64
    %3 = arith.cmpi slt, %1, %last : i64
    %4 = arith.andi %2, %3 : i1
    %fill = arith.constant 0.0 : f32
    %5 = kernel.load %a["1024*i + j - 1"] if %4 else %fill : <f32> else f32 -> f32
    kernel.store %5, %out["1027*i + j"] : f32, <f32>
  }
  return %0 : tensor<64x1027xf32>
}
