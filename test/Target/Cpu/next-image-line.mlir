// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s

// What the next line of results reads first of an image that the second-level cache does not hold is requested while this one is computed: of a window of three
// lines that goes two at a time, the last two: a line of the cache for each of the 16 pixels that 8 results go by. An image that it holds is read as it lies.
// CHECK-LABEL: far_avx512.body:
// CHECK-COUNT-32: prefetcht1
// CHECK: vfmadd
// CHECK: .size
// CHECK-LABEL: near_avx512.body:
// CHECK-NOT: prefetcht1
// CHECK: .size
func.func @main(%x: tensor<113x113x96xf32>, %w: tensor<3x3x96xf32>, %z: tensor<29x29x96xf32>) {
  %0 = kernel.generic reduction @far axes(y = "56", x = "56", c = "96", i = "3", j = "3")
      ins(%x, %w : tensor<113x113x96xf32>, tensor<3x3x96xf32>) outs(tensor<56x56x96xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["21696*y + 10848*i + 192*x + 96*j + c"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %f["288*i + 96*j + c"] : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "j"] : f32
    kernel.store %4, %o["5376*y + 96*x + c"] : f32, !kernel.ref<f32>
  }
  %10 = kernel.generic reduction @near axes(y = "14", x = "14", c = "96", i = "3", j = "3")
      ins(%z, %w : tensor<29x29x96xf32>, tensor<3x3x96xf32>) outs(tensor<14x14x96xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["5568*y + 2784*i + 192*x + 96*j + c"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %f["288*i + 96*j + c"] : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i", "j"] : f32
    kernel.store %4, %o["1344*y + 96*x + c"] : f32, !kernel.ref<f32>
  }
  return
}
