// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// An element of each of two images in turn, to an odd number of them: a vector of results is woven from half a vector of each image, the last one under
// masks of halves. Two numbers in turn are loaded once each. What begins in the middle of a round would be gathered.
// CHECK-LABEL: func.func private @lathe_k0_woven_avx512.body(
// CHECK: %[[OVER:.*]] = arith.remui %{{.*}}, %c2_{{.*}} : i64
// CHECK: arith.cmpi eq, %[[OVER]],
// CHECK: %[[EVEN:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK: %[[ODD:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK: vector.shuffle %[[EVEN]], %[[ODD]] [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
// CHECK: %[[ONE:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: %[[OTHER:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: vector.shuffle %[[ONE]], %[[OTHER]] [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
// CHECK-LABEL: func.func @lathe_k0_woven_avx512(
// Of three in turn no vector is made.
// CHECK-LABEL: func.func private @lathe_k1_three_avx512.body(
// CHECK-NOT: vector.shuffle
// CHECK-LABEL: func.func @lathe_k1_three_avx512(
func.func @f(%a0: tensor<?xf32>, %a1: tensor<?xf32>) {
  %r0 = kernel.generic loop @woven axes(r = "R", i = "2*N - 1") ins(%a0, %a1 : tensor<?xf32>, tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %in1: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["N*r + floordiv(i, 2) + N*R*mod(i, 2)"] : <f32> -> f32
    %b = kernel.load %in1["8*mod(i, 2)"] : <f32> -> f32
    %y = arith.addf %x, %b : f32
    kernel.store %y, %out0["2*N*r - r + i"] : f32, <f32>
  }
  %r1 = kernel.generic loop @three axes(r = "R", i = "3*N - 1") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["N*r + floordiv(i, 3) + N*R*mod(i, 3)"] : <f32> -> f32
    kernel.store %x, %out0["3*N*r - r + i"] : f32, <f32>
  }
  return
}
