// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s

// A transposed convolution: results of two columns lie between one another, and what is added to a column lies elsewhere. It is added
// to each column's vector, and the vectors are interleaved; nothing is computed element by element.
// CHECK-LABEL: conv_avx2.body:
// CHECK-NOT: vaddss
// CHECK: vaddps
// CHECK: vunpck{{[lh]}}ps
// CHECK-NOT: vaddss
// CHECK: .size
func.func @main(%x: tensor<16x40xf32>, %w: tensor<1x16x32xf32>, %b: tensor<32xf32>) {
  %0 = kernel.generic reduction @conv axes(o = "16", q = "2", j = "40", c = "16")
      ins(%x, %w, %b : tensor<16x40xf32>, tensor<1x16x32xf32>, tensor<32xf32>) outs(tensor<16x80xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %d: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %1 = kernel.load %a["40*c + j"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %f["16*o + 256*q + c"] {packed} : !kernel.ref<f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["c"] : f32
    %5 = kernel.load %d["o + 16*q"] : !kernel.ref<f32> -> f32
    %6 = arith.addf %4, %5 : f32
    kernel.store %6, %r["80*o + q + 2*j"] : f32, !kernel.ref<f32>
  }
  return
}
