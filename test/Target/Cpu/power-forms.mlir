// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s

// One exponent for all elements is asked for the simple ones: squares and roots are there beside the general way, outside of which the
// comparisons are.
// CHECK-LABEL: scalar_avx2.body:
// CHECK-DAG: vsqrtps
// CHECK-DAG: vdivpd
// CHECK: .size
func.func @f(%x: tensor<4096xf32>, %y: tensor<f32>) {
  %0 = kernel.generic loop @scalar axes(i0 = "4096") ins(%x, %y : tensor<4096xf32>, tensor<f32>) outs(tensor<4096xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %e: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i0"] : <f32> -> f32
    %2 = kernel.load %e["0"] : <f32> -> f32
    %3 = math.powf %1, %2 : f32
    kernel.store %3, %out["i0"] : f32, <f32>
  }
  return
}

// An exponent for each element is not.
// CHECK-LABEL: each_avx2.body:
// CHECK-NOT: vsqrtps
// CHECK: vdivpd
// CHECK-NOT: vsqrtps
// CHECK: .size
func.func @g(%x: tensor<4096xf32>, %y: tensor<4096xf32>) {
  %0 = kernel.generic loop @each axes(i0 = "4096") ins(%x, %y : tensor<4096xf32>, tensor<4096xf32>) outs(tensor<4096xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %e: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i0"] : <f32> -> f32
    %2 = kernel.load %e["i0"] : <f32> -> f32
    %3 = math.powf %1, %2 : f32
    kernel.store %3, %out["i0"] : f32, <f32>
  }
  return
}

// A constant root is one, with what a power is at -infinity.
// CHECK-LABEL: root_avx2.body:
// CHECK-NOT: vdivpd
// CHECK: vsqrtps
// CHECK: .size
func.func @h(%x: tensor<4096xf32>) {
  %0 = kernel.generic loop @root axes(i0 = "4096") ins(%x : tensor<4096xf32>) outs(tensor<4096xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i0"] : <f32> -> f32
    %2 = arith.constant 0.5 : f32
    %3 = math.powf %1, %2 : f32
    kernel.store %3, %out["i0"] : f32, <f32>
  }
  return
}

// Beside 1, an exponential has one factor 2^n instead of two.
// CHECK-LABEL: sigmoid_avx2.body:
// CHECK: vpslld
// CHECK-NOT: vpslld
// CHECK: vdivps
// CHECK: .size
func.func @i(%x: tensor<64xf32>) {
  %0 = kernel.generic loop @sigmoid axes(i0 = "64") ins(%x : tensor<64xf32>) outs(tensor<64xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i0"] : <f32> -> f32
    %2 = arith.negf %1 : f32
    %3 = math.exp %2 : f32
    %one = arith.constant 1.0 : f32
    %4 = arith.addf %3, %one : f32
    %5 = arith.divf %one, %4 : f32
    kernel.store %5, %out["i0"] : f32, <f32>
  }
  return
}
