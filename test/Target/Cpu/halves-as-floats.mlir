// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s
// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s

// What is chosen by a comparison of f16 is compared as f32. LLVM 19 would call fmaxf, which an artifact does not have.
// CHECK-LABEL: relu_avx{{.*}}.body:
// CHECK-NOT: fmaxf
// CHECK: {{vucomiss|vcmp[a-z]*ps}}
// CHECK-NOT: fmaxf
// CHECK: .size
func.func @f(%x: tensor<3x5xf16>) {
  %0 = kernel.generic loop @relu axes(i0 = "3", i1 = "5") ins(%x : tensor<3x5xf16>) outs(tensor<5x3xi32>) {
  ^bb0(%in: !kernel.ref<f16>, %out: !kernel.ref<i32>):
    %1 = kernel.load %in["5*i0 + mod(7*i1*i1, 5)"] : <f16> -> f16
    %zero = arith.constant 0.0 : f16
    %2 = arith.cmpf ogt, %1, %zero : f16
    %3 = arith.select %2, %1, %zero : f16
    %4 = arith.extf %3 : f16 to f32
    %5 = arith.fptosi %4 : f32 to i32
    kernel.store %5, %out["3*i1 + i0"] : i32, <i32>
  }
  return
}

// A floor between conversions is not taken for one of f16, whose lanes would be rounded one by one.
// CHECK-LABEL: floor_avx{{.*}}.body:
// CHECK-NOT: vround{{p|s}}s{{.*}}xmm
// CHECK-NOT: vroundss
// CHECK: {{vroundps|vrndscaleps}}
// CHECK-NOT: vroundss
// CHECK: .size
func.func @g(%x: tensor<4096xf16>) {
  %0 = kernel.generic loop @floor axes(i0 = "4096") ins(%x : tensor<4096xf16>) outs(tensor<4096xf16>) {
  ^bb0(%in: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.load %in["i0"] : <f16> -> f16
    %2 = math.floor %1 : f16
    kernel.store %2, %out["i0"] : f16, <f16>
  }
  return
}

// The sign of a half value is a bit: nothing is widened.
// CHECK-LABEL: signs_avx{{.*}}.body:
// CHECK-NOT: vpslld
// CHECK-NOT: vcvtph2ps
// CHECK: .size
func.func @h(%x: tensor<4096xbf16>) {
  %0 = kernel.generic loop @signs axes(i0 = "4096") ins(%x : tensor<4096xbf16>) outs(tensor<4096xbf16>) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["i0"] : <bf16> -> bf16
    %2 = math.absf %1 : bf16
    %3 = arith.negf %2 : bf16
    kernel.store %3, %out["i0"] : bf16, <bf16>
  }
  return
}
