// A row that is read again while functions of it are computed: the next one comes in the meantime, where it has about a page or more and the first
// cache has room for both. A known length that is out of these bounds asks for nothing.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s

lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [257, 9223372036854775807]
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!long = tensor<?x8192xf32, #lathe.dims<"m", "8192">>

// CHECK-LABEL: func.func private @lathe_k0_softmax_avx512.body
// CHECK: %[[bytes:.*]] = arith.muli %{{.*}}, %c4_i64
// CHECK: arith.constant 3072 : i64
// CHECK: %[[over:.*]] = arith.subi %[[bytes]], %c3072_i64
// CHECK: %[[fits:.*]] = arith.cmpi ule, %[[over]], %c13312_i64
// CHECK: %[[ahead:.*]] = arith.select %[[fits]], %[[bytes]], %c0_i64
// CHECK: "llvm.intr.prefetch"(%{{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
func.func @softmax(%x: !x) -> !x {
  %0 = kernel.generic reduction @softmax axes(i = "m", j = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["j"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = kernel.reduce add %4 over ["j"] : f32
    %6 = arith.divf %4, %5 : f32
    kernel.store %6, %out["n*i + j"] : f32, <f32>
  }
  return %0 : !x
}

// CHECK-LABEL: func.func private @lathe_k1_long_avx512.body
// CHECK-NOT: rw = 0 : i32
// CHECK: "llvm.intr.prefetch"(%{{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 1 : i32}>
// CHECK-NOT: rw = 0 : i32
func.func @long(%x: !long) -> !long {
  %0 = kernel.generic reduction @long axes(i = "m", j = "8192") ins(%x : !long) outs(!long) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["8192*i + j"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["j"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = kernel.reduce add %4 over ["j"] : f32
    %6 = arith.divf %4, %5 : f32
    kernel.store %6, %out["8192*i + j"] : f32, <f32>
  }
  return %0 : !long
}
