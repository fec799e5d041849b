// Results that are the keys themselves, not of all of a row, are taken from the words, whose bits say them; of floats a zero and a NaN are loaded. What is loaded at the same
// places from elsewhere, or from another place of the keys, is gathered.
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s

lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [17, 9223372036854775807]
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!i = tensor<?x?xi32, #lathe.dims<"m", "n">>

// CHECK-LABEL: func.func private @lathe_k0_whole_avx2.body(
// CHECK: call @lathe_select_end
// CHECK: %[[WORD:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<8xi64>
// CHECK: %[[HIGH:.*]] = arith.shrui %[[WORD]]
// CHECK: %[[NUMBER:.*]] = arith.trunci %[[HIGH]] : vector<8xi64> to vector<8xi32>
// CHECK: %[[KEY:.*]] = arith.xori %[[NUMBER]]
// CHECK-NOT: gather
// CHECK: llvm.store %[[KEY]]
func.func @whole(%x: !i) -> !i {
  %0 = kernel.generic sort @whole axes(i = "m", r = "n - 1", j = "n") ins(%x : !i) outs(!i) {
  ^bb0(%a: !kernel.ref<i32>, %out: !kernel.ref<i32>):
    %1 = kernel.load %a["n*i + j"] : <i32> -> i32
    %2 = kernel.sort %1 along "j" to "r" : i32
    %zero = arith.constant 0 : i64
    %3 = arith.cmpi slt, %2, %zero : i64
    %4 = kernel.index "n"
    %5 = arith.addi %2, %4 : i64
    %6 = arith.select %3, %5, %2 : i64
    %7 = kernel.index "n - 1"
    %8 = arith.minsi %6, %7 : i64
    %9 = arith.maxsi %8, %zero : i64
    %10 = kernel.load %a["n*i + $0"] indirect(%9) : <i32> -> i32
    kernel.store %10, %out["n*i + r"] : i32, <i32>
  }
  return %0 : !i
}

// CHECK-LABEL: func.func private @lathe_k1_real_avx2.body(
// CHECK: call @lathe_select_end
// CHECK: %[[UNSURE:.*]] = vector.reduction <or>, %{{.*}} : vector<8xi1> into i1
// CHECK: %[[KEY:.*]] = scf.if %[[UNSURE]] -> (vector<8xf32>)
// CHECK: gather
// CHECK: } else {
// CHECK-NEXT: scf.yield
// CHECK: llvm.store %[[KEY]]
func.func @real(%x: !x) -> !x {
  %0 = kernel.generic sort @real axes(i = "m", r = "n - 1", j = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.sort %1 along "j" to "r" {descending} : f32
    %3 = kernel.load %a["n*i + $0"] indirect(%2) : <f32> -> f32
    kernel.store %3, %out["n*i + r"] : f32, <f32>
  }
  return %0 : !x
}

// CHECK-LABEL: func.func private @lathe_k2_payload_avx2.body(
// CHECK: call @lathe_select_end
// CHECK-NOT: vector.reduction <or>
// CHECK: %[[GATHERED:.*]] = llvm.intr.masked.gather
// CHECK: llvm.store %[[GATHERED]]
func.func @payload(%x: !x, %y: !x) -> !x {
  %0 = kernel.generic sort @payload axes(i = "m", r = "n", j = "n") ins(%x, %y : !x, !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.sort %1 along "j" to "r" {descending} : f32
    %3 = kernel.load %b["n*i + $0"] indirect(%2) : <f32> -> f32
    kernel.store %3, %out["n*i + r"] : f32, <f32>
  }
  return %0 : !x
}

// CHECK-LABEL: func.func private @lathe_k3_mirrored_avx2.body(
// CHECK: call @lathe_select_end
// CHECK-NOT: vector.reduction <or>
// CHECK: %[[GATHERED:.*]] = llvm.intr.masked.gather
// CHECK: llvm.store %[[GATHERED]]
func.func @mirrored(%x: !x) -> !x {
  %0 = kernel.generic sort @mirrored axes(i = "m", r = "n", j = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.sort %1 along "j" to "r" {descending} : f32
    %3 = kernel.load %a["n*i + n - 1 - $0"] indirect(%2) : <f32> -> f32
    kernel.store %3, %out["n*i + r"] : f32, <f32>
  }
  return %0 : !x
}
