// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=ASM

// A transposed convolution of each channel, 2x2 with stride 2: of a row of results every other element is of the same filter place. Lanes
// run along the image, an element of which is loaded once, and the two vectors are interleaved: whole vectors are stored.
// CHECK-LABEL: func.func private @lathe_k0_transposed_avx512.body(
// CHECK: %[[X:.*]] = llvm.load %{{.*}} -> vector<16xf32>
// CHECK: %[[EVEN:.*]] = arith.mulf %[[X]], %{{.*}} : vector<16xf32>
// CHECK: %[[ODD:.*]] = arith.mulf %[[X]], %{{.*}} : vector<16xf32>
// CHECK: %[[LOW:.*]] = vector.shuffle %[[EVEN]], %[[ODD]] [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]
// CHECK: %[[HIGH:.*]] = vector.shuffle %[[EVEN]], %[[ODD]] [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
// CHECK: llvm.store %[[LOW]]
// CHECK: llvm.store %[[HIGH]]
// What is left of the row is masked alike.
// CHECK: vector.shuffle {{.*}} [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23] : vector<16xi8>, vector<16xi8>
// CHECK: llvm.intr.masked.store
// CHECK: llvm.intr.masked.store
// ASM-LABEL: lathe_k0_transposed_avx512.body:
// ASM-NOT: vscatter

// Bytes of three channels: one element after the other comes from the next channel.
// CHECK-LABEL: func.func private @lathe_k1_channels_last_avx512.body(
// CHECK-COUNT-3: llvm.load {{.*}} -> vector<16xi8>
// CHECK: vector.shuffle {{.*}} [0, 16, 2, 1, 17, 5, 2, 18, 8, 3, 19, 11, 4, 20, 14, 5] : vector<16xi8>, vector<16xi8>
// CHECK: vector.shuffle {{.*}} [0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15] : vector<16xi8>, vector<16xi8>
// CHECK-COUNT-3: llvm.store {{.*}} : vector<16xi8>, !llvm.ptr

// Where what is read lies far apart along the next axis as well, nothing would be gained.
// CHECK-LABEL: func.func private @lathe_k2_apart_avx512.body(
// CHECK-NOT: vector.shuffle
// CHECK-LABEL: func.func @lathe_k2_apart_avx512(

// Pairs that are stacked, each half with its own condition (a rotary embedding): where the place is known, so is the condition.
// CHECK-LABEL: func.func private @lathe_k3_stacked_avx512.body(
// CHECK-NOT: scatter
// CHECK: %[[SECOND:.*]] = arith.negf
// CHECK: vector.shuffle {{.*}} [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]
// CHECK-NOT: scatter
// CHECK-LABEL: func.func @lathe_k3_stacked_avx512(
func.func @f(%a0: tensor<?xf32>, %a1: tensor<?xf32>, %b0: tensor<?xi8>) {
  %r0 = kernel.generic loop @transposed axes(c = "C", i = "2", y = "56", x = "56", j = "2")
      ins(%a0, %a1 : tensor<?xf32>, tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %in1: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["3136*c + 56*y + x"] : <f32> -> f32
    %w = kernel.load %in1["4*c + 2*i + j"] : <f32> -> f32
    %p = arith.mulf %x, %w : f32
    kernel.store %p, %out0["12544*c + 224*y + 2*x + 112*i + j"] : f32, <f32>
  }
  %r1 = kernel.generic loop @channels_last axes(p = "P", c = "3") ins(%b0 : tensor<?xi8>) outs(tensor<?xi8>) {
  ^bb0(%in0: !kernel.ref<i8>, %out0: !kernel.ref<i8>):
    %x = kernel.load %in0["P*c + p"] : <i8> -> i8
    kernel.store %x, %out0["3*p + c"] : i8, <i8>
  }
  %r2 = kernel.generic loop @apart axes(p = "P", c = "3") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["9*p + c"] : <f32> -> f32
    kernel.store %x, %out0["3*p + c"] : f32, <f32>
  }
  %r3 = kernel.generic loop @stacked axes(p = "P", h = "32", c = "2") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %c = kernel.index "c"
    %one = arith.constant 1 : i64
    %first = arith.cmpi slt, %c, %one : i64
    %x = kernel.load %in0["64*p + 2*h + 2*c + 1"] if %first : <f32> -> f32
    %negative = arith.negf %x : f32
    %second = arith.cmpi sge, %c, %one : i64
    %y = kernel.load %in0["64*p + 2*h + 2*c - 2"] if %second : <f32> -> f32
    %s = arith.select %second, %y, %negative : f32
    kernel.store %s, %out0["64*p + 2*h + c"] : f32, <f32>
  }
  return
}
