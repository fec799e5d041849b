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
