// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s

// Images that are joined by channels: which operand is read is asked where a channel begins, and a row is all channels of all operands, in stretches.
// CHECK-LABEL: @lathe_k0_channels_{{[^.]*}}.body(
// CHECK-NOT: %c31_i64
// CHECK: %c6200_i64
// CHECK-NOT: %c31_i64
// CHECK-LABEL: @lathe_k0_channels_{{[^.]*}}_plan
// Of open numbers of channels the place is a product.
// CHECK-LABEL: @lathe_k1_open_{{.*}}.body(
// CHECK: arith.muli %{{.*}} overflow<nsw> : i64
// CHECK-LABEL: @lathe_k1_open_{{[^.]*}}_plan
// A border is filled row by row.
// CHECK-LABEL: @lathe_k2_border_{{[^.]*}}.body(
// CHECK-NOT: %c6200_i64
// CHECK: %c31_i64
lathe.symbol "k" range [1, 60]
lathe.symbol "d" range [1, -1]
func.func @f(%x: tensor<20x31x200xf32>, %y: tensor<20x7x200xf32>, %o: tensor<20x?x30xf32, #lathe.dims<"20", "k", "30">>, %p: tensor<20x?x30xf32, #lathe.dims<"20", "d", "30">>) {
  %0 = kernel.generic loop @channels axes(i = "20", c = "38", j = "200") ins(%x, %y : tensor<20x31x200xf32>, tensor<20x7x200xf32>) outs(tensor<20x38x200xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %place = kernel.index "c"
    %end = arith.constant 31 : i64
    %first = arith.cmpi slt, %place, %end : i64
    %v = kernel.load %a["6200*i + 200*c + j"] if %first : <f32> -> f32
    %second = arith.cmpi sge, %place, %end : i64
    %w = kernel.load %b["1400*i + 200*c + j - 6200"] if %second : <f32> -> f32
    %u = arith.select %second, %w, %v : f32
    kernel.store %u, %out["7600*i + 200*c + j"] : f32, <f32>
  }
  %1 = kernel.generic loop @open axes(i = "20", e = "k + d", j = "30") ins(%o, %p : tensor<20x?x30xf32, #lathe.dims<"20", "k", "30">>, tensor<20x?x30xf32, #lathe.dims<"20", "d", "30">>) outs(tensor<20x?x30xf32, #lathe.dims<"20", "k + d", "30">>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %place = kernel.index "e"
    %end = kernel.index "k"
    %first = arith.cmpi slt, %place, %end : i64
    %v = kernel.load %a["30*k*i + 30*e + j"] if %first : <f32> -> f32
    %second = arith.cmpi sge, %place, %end : i64
    %w = kernel.load %b["30*d*i + 30*e + j - 30*k"] if %second : <f32> -> f32
    %u = arith.select %second, %w, %v : f32
    kernel.store %u, %out["30*k*i + 30*d*i + 30*e + j"] : f32, <f32>
  }
  %2 = kernel.generic loop @border axes(i = "20", c = "33", j = "200") ins(%x : tensor<20x31x200xf32>) outs(tensor<20x33x200xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %place = kernel.index "c"
    %end = arith.constant 31 : i64
    %first = arith.cmpi slt, %place, %end : i64
    %zero = arith.constant 0.0 : f32
    %v = kernel.load %a["6200*i + 200*c + j"] if %first : <f32> -> f32
    %u = arith.select %first, %v, %zero : f32
    kernel.store %u, %out["6600*i + 200*c + j"] : f32, <f32>
  }
  return
}
