// What a vector under a mask reads is asked for eight rows before: processors do not look ahead of it. Of whole vectors only those that are lines. What the second-level cache
// has room for is not asked for.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir | FileCheck %s --check-prefix=HALF

lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [1, 64] hints [24, 64]
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!y = tensor<?xf32, #lathe.dims<"m">>

// Of 17 to 32 columns the second vector may end early; of 64 none does.
// CHECK-LABEL: func.func private @lathe_k0_sums_avx512.body
// CHECK: %[[FAR:[0-9]+]] = arith.cmpi ugt, %{{.*}}, %arg5 : i64
// CHECK-NEXT: scf.if %[[FAR]] {
// CHECK: "llvm.intr.prefetch"
// CHECK-LABEL: func.func private @lathe_k0_sums_avx512.way1.body
// CHECK-COUNT-4: "llvm.intr.prefetch"
// CHECK: return
// HALF-LABEL: func.func private @lathe_k0_sums_avx2.body
// HALF-NOT: "llvm.intr.prefetch"
// HALF-LABEL: func.func private @lathe_k0_sums_avx2.way1.body
func.func @sums(%x: !x) -> !y {
  %0 = kernel.generic reduction @sums axes(i = "m", j = "n") ins(%x : !x) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["j"] : f32
    kernel.store %2, %out["i"] : f32, <f32>
  }
  return %0 : !y
}
