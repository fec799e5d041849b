// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s

// Sums down the columns of a matrix: eight vectors of each row, and of the rest as many as halves of that fit, since every loop walks all
// rows. 104 columns are 64 + 32 + 8.

// CHECK-LABEL: func.func private @lathe_k0_columns_avx2.body(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: scf.for {{.*}} -> (vector<8xf32>)
// CHECK-LABEL: func.func @lathe_k0_columns_avx2_plan
func.func @f(%a0: tensor<?xf32>) {
  %r0 = kernel.generic reduction @columns axes(c = "104", n = "100") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["104*n + c"] : !kernel.ref<f32> -> f32
    %s = kernel.reduce add %x over ["n"] : f32
    kernel.store %s, %out0["c"] : f32, !kernel.ref<f32>
  }
  return
}
