// RUN: lathe-opt %s --lathe-widen-half | FileCheck %s

// The first operand of a contraction is widened by a kernel of its own, once for all that read it; the second one stays. Nothing is lost where the first
// one is rounded again.
// CHECK-LABEL: @contractions
// CHECK: %[[X:.*]] = kernel.generic loop @widen axes(i = "32") ins(%arg0 : tensor<8x4xf16>) outs(tensor<8x4xf32>)
// CHECK: arith.extf
// CHECK: kernel.generic contraction @first {{.*}} ins(%[[X]], %arg1 : tensor<8x4xf32>, tensor<4x16xf16>)
// CHECK: kernel.contract {{.*}} over ["k"] {may_round} : (<f32>, <f16>) -> f32
// CHECK: kernel.generic contraction @second {{.*}} ins(%[[X]], %arg1 : tensor<8x4xf32>, tensor<4x16xf16>)
func.func @contractions(%x: tensor<8x4xf16>, %w: tensor<4x16xf16>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = kernel.generic contraction @first axes(m = "8", n = "16", k = "4") ins(%x, %w : tensor<8x4xf16>, tensor<4x16xf16>) outs(tensor<8x16xf32>) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["4*m + k"], %b["16*k + n"] over ["k"] : (!kernel.ref<f16>, !kernel.ref<f16>) -> f32
    kernel.store %1, %o["16*m + n"] : f32, !kernel.ref<f32>
  }
  %2 = kernel.generic contraction @second axes(m = "8", n = "16", k = "4") ins(%x, %w : tensor<8x4xf16>, tensor<4x16xf16>) outs(tensor<8x16xf32>) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["4*m + k"], %b["16*k + n"] over ["k"] : (!kernel.ref<f16>, !kernel.ref<f16>) -> f32
    kernel.store %1, %o["16*m + n"] : f32, !kernel.ref<f32>
  }
  return %0, %2 : tensor<8x16xf32>, tensor<8x16xf32>
}

// The constant filter of a sum of products becomes f32; the image is widened where it is read. Subnormal numbers are right.
// CHECK-LABEL: @filter
// CHECK: %[[W:.*]] = lathe.constant dense<[1.500000e+00, -2.000000e+00, 5.96046448E-8]> : tensor<3xf32>
// CHECK: kernel.generic reduction @conv {{.*}} ins(%arg0, %[[W]] : tensor<10xf16>, tensor<3xf32>)
// CHECK: %[[F:.*]] = kernel.load %{{.*}}["k"] : <f32> -> f32
// CHECK: %[[A:.*]] = arith.extf
// CHECK: arith.mulf %[[A]], %[[F]] : f32
func.func @filter(%x: tensor<10xf16>) -> tensor<8xf32> {
  %w = lathe.constant dense<[1.5, -2.0, 5.96046448e-8]> : tensor<3xf16>
  %0 = kernel.generic reduction @conv axes(n = "8", k = "3") ins(%x, %w : tensor<10xf16>, tensor<3xf16>) outs(tensor<8xf32>) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["n + k"] : !kernel.ref<f16> -> f16
    %2 = kernel.load %b["k"] : !kernel.ref<f16> -> f16
    %3 = arith.extf %1 : f16 to f32
    %4 = arith.extf %2 : f16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = kernel.reduce add %5 over ["k"] : f32
    kernel.store %6, %o["n"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<8xf32>
}

// Elements that were bf16 lose nothing where the two operands are multiplied as such.
// CHECK-LABEL: @brain
// CHECK: kernel.contract {{.*}} over ["k"] {may_round} : (<f32>, <bf16>) -> f32
func.func @brain(%x: tensor<8x4xbf16>, %w: tensor<4x16xbf16>) -> tensor<8x16xf32> {
  %0 = kernel.generic contraction @product axes(m = "8", n = "16", k = "4") ins(%x, %w : tensor<8x4xbf16>, tensor<4x16xbf16>) outs(tensor<8x16xf32>) {
  ^bb0(%a: !kernel.ref<bf16>, %b: !kernel.ref<bf16>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["4*m + k"], %b["16*k + n"] over ["k"] : (!kernel.ref<bf16>, !kernel.ref<bf16>) -> f32
    kernel.store %1, %o["16*m + n"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<8x16xf32>
}

// What is multiplied with codes is widened like a contraction's first operand.
// CHECK-LABEL: @codes
// CHECK: %[[X:.*]] = kernel.generic loop @widen {{.*}} outs(tensor<8x32xf32>)
// CHECK: kernel.generic reduction @coded {{.*}} ins(%[[X]], %arg1 : tensor<8x32xf32>, tensor<4x32xi32>)
// CHECK: %[[A:.*]] = kernel.load %{{.*}}["32*m + 8*w + c"] : <f32> -> f32
// CHECK-NOT: arith.extf
// CHECK: arith.mulf %[[A]]
func.func @codes(%x: tensor<8x32xf16>, %w: tensor<4x32xi32>) -> tensor<8x32xf32> {
  %y = kernel.generic reduction @coded axes(m = "8", j = "32", w = "4", c = "8")
      ins(%x, %w : tensor<8x32xf16>, tensor<4x32xi32>) outs(tensor<8x32xf32>) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<i32>, %o: !kernel.ref<f32>):
    %mask = arith.constant 15 : i32
    %four = arith.constant 4 : i32
    %xn = kernel.load %a["32*m + 8*w + c"] : !kernel.ref<f16> -> f16
    %xw = arith.extf %xn : f16 to f32
    %word = kernel.load %b["32*w + j"] : !kernel.ref<i32> -> i32
    %at = kernel.index "c"
    %place = arith.trunci %at : i64 to i32
    %by = arith.muli %place, %four : i32
    %low = arith.shrsi %word, %by : i32
    %code = arith.andi %low, %mask : i32
    %weight = arith.sitofp %code : i32 to f32
    %p = arith.mulf %xw, %weight : f32
    %s = kernel.reduce add %p over ["w", "c"] : f32
    kernel.store %s, %o["32*m + j"] : f32, !kernel.ref<f32>
  }
  return %y : tensor<8x32xf32>
}
