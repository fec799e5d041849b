// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// Of a tensor that may be repeated the first and the last lane say whether a vector's elements lie side by side, or are one; else they are
// gathered. Lanes run along the axis where they mostly lie side by side.
// CHECK-LABEL: func.func private @lathe_k0_repeated_avx512.body(
// CHECK: %[[SIDE:.*]] = arith.cmpi eq, %[[MOVED:[^,]*]], %{{.*}} : i64
// CHECK-NEXT: scf.if %[[SIDE]] -> (vector<16xf32>)
// CHECK-NEXT: llvm.load {{.*}} -> vector<16xf32>
// CHECK: } else {
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[MOVED]], %c0
// CHECK: scf.if %[[ONE]] -> (vector<16xf32>)
// CHECK: llvm.load {{.*}} -> f32
// CHECK: vector.splat
// CHECK: } else {
// CHECK: llvm.intr.masked.gather
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr

// A period that ends may bring the last lane back to the first one: only elements side by side are known by them.
// CHECK-LABEL: func.func private @lathe_k1_tiled_avx512.body(
// CHECK: scf.if {{.*}} -> (vector<16xf32>)
// CHECK-NEXT: llvm.load {{.*}} -> vector<16xf32>
// CHECK: } else {
// CHECK-NOT: llvm.load {{.*}} -> f32
// CHECK: llvm.intr.masked.gather

// One element that some lanes want is read where any of them does.
// CHECK-LABEL: func.func private @lathe_k2_wanted_avx512.body(
// CHECK: %[[ANY:.*]] = "llvm.intr.vector.reduce.or"
// CHECK: scf.if %[[ANY]] -> (vector<16xf32>)
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.intr.masked.gather
// CHECK-LABEL: func.func @lathe_k2_wanted_avx512(
lathe.symbol "R" range [1, 9223372036854775807]
lathe.symbol "K" range [1, 9223372036854775807]
lathe.symbol "N" range [9, 9223372036854775807]
lathe.symbol "n" range [9, 9223372036854775807]
func.func @f(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @repeated axes(r = "R", i = "N") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["n*r + min(i, n - 1)"] : <f32> -> f32
    kernel.store %x, %out0["N*r + i"] : f32, <f32>
  }
  %r1 = kernel.generic loop @tiled axes(r = "R", i = "N") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["n*r + mod(i, n)"] : <f32> -> f32
    kernel.store %x, %out0["N*r + i"] : f32, <f32>
  }
  %r2 = kernel.generic loop @wanted axes(r = "R", i = "N") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %i = kernel.index "i"
    %k = kernel.index "K"
    %p = arith.cmpi sgt, %i, %k : i64
    %x = kernel.load %in0["r"] if %p : !kernel.ref<f32> -> f32
    %one = arith.constant 1.0 : f32
    %y = arith.select %p, %x, %one : f32
    kernel.store %y, %out0["N*r + i"] : f32, <f32>
  }
  return
}
