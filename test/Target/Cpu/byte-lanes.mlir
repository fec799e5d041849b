// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

// Bytes that lie side by side fill a register, also where masks end the row: 64 of them. Numbers become halves through f32, and exponentials
// are computed in it: sixteen.
// CHECK-LABEL: func.func private @lathe_k0_maximum_avx512.body(
// CHECK: arith.maxui {{.*}} : vector<64xi8>
// CHECK: llvm.intr.masked.store {{.*}} : vector<64xi8>
// CHECK-LABEL: func.func private @lathe_k1_halves_avx512.body(
// CHECK: arith.uitofp {{.*}} : vector<16xi8> to vector<16xf
// CHECK-LABEL: func.func private @lathe_k2_exponentials_avx512.body(
// CHECK-NOT: vector<32xf
// Every other byte takes a shuffle, which stays within sixteen.
// CHECK-LABEL: func.func private @lathe_k3_apart_avx512.body(
// CHECK: llvm.store {{.*}} : vector<16xi8>
func.func @f(%a0: tensor<?xi8>, %h0: tensor<?xf16>) {
  %r0 = kernel.generic loop @maximum axes(i = "n") ins(%a0 : tensor<?xi8>) outs(tensor<?xi8>) {
  ^bb0(%in0: !kernel.ref<i8>, %out0: !kernel.ref<i8>):
    %x = kernel.load %in0["i"] : <i8> -> i8
    %c = arith.constant 7 : i8
    %m = arith.maxui %x, %c : i8
    kernel.store %m, %out0["i"] : i8, <i8>
  }
  %r1 = kernel.generic loop @halves axes(i = "n") ins(%a0 : tensor<?xi8>) outs(tensor<?xf16>) {
  ^bb0(%in0: !kernel.ref<i8>, %out0: !kernel.ref<f16>):
    %x = kernel.load %in0["i"] : <i8> -> i8
    %h = arith.uitofp %x : i8 to f16
    kernel.store %h, %out0["i"] : f16, <f16>
  }
  %r2 = kernel.generic loop @exponentials axes(i = "n") ins(%h0 : tensor<?xf16>) outs(tensor<?xf16>) {
  ^bb0(%in0: !kernel.ref<f16>, %out0: !kernel.ref<f16>):
    %x = kernel.load %in0["i"] : <f16> -> f16
    %e = math.exp %x : f16
    kernel.store %e, %out0["i"] : f16, <f16>
  }
  %r3 = kernel.generic loop @apart axes(i = "n") ins(%a0 : tensor<?xi8>) outs(tensor<?xi8>) {
  ^bb0(%in0: !kernel.ref<i8>, %out0: !kernel.ref<i8>):
    %x = kernel.load %in0["2*i"] : <i8> -> i8
    kernel.store %x, %out0["i"] : i8, <i8>
  }
  return
}
