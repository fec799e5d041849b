// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// Elements that stand in two and in eight places in turn: shorter vectors, whose elements go to so many lanes each where the first lane is the first of such
// places. What goes further than a vector is one element.
// CHECK-LABEL: func.func private @lathe_k0_repeated_avx512.body(
// CHECK: arith.remui %{{.*}}, %c2{{.*}} : i64
// CHECK: scf.if %{{.*}} -> (vector<16xf32>)
// CHECK: llvm.load %{{.*}} -> vector<8xf32>
// CHECK-NEXT: vector.shuffle %{{.*}} [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
// CHECK: } else {
// CHECK: llvm.intr.masked.gather
// CHECK: llvm.load %{{.*}} -> vector<2xf32>
// CHECK-NEXT: vector.shuffle %{{.*}} [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
// CHECK: arith.remui %{{.*}}, %c16{{.*}} : i64
// CHECK: llvm.load %{{.*}} -> f32
// CHECK-NEXT: vector.splat
// What a row leaves over: every eighth lane of the mask.
// CHECK: vector.shuffle %{{.*}} [0, 8] : vector<16xi1>
// CHECK: llvm.intr.masked.load %{{.*}} -> vector<2xf32>
// CHECK-LABEL: func.func @lathe_k0_repeated_avx512_plan
lathe.symbol "R" range [1, 9223372036854775807]
func.func @f(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @repeated axes(r = "R", i = "184") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["184*r + floordiv(i, 2)"] : <f32> -> f32
    %y = kernel.load %in0["184*r + floordiv(i, 8)"] : <f32> -> f32
    %z = kernel.load %in0["184*r + floordiv(i, 32)"] : <f32> -> f32
    %s = arith.addf %x, %y : f32
    %t = arith.addf %s, %z : f32
    kernel.store %t, %out0["184*r + i"] : f32, <f32>
  }
  return
}
