// What a pass over a row computes is kept for the next one where computing it again would take long for every vector: the exponential of a softmax. A mean
// over an open number is a quotient, but one of the whole row, and squares are needed by nobody but their sum: a norm keeps nothing.
// It lies in scratch memory, which stays in the cache from row to row; of a row that does not fit there, or is the only one, where the result comes, which
// the last pass overwrites, if that has its type.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir | FileCheck %s --check-prefix=AVX2

lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [257, 9223372036854775807]
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!half = tensor<300000xf16>
!long = tensor<?x300000xf32, #lathe.dims<"m", "300000">>

// CHECK-LABEL: func.func private @lathe_k0_norm_avx512.body
// CHECK-SAME: %[[scratch:arg[0-9]+]]: !llvm.ptr {llvm.noalias}) {
// CHECK-NOT: %[[scratch]]
// CHECK: return
func.func @norm(%x: !x) -> !x {
  %0 = kernel.generic reduction @norm axes(i = "m", j = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["j"] : f32
    %n = kernel.index "n"
    %count = arith.sitofp %n : i64 to f32
    %mean = arith.divf %2, %count : f32
    %3 = arith.subf %1, %mean : f32
    %4 = arith.mulf %3, %3 : f32
    %5 = kernel.reduce add %4 over ["j"] : f32
    %6 = math.rsqrt %5 : f32
    %7 = arith.mulf %3, %6 : f32
    kernel.store %7, %out["n*i + j"] : f32, <f32>
  }
  return %0 : !x
}

// Of open length a run decides, once for a row. Where a vector is half a line, lines of results are asked for where rows are long; where they are not, the place
// that is asked for is one of scratch memory.
// CHECK-LABEL: func.func private @lathe_k1_softmax_avx512.body
// CHECK-SAME: %arg1: !llvm.ptr {llvm.noalias}, %[[m:arg[0-9]+]]: i64
// CHECK-SAME: %[[scratch:arg[0-9]+]]: !llvm.ptr {llvm.noalias}) {
// CHECK: %[[kept:[0-9]+]] = llvm.getelementptr %[[scratch]]
// CHECK: %[[alone:[0-9]+]] = arith.cmpi eq, %[[m]], %c1_i64
// CHECK: %[[long:[0-9]+]] = arith.cmpi ugt, %{{.*}}, %c1048576_i64
// CHECK: %[[either:[0-9]+]] = arith.ori %[[alone]], %[[long]] : i1
// CHECK: %[[row:[0-9]+]] = arith.select %[[either]], %{{[0-9]+}}, %[[kept]] : !llvm.ptr
// CHECK: llvm.getelementptr %[[row]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// AVX2-LABEL: func.func private @lathe_k1_softmax_avx2.body
// AVX2: %[[n:.*]] = arith.cmpi ugt, %arg3, %c4095_i64
// AVX2: %[[row:[0-9]+]] = arith.select %[[n]], %{{[0-9]+}}, %arg9 : !llvm.ptr
// AVX2: %[[place:[0-9]+]] = llvm.getelementptr %[[row]][
// AVX2-NEXT: "llvm.intr.prefetch"(%[[place]]) <{{.*}}rw = 1
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

// CHECK-LABEL: func.func private @lathe_k2_halves_avx512.body
// CHECK-SAME: %[[scratch:arg[0-9]+]]: !llvm.ptr {llvm.noalias}) {
// CHECK: llvm.getelementptr %[[scratch]]
func.func @halves(%x: tensor<300000xf32>) -> !half {
  %0 = kernel.generic reduction @halves axes(j = "300000") ins(%x : tensor<300000xf32>) outs(!half) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f16>):
    %1 = kernel.load %a["j"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["j"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = kernel.reduce add %4 over ["j"] : f32
    %6 = arith.divf %4, %5 : f32
    %7 = arith.truncf %6 : f32 to f16
    kernel.store %7, %out["j"] : f16, <f16>
  }
  return %0 : !half
}

// CHECK-LABEL: func.func private @lathe_k3_long_avx512.body
// CHECK-SAME: %[[scratch:arg[0-9]+]]: !llvm.ptr {llvm.noalias}) {
// CHECK-NOT: %[[scratch]]
// CHECK: return
func.func @long(%x: !long) -> !long {
  %0 = kernel.generic reduction @long axes(i = "m", j = "300000") ins(%x : !long) outs(!long) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["300000*i + j"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["j"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = kernel.reduce add %4 over ["j"] : f32
    %6 = arith.divf %4, %5 : f32
    kernel.store %6, %out["300000*i + j"] : f32, <f32>
  }
  return %0 : !long
}
