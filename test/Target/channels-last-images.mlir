// RUN: lathe-opt %s --lathe-channels-last | FileCheck %s

// An image that comes with its channels side by side, and leaves so: what lies between two kernels has them so, too, although there is no convolution.
// CHECK-LABEL: func.func @together
// CHECK: kernel.generic loop @padded axes(i1 = "58", i2 = "58", i0 = "64") ins(%{{.*}}) outs(tensor<1x58x58x64xf32>)
// CHECK: kernel.store %{{.*}}["i0 + 3712*i1 + 64*i2"]
// CHECK: kernel.generic loop @largest axes(i0 = "28", i1 = "28", i2 = "64")
// CHECK: kernel.load %{{.*}}["7424*i0 + 128*i1 + i2"]
// CHECK: kernel.load %{{.*}}["7424*i0 + 128*i1 + i2 + 64"]
func.func @together(%x: tensor<1x56x56x64xf32>) -> tensor<1x28x28x64xf32> {
  %0 = kernel.generic loop @padded axes(i0 = "64", i1 = "58", i2 = "58") ins(%x : tensor<1x56x56x64xf32>) outs(tensor<1x64x58x58xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %c0 = arith.constant 0 : i64
    %c56 = arith.constant 56 : i64
    %y = kernel.index "i1 - 1"
    %z = kernel.index "i2 - 1"
    %1 = arith.cmpi sge, %y, %c0 : i64
    %2 = arith.cmpi slt, %y, %c56 : i64
    %3 = arith.cmpi sge, %z, %c0 : i64
    %4 = arith.cmpi slt, %z, %c56 : i64
    %5 = arith.andi %1, %2 : i1
    %6 = arith.andi %5, %3 : i1
    %7 = arith.andi %6, %4 : i1
    %8 = kernel.load %a["i0 + 3584*i1 + 64*i2 - 3648"] if %7 : <f32> -> f32
    %none = arith.constant 0xFF800000 : f32
    %9 = arith.select %7, %8, %none : f32
    kernel.store %9, %o["3364*i0 + 58*i1 + i2"] : f32, <f32>
  }
  %m = kernel.generic loop @largest axes(i0 = "28", i1 = "28", i2 = "64") ins(%0 : tensor<1x64x58x58xf32>) outs(tensor<1x28x28x64xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["116*i0 + 2*i1 + 3364*i2"] : <f32> -> f32
    %2 = kernel.load %a["116*i0 + 2*i1 + 3364*i2 + 1"] : <f32> -> f32
    %3 = arith.maximumf %1, %2 : f32
    kernel.store %3, %o["1792*i0 + 64*i1 + i2"] : f32, <f32>
  }
  return %m : tensor<1x28x28x64xf32>
}

// Where nothing has its channels side by side, nothing moves.
// CHECK-LABEL: func.func @planes
// CHECK: kernel.generic loop @twice axes(i0 = "64", i1 = "64") ins(%{{.*}}) outs(tensor<1x64x8x8xf32>)
// CHECK: kernel.store %{{.*}}["64*i0 + i1"]
func.func @planes(%x: tensor<1x64x8x8xf32>) -> tensor<1x64x4x8xf32> {
  %0 = kernel.generic loop @twice axes(i0 = "64", i1 = "64") ins(%x : tensor<1x64x8x8xf32>) outs(tensor<1x64x8x8xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["64*i0 + i1"] : <f32> -> f32
    %2 = arith.addf %1, %1 : f32
    kernel.store %2, %o["64*i0 + i1"] : f32, <f32>
  }
  %m = kernel.generic loop @lines axes(i0 = "64", i1 = "4", i2 = "8") ins(%0 : tensor<1x64x8x8xf32>) outs(tensor<1x64x4x8xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["64*i0 + 16*i1 + i2"] : <f32> -> f32
    %2 = kernel.load %a["64*i0 + 16*i1 + i2 + 8"] : <f32> -> f32
    %3 = arith.maximumf %1, %2 : f32
    kernel.store %3, %o["32*i0 + 8*i1 + i2"] : f32, <f32>
  }
  return %m : tensor<1x64x4x8xf32>
}
