// A row that stays in registers is written all at once: its lines are asked for while it is computed, where the second-level cache has no room for what is read.
// Their places are told from the row's first element.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir | FileCheck %s --check-prefix=HALF

lathe.symbol "m" range [1, 9223372036854775807]
!x = tensor<?x32xf32, #lathe.dims<"m", "32">>

// Two lines eight rows later, which are read; two of this row, which are written.
// CHECK-LABEL: func.func private @lathe_k0_centred_avx512.body
// CHECK: scf.if {{.*}} {
// CHECK-COUNT-2: "llvm.intr.prefetch"({{.*}}rw = 0 : i32
// CHECK: %[[ROW:[0-9]+]] = llvm.getelementptr inbounds %arg1[
// CHECK: %[[FIRST:[0-9]+]] = llvm.getelementptr %[[ROW]][%c0{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT: "llvm.intr.prefetch"(%[[FIRST]]) <{{.*}}rw = 1 : i32
// CHECK: %[[SECOND:[0-9]+]] = llvm.getelementptr %[[ROW]][%c64{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT: "llvm.intr.prefetch"(%[[SECOND]]) <{{.*}}rw = 1 : i32
// CHECK-NOT: "llvm.intr.prefetch"
// HALF-LABEL: func.func private @lathe_k0_centred_avx2.body
// HALF-NOT: "llvm.intr.prefetch"
func.func @centred(%x: !x) -> !x {
  %0 = kernel.generic reduction @centred axes(i = "m", j = "32") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["32*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["j"] : f32
    %3 = arith.subf %1, %2 : f32
    kernel.store %3, %out["32*i + j"] : f32, <f32>
  }
  return %0 : !x
}
