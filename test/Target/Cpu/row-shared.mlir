// Sums of rows that the third-level cache holds and the second one does not ask for what they will read, in a loop of their own; others do not, nor do rows
// that are read again or written. What none of a core's caches holds, and is not asked for, is read half a page a trip.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir | FileCheck %s --check-prefix=HALF
// HALF-NOT: prefetch

// The machine's facts are threads, bytes of the second-level cache and a thread's share of the third one.
// CHECK-LABEL: func.func private @lathe_k0_sums_avx512.body(
// CHECK: %[[TWICE:[0-9]+]] = arith.addi %[[BYTES:[0-9]+]], %[[BYTES]] : i64
// CHECK: %[[FAR:[0-9]+]] = arith.cmpi ugt, %[[BYTES]], %arg5 : i64
// CHECK: %[[NEAR:[0-9]+]] = arith.cmpi ugt, %arg6, %[[TWICE]] : i64
// CHECK: %[[ASK:[0-9]+]] = arith.andi %[[FAR]], %[[NEAR]] : i1
// CHECK: %[[FROM:[0-9]+]] = arith.select %[[ASK]], %c0_i64{{[_0-9]*}}, %[[END:arg[0-9]+]] : i64
// CHECK: %[[BEYOND:[0-9]+]] = arith.cmpi ugt, %{{[0-9]+}}, %arg5 : i64
// CHECK: %[[LONG:[0-9]+]] = arith.select %[[BEYOND]], %{{[0-9]+}}, %c0_i64{{[_0-9]*}} : i64
// CHECK: scf.for %{{.*}} to %[[LONG]] step %c512_i64
// CHECK-COUNT-32: llvm.load
// CHECK-NOT: llvm.load
// CHECK: scf.for %{{.*}} = %[[LONG]] to %[[FROM]] step %c128_i64
// CHECK-NOT: prefetch
// CHECK: scf.for %{{.*}} = %[[FROM]] to %[[END]] step
// CHECK-COUNT-8: "llvm.intr.prefetch"
// CHECK-NOT: prefetch
// CHECK-LABEL: func.func private @lathe_k0_sums_avx512.way1.body(
// CHECK-LABEL: func.func private @lathe_k1_norms_avx512.body(
// CHECK-NOT: prefetch
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!y = tensor<?xf32, #lathe.dims<"m">>
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1024, -1]
func.func @sums(%x: !x) -> (!y, !x) {
  %0 = kernel.generic reduction @sums axes(i = "m", j = "n") ins(%x : !x) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["j"] : f32
    kernel.store %2, %out["i"] : f32, <f32>
  }
  %3 = kernel.generic reduction @norms axes(i = "m", j = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["j"] : f32
    %4 = arith.divf %1, %2 : f32
    kernel.store %4, %out["n*i + j"] : f32, <f32>
  }
  return %0, %3 : !y, !x
}
