// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s --check-prefix=WAYS

// What is copied in stretches of at least 8 KB is left to memcpy; the loops behind it find nothing left.
// CHECK-LABEL: @lathe_k0_repeated_{{.*}}.body(
// CHECK: %[[COUNT:.*]] = arith.subi %[[TO:.*]], %[[FROM:.*]] : i64
// CHECK: %[[LONG:.*]] = arith.cmpi sge, %[[COUNT]], %c2048
// CHECK-NEXT: scf.if %[[LONG]] {
// CHECK: "llvm.intr.memcpy"
// CHECK: }
// CHECK: arith.select %[[LONG]], %[[TO]], %[[FROM]] : i64
// Shorter ones are not, nor what is computed, nor booleans, which are 0 or 1 in results.
// CHECK-LABEL: @lathe_k1_short_{{.*}}.body(
// CHECK-NOT: memcpy
// CHECK-LABEL: @lathe_k2_scaled_{{.*}}.body(
// CHECK-NOT: memcpy
// CHECK-LABEL: @lathe_k3_booleans_{{.*}}.body(
// CHECK-NOT: memcpy
// Between the places where the operand changes stretches are copies.
// CHECK-LABEL: @lathe_k4_joined_{{.*}}.body(
// CHECK: "llvm.intr.memcpy"(%{{.*}}
// CHECK: "llvm.intr.memcpy"(%{{.*}}
// Of open length long rows alone have a call in their loop.
// CHECK-LABEL: @lathe_k5_open_{{[^.]*}}.body(
// CHECK: "llvm.intr.memcpy"
// CHECK-LABEL: @lathe_k5_open_{{[^.]*}}.way1.body(
// CHECK-NOT: memcpy
// WAYS: @open
// WAYS-SAME: #schedule.case<"1024 <= n", #schedule.plain>, #schedule.case<#schedule.rows<>>]
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [9, -1]
func.func @f(%x: tensor<20x9000xf32>, %s: tensor<20x1000xf32>, %b: tensor<20x9000xi1>, %y: tensor<20x3000xf32>, %z: tensor<?x?xi64, #lathe.dims<"m", "n">>) {
  %0 = kernel.generic loop @repeated axes(r = "5", i = "20", j = "9000") ins(%x : tensor<20x9000xf32>) outs(tensor<5x20x9000xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["9000*i + j"] : <f32> -> f32
    kernel.store %v, %out["180000*r + 9000*i + j"] : f32, <f32>
  }
  %1 = kernel.generic loop @short axes(i = "20", j = "900") ins(%s : tensor<20x1000xf32>) outs(tensor<20x900xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["1000*i + j"] : <f32> -> f32
    kernel.store %v, %out["900*i + j"] : f32, <f32>
  }
  %2 = kernel.generic loop @scaled axes(i = "20", j = "8000") ins(%x : tensor<20x9000xf32>) outs(tensor<20x8000xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["9000*i + j"] : <f32> -> f32
    %w = arith.addf %v, %v : f32
    kernel.store %w, %out["8000*i + j"] : f32, <f32>
  }
  %3 = kernel.generic loop @booleans axes(i = "20", j = "8200") ins(%b : tensor<20x9000xi1>) outs(tensor<20x8200xi1>) {
  ^bb0(%a: !kernel.ref<i1>, %out: !kernel.ref<i1>):
    %v = kernel.load %a["9000*i + j"] : <i1> -> i1
    kernel.store %v, %out["8200*i + j"] : i1, <i1>
  }
  %4 = kernel.generic loop @joined axes(i = "20", j = "12000") ins(%x, %y : tensor<20x9000xf32>, tensor<20x3000xf32>) outs(tensor<20x12000xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %c: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %place = kernel.index "j"
    %end = arith.constant 9000 : i64
    %first = arith.cmpi slt, %place, %end : i64
    %v = kernel.load %a["9000*i + j"] if %first : <f32> -> f32
    %second = arith.cmpi sge, %place, %end : i64
    %w = kernel.load %c["3000*i + j - 9000"] if %second : <f32> -> f32
    %u = arith.select %second, %w, %v : f32
    kernel.store %u, %out["12000*i + j"] : f32, <f32>
  }
  %5 = kernel.generic loop @open axes(r = "7", i = "m", j = "n") ins(%z : tensor<?x?xi64, #lathe.dims<"m", "n">>) outs(tensor<7x?x?xi64, #lathe.dims<"7", "m", "n">>) {
  ^bb0(%a: !kernel.ref<i64>, %out: !kernel.ref<i64>):
    %v = kernel.load %a["n*i + j"] : <i64> -> i64
    kernel.store %v, %out["n*m*r + n*i + 2*i + j"] : i64, <i64>
  }
  return
}
