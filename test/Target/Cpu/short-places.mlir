// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s

// Sixteen lanes are gathered by one instruction where places in the operand are numbers of 32 bits: where it has fewer than 2^31 elements. Of more and of an
// open number it takes two, of eight lanes each; these kernels are one.
// CHECK-LABEL: known_avx512.body:
// CHECK-NOT: vgatherqps
// CHECK: vgatherdps {{.*}}%zmm
// CHECK-LABEL: huge_avx512.body:
// CHECK-NOT: vgatherdps
// CHECK: vgatherqps
// CHECK-NOT: open_avx512.body:
// CHECK-LABEL: words_avx512.body:
// CHECK: vpgatherdd {{.*}}%zmm
lathe.symbol "K" range [1000, 9223372036854775807]
func.func @main(%i: tensor<512xi64>, %x: tensor<1000xf32>, %h: tensor<3000000000xf32>, %o: tensor<?xf32, #lathe.dims<"K">>, %w: tensor<1000xi32>) {
  %0 = kernel.generic loop @known axes(i = "512") ins(%i, %x : tensor<512xi64>, tensor<1000xf32>) outs(tensor<512xf32>) {
  ^bb0(%a: !kernel.ref<i64>, %b: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %p = kernel.load %a["i"] : !kernel.ref<i64> -> i64
    %last = arith.constant 999 : i64
    %zero = arith.constant 0 : i64
    %q = arith.minsi %p, %last : i64
    %s = arith.maxsi %q, %zero : i64
    %v = kernel.load %b["$0"] indirect(%s) : !kernel.ref<f32> -> f32
    kernel.store %v, %r["i"] : f32, !kernel.ref<f32>
  }
  %1 = kernel.generic loop @huge axes(i = "512") ins(%i, %h : tensor<512xi64>, tensor<3000000000xf32>) outs(tensor<512xf32>) {
  ^bb0(%a: !kernel.ref<i64>, %b: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %p = kernel.load %a["i"] : !kernel.ref<i64> -> i64
    %last = arith.constant 999 : i64
    %zero = arith.constant 0 : i64
    %q = arith.minsi %p, %last : i64
    %s = arith.maxsi %q, %zero : i64
    %v = kernel.load %b["$0"] indirect(%s) : !kernel.ref<f32> -> f32
    kernel.store %v, %r["i"] : f32, !kernel.ref<f32>
  }
  %2 = kernel.generic loop @open axes(i = "512") ins(%i, %o : tensor<512xi64>, tensor<?xf32, #lathe.dims<"K">>) outs(tensor<512xf32>) {
  ^bb0(%a: !kernel.ref<i64>, %b: !kernel.ref<f32>, %r: !kernel.ref<f32>):
    %p = kernel.load %a["i"] : !kernel.ref<i64> -> i64
    %last = arith.constant 999 : i64
    %zero = arith.constant 0 : i64
    %q = arith.minsi %p, %last : i64
    %s = arith.maxsi %q, %zero : i64
    %v = kernel.load %b["$0"] indirect(%s) : !kernel.ref<f32> -> f32
    kernel.store %v, %r["i"] : f32, !kernel.ref<f32>
  }
  %3 = kernel.generic loop @words axes(i = "512") ins(%i, %w : tensor<512xi64>, tensor<1000xi32>) outs(tensor<512xi32>) {
  ^bb0(%a: !kernel.ref<i64>, %b: !kernel.ref<i32>, %r: !kernel.ref<i32>):
    %p = kernel.load %a["i"] : !kernel.ref<i64> -> i64
    %last = arith.constant 999 : i64
    %zero = arith.constant 0 : i64
    %q = arith.minsi %p, %last : i64
    %s = arith.maxsi %q, %zero : i64
    %v = kernel.load %b["$0"] indirect(%s) : !kernel.ref<i32> -> i32
    kernel.store %v, %r["i"] : i32, !kernel.ref<i32>
  }
  return
}
