// RUN: lathe-opt %s --lathe-cuda-precision=precision=bf16 | FileCheck %s
// RUN: lathe-opt %s --lathe-cuda-precision=precision=tf32 | FileCheck %s --check-prefix=TF32

// Only the contraction reads the loop's result, so it is stored as bf16. The model's input is converted by a kernel, and the
// constant when the artifact is written. The second loop's result is read by the model's caller too: it is stored twice.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x4xf32>) {
  // CHECK: %[[H:.*]] = kernel.generic loop @convert
  // CHECK-SAME: outs(tensor<8x16xbf16>)
  // CHECK: arith.truncf
  // CHECK: %[[W:.*]] = kernel.pack {{.*}} -> tensor<16x16xbf16>
  %w = lathe.constant dense<0.5> : tensor<16x16xf32>
  // CHECK: %[[Y:.*]]:2 = kernel.generic contraction @first
  // CHECK-SAME: ins(%[[H]], %[[W]] : tensor<8x16xbf16>, tensor<16x16xbf16>)
  // CHECK-SAME: outs(tensor<8x16xf32>, tensor<8x16xbf16>)
  // TF32: @first
  // TF32-SAME: precision = "tf32"
  %y = kernel.generic contraction @first axes(m = "8", n = "16", k = "16")
      ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(tensor<8x16xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %0 = kernel.contract %a["16*m + k"], %b["16*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %0, %o["16*m + n"] : f32, !kernel.ref<f32>
  }
  // CHECK: %[[G:.*]] = kernel.generic loop @square
  // CHECK-SAME: outs(tensor<8x16xbf16>)
  %g = kernel.generic loop @square axes(i = "128") ins(%y : tensor<8x16xf32>) outs(tensor<8x16xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %0 = kernel.load %a["i"] : !kernel.ref<f32> -> f32
    %1 = arith.mulf %0, %0 : f32
    kernel.store %1, %o["i"] : f32, !kernel.ref<f32>
  }
  %v = lathe.constant dense<0.25> : tensor<16x4xf32>
  // CHECK: kernel.generic contraction @second
  // CHECK-SAME: ins(%[[G]]
  %z = kernel.generic contraction @second axes(m = "8", n = "4", k = "16")
      ins(%g, %v : tensor<8x16xf32>, tensor<16x4xf32>) outs(tensor<8x4xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %0 = kernel.contract %a["16*m + k"], %b["4*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %0, %o["4*m + n"] : f32, !kernel.ref<f32>
  }
  // CHECK: kernel.generic contraction @third
  // CHECK-SAME: ins(%[[Y]]#1
  %t = kernel.generic contraction @third axes(m = "8", n = "4", k = "16")
      ins(%y, %v : tensor<8x16xf32>, tensor<16x4xf32>) outs(tensor<8x4xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %0 = kernel.contract %a["16*m + k"], %b["4*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %0, %o["4*m + n"] : f32, !kernel.ref<f32>
  }
  %s = kernel.generic loop @add axes(i = "32") ins(%z, %t : tensor<8x4xf32>, tensor<8x4xf32>) outs(tensor<8x4xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %0 = kernel.load %a["i"] : !kernel.ref<f32> -> f32
    %1 = kernel.load %b["i"] : !kernel.ref<f32> -> f32
    %2 = arith.addf %0, %1 : f32
    kernel.store %2, %o["i"] : f32, !kernel.ref<f32>
  }
  return %y, %s : tensor<8x16xf32>, tensor<8x4xf32>
}

// What is multiplied with codes becomes a half type, the codes stay.
// CHECK-LABEL: func.func @codes
// CHECK: %[[X:.*]] = kernel.generic loop @convert
// CHECK: kernel.generic reduction @coded
// CHECK-SAME: ins(%[[X]], %arg1 : tensor<8x32xbf16>, tensor<4x32xi32>)
// CHECK: %[[NARROW:.*]] = kernel.load {{.*}} : <bf16> -> bf16
// CHECK: %[[WIDE:.*]] = arith.extf %[[NARROW]] : bf16 to f32
// CHECK: arith.mulf %[[WIDE]]
func.func @codes(%x: tensor<8x32xf32>, %w: tensor<4x32xi32>) -> tensor<8x32xf32> {
  %y = kernel.generic reduction @coded axes(m = "8", j = "32", w = "4", c = "8")
      ins(%x, %w : tensor<8x32xf32>, tensor<4x32xi32>) outs(tensor<8x32xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<i32>, %o: !kernel.ref<f32>):
    %mask = arith.constant 15 : i32
    %four = arith.constant 4 : i32
    %xn = kernel.load %a["32*m + 8*w + c"] : !kernel.ref<f32> -> f32
    %word = kernel.load %b["32*w + j"] : !kernel.ref<i32> -> i32
    %at = kernel.index "c"
    %place = arith.trunci %at : i64 to i32
    %by = arith.muli %place, %four : i32
    %low = arith.shrsi %word, %by : i32
    %code = arith.andi %low, %mask : i32
    %weight = arith.sitofp %code : i32 to f32
    %p = arith.mulf %xn, %weight : f32
    %s = kernel.reduce add %p over ["w", "c"] : f32
    kernel.store %s, %o["32*m + j"] : f32, !kernel.ref<f32>
  }
  return %y : tensor<8x32xf32>
}
