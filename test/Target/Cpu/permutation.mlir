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
// Rows of 512 bytes lie in few places of a cache: a line of each is finished, in four tiles, before the next rows are begun. Of 520 bytes
// lines are left unfinished.
// CHECK-LABEL: func.func private @lathe_k2_crowded_avx512.body(
// CHECK: scf.for {{.*}} step %c64_i64
// CHECK-COUNT-256: vector.shuffle {{.*}} : vector<16xi8>, vector<16xi8>
// CHECK-NOT: vector.shuffle
// CHECK: scf.for {{.*}} step %c16_i64
// CHECK-LABEL: func.func private @lathe_k3_spread_avx512.body(
// CHECK-NOT: step %c64_i64
// CHECK-LABEL: func.func @lathe_k3_spread_avx512(
// Of open length either side may be shorter than a tile: tiles of eight and of four follow, and elements one by one.
// CHECK-LABEL: func.func private @lathe_k4_open_avx512.body(
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: vector.shuffle {{.*}} : vector<4xf32>, vector<4xf32>
// CHECK: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// A value that is stored in both ways is computed along the operand's rows, stored so, and transposed.
// CHECK-LABEL: func.func private @lathe_k5_both_avx512.body(
// CHECK-NOT: gather
// CHECK-NOT: scatter
// CHECK: %[[ROW:.*]] = arith.maximumf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: llvm.store %[[ROW]], {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK-LABEL: func.func @lathe_k5_both_avx512(
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
func.func @crowded(%a0: tensor<?xi8>) {
  %r0 = kernel.generic loop @crowded axes(j = "512", i = "512") ins(%a0 : tensor<?xi8>) outs(tensor<?xi8>) {
  ^bb0(%in0: !kernel.ref<i8>, %out0: !kernel.ref<i8>):
    %x = kernel.load %in0["512*j + i"] : <i8> -> i8
    kernel.store %x, %out0["512*i + j"] : i8, <i8>
  }
  return
}
func.func @spread(%a0: tensor<?xi8>) {
  %r0 = kernel.generic loop @spread axes(j = "520", i = "512") ins(%a0 : tensor<?xi8>) outs(tensor<?xi8>) {
  ^bb0(%in0: !kernel.ref<i8>, %out0: !kernel.ref<i8>):
    %x = kernel.load %in0["512*j + i"] : <i8> -> i8
    kernel.store %x, %out0["520*i + j"] : i8, <i8>
  }
  return
}
func.func @open(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @open axes(j = "J", i = "I") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["I*j + i"] : <f32> -> f32
    kernel.store %x, %out0["J*i + j"] : f32, <f32>
  }
  return
}
func.func @both(%a0: tensor<?xf32>) {
  %r0:2 = kernel.generic loop @both axes(i = "96", j = "64") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>, %out1: !kernel.ref<f32>):
    %x = kernel.load %in0["64*i + j"] : <f32> -> f32
    %zero = arith.constant 0.0 : f32
    %y = arith.maximumf %x, %zero : f32
    kernel.store %y, %out0["64*i + j"] : f32, <f32>
    kernel.store %y, %out1["96*j + i"] : f32, <f32>
  }
  return
}
