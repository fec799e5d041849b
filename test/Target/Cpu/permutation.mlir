// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// 900 rows of four become four of 900: tiles of four by four. Six rows of 900 become 900 of six, of which a tile would leave two, which gather:
// whole vectors are read along each of the six, and interleaved.
// CHECK-LABEL: func.func private @lathe_k0_four_avx512.body(
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK: vector.shuffle {{.*}} : vector<4xf32>, vector<4xf32>
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr
// CHECK-LABEL: func.func private @lathe_k1_six_avx512.body(
// CHECK-NOT: gather
// CHECK-COUNT-6: llvm.load {{.*}} -> vector<16xf32>
// CHECK: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK-COUNT-6: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK-NOT: gather
// CHECK-LABEL: func.func @lathe_k1_six_avx512(
func.func @four(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @four axes(j = "900", i = "4") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["4*j + i"] : <f32> -> f32
    kernel.store %x, %out0["900*i + j"] : f32, <f32>
  }
  return
}
func.func @six(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @six axes(j = "900", i = "6") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["900*i + j"] : <f32> -> f32
    kernel.store %x, %out0["6*j + i"] : f32, <f32>
  }
  return
}
