// A maximum of several numbers is NaN where one of them is: they are compared as numbers, and asked two at a time whether they are. One of two numbers is
// left to the code generator. Lanes are compared as integers when a row is done.
// RUN: lathe-kernel %s --variant avx512 --emit=mlir | FileCheck %s --check-prefix=ROW
// RUN: lathe-kernel %s --variant avx512 --emit=asm | FileCheck %s

!x = tensor<64x64xf32>
// ROW-LABEL: func.func private @lathe_k0_row_avx512.body
// ROW: %[[none:.*]] = arith.cmpf uno, %[[v:.*]], %[[v]] : vector<16xf32>
// ROW: %[[last:.*]] = arith.constant dense<2147483647> : vector<16xi32>
// ROW: %[[keys:.*]] = arith.select %[[none]], %[[last]], %{{.*}} : vector<16xi1>, vector<16xi32>
// ROW-COUNT-4: arith.maxsi
// ROW: arith.bitcast %{{.*}} : i32 to f32
func.func @row(%x: !x) -> tensor<64xf32> {
  %0 = kernel.generic reduction @row axes(i = "64", j = "64") ins(%x : !x) outs(tensor<64xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["64*i + j"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["j"] : f32
    kernel.store %2, %out["i"] : f32, <f32>
  }
  return %0 : tensor<64xf32>
}

// CHECK-LABEL: four_avx512.body:
// CHECK-COUNT-3: vminps
// CHECK-NOT: vminps
// CHECK: .size
// Two tests of two numbers.
// CHECK-LABEL: numbers_avx512.body:
// CHECK-COUNT-2: {{vcmp(un)?ordps}}
// CHECK-NOT: vcmp
// CHECK: .size
func.func @four(%a: tensor<16xf32>, %b: tensor<16xf32>, %c: tensor<16xf32>, %d: tensor<16xf32>) {
  %0 = kernel.generic loop @four axes(i = "16") ins(%a, %b, %c, %d : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) outs(tensor<16xf32>) {
  ^bb0(%p: !kernel.ref<f32>, %q: !kernel.ref<f32>, %r: !kernel.ref<f32>, %s: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %p["i"] : <f32> -> f32
    %2 = kernel.load %q["i"] : <f32> -> f32
    %3 = kernel.load %r["i"] : <f32> -> f32
    %4 = kernel.load %s["i"] : <f32> -> f32
    %5 = arith.minimumf %1, %2 : f32
    %6 = arith.minimumf %3, %4 : f32
    %7 = arith.minimumf %5, %6 : f32
    kernel.store %7, %out["i"] : f32, <f32>
  }
  %10 = kernel.generic loop @numbers axes(i = "16") ins(%a, %b, %c, %d : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) outs(tensor<16xf32>) {
  ^bb0(%p: !kernel.ref<f32>, %q: !kernel.ref<f32>, %r: !kernel.ref<f32>, %s: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %p["i"] : <f32> -> f32
    %2 = kernel.load %q["i"] : <f32> -> f32
    %3 = kernel.load %r["i"] : <f32> -> f32
    %4 = kernel.load %s["i"] : <f32> -> f32
    %5 = arith.maximumf %1, %2 : f32
    %6 = arith.maximumf %5, %3 : f32
    %7 = arith.maximumf %6, %4 : f32
    kernel.store %7, %out["i"] : f32, <f32>
  }
  return
}
