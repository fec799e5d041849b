// The first three of rows behind one another: short rows have a lane each and gather their keys; longer ones are searched one after the other. Of more
// than eight a key that comes before none of them changes none. More than sixteen are not kept in registers, nor more than four where there are sixteen of these.
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s --check-prefix=AVX2

lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [17, 9223372036854775807]
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>

// CHECK-LABEL: func.func private @lathe_k0_three_avx512.body(
// CHECK: arith.cmpi sgt, %{{.*}}, %c128_i64
// CHECK: call @lathe_select_begin
// CHECK: } else {
// CHECK: llvm.intr.masked.gather
// AVX2-LABEL: func.func private @lathe_k0_three_avx2.body(
// AVX2: gather
func.func @three(%x: !x) -> tensor<?x3xi64, #lathe.dims<"m", "3">> {
  %0 = kernel.generic sort @three axes(i = "m", j = "n", r = "3") ins(%x : !x) outs(tensor<?x3xi64, #lathe.dims<"m", "3">>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.sort %1 along "j" to "r" {descending} : f32
    kernel.store %2, %out["3*i + r"] : i64, <i64>
  }
  return %0 : tensor<?x3xi64, #lathe.dims<"m", "3">>
}

// CHECK-LABEL: func.func private @lathe_k1_columns_avx512.body(
// CHECK: scf.for
// A single row is searched along it, its keys gathered. Fewer rows than lanes are kept under a mask.
// CHECK: llvm.intr.masked.gather
// CHECK: call @lathe_select_begin
// CHECK: llvm.intr.masked.load
// CHECK: scf.if %{{.*}} -> (vector<16xi32>
// AVX2-LABEL: func.func private @lathe_k1_columns_avx2.body(
// AVX2: call @lathe_select_begin
func.func @columns(%x: !x) -> tensor<10x?xi64, #lathe.dims<"10", "n">> {
  %0 = kernel.generic sort @columns axes(i = "n", j = "m", r = "10") ins(%x : !x) outs(tensor<10x?xi64, #lathe.dims<"10", "n">>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %1 = kernel.load %a["n*j + i"] : <f32> -> f32
    %2 = kernel.sort %1 along "j" to "r" {descending} : f32
    kernel.store %2, %out["n*r + i"] : i64, <i64>
  }
  return %0 : tensor<10x?xi64, #lathe.dims<"10", "n">>
}
