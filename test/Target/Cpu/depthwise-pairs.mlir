// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s --check-prefix=SIXTEEN

// Seven pixels of a vector of channels are too few sums to hide the latency of their multiply-adds: with 32 registers two vectors are summed at a time. Lines of 14
// pixels, and 16 registers, have no room for that.
// CHECK-LABEL: func.func private @{{.*}}narrow_avx512.body(
// CHECK: scf.for {{.*}} step %c32_i64
// CHECK: %{{[0-9]+}}:14 = scf.for
// CHECK-LABEL: func.func private @{{.*}}wide_avx512.body(
// CHECK: scf.for {{.*}} step %c16_i64_{{[0-9]+}}
// CHECK: %{{[0-9]+}}:14 = scf.for
// SIXTEEN-LABEL: func.func private @{{.*}}narrow_avx2.body(
// SIXTEEN: %{{[0-9]+}}:7 = scf.for
func.func @main(%x: tensor<9x9x1152xf32>, %w: tensor<3x3x1152xf32>, %z: tensor<9x16x1152xf32>) {
  %0 = kernel.generic reduction @narrow axes(y = "7", x = "7", c = "1152", i = "3", j = "3")
      ins(%x, %w : tensor<9x9x1152xf32>, tensor<3x3x1152xf32>) outs(tensor<7x7x1152xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["10368*y + 10368*i + 1152*x + 1152*j + c"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %f["3456*i + 1152*j + c"] : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "j"] : f32
    kernel.store %4, %o["8064*y + 1152*x + c"] : f32, !kernel.ref<f32>
  }
  %10 = kernel.generic reduction @wide axes(y = "7", x = "14", c = "1152", i = "3", j = "3")
      ins(%z, %w : tensor<9x16x1152xf32>, tensor<3x3x1152xf32>) outs(tensor<7x14x1152xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["18432*y + 18432*i + 1152*x + 1152*j + c"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %f["3456*i + 1152*j + c"] : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "j"] : f32
    kernel.store %4, %o["16128*y + 1152*x + c"] : f32, !kernel.ref<f32>
  }
  return
}
