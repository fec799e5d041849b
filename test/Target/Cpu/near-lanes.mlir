// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=HALF

// Of places that a list says along the lanes most are near to one another: a few elements side by side are read, up to the furthest, and lanes pick theirs. Where
// they are not they are gathered; so are places that data says of each element.
// CHECK-LABEL: list_avx512.body:
// CHECK-DAG: vpermt2ps
// CHECK-DAG: vgatherdps
// CHECK-LABEL: each_avx512.body:
// CHECK-NOT: vpermt2ps
// CHECK: vgatherdps
// CHECK-NOT: vpermt2ps
// HALF-LABEL: list_avx2.body:
// HALF: vmaskmovps
// HALF: vmaskmovps
// HALF: vperm{{d|ps}}
// HALF: vperm{{d|ps}}
func.func @main(%i: tensor<512xi64>, %x: tensor<8x1000xf32>, %j: tensor<8x512xi64>) {
  %0 = kernel.generic loop @list axes(r = "8", i = "512") ins(%i, %x : tensor<512xi64>, tensor<8x1000xf32>) outs(tensor<8x512xf32>) {
  ^bb0(%a: !kernel.ref<i64>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %p = kernel.load %a["i"] : !kernel.ref<i64> -> i64
    %last = arith.constant 999 : i64
    %zero = arith.constant 0 : i64
    %q = arith.minsi %p, %last : i64
    %s = arith.maxsi %q, %zero : i64
    %v = kernel.load %b["1000*r + $0"] indirect(%s) : !kernel.ref<f32> -> f32
    kernel.store %v, %o["512*r + i"] : f32, !kernel.ref<f32>
  }
  %1 = kernel.generic loop @each axes(r = "8", i = "512") ins(%j, %x : tensor<8x512xi64>, tensor<8x1000xf32>) outs(tensor<8x512xf32>) {
  ^bb0(%a: !kernel.ref<i64>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %p = kernel.load %a["512*r + i"] : !kernel.ref<i64> -> i64
    %last = arith.constant 999 : i64
    %zero = arith.constant 0 : i64
    %q = arith.minsi %p, %last : i64
    %s = arith.maxsi %q, %zero : i64
    %v = kernel.load %b["1000*r + $0"] indirect(%s) : !kernel.ref<f32> -> f32
    kernel.store %v, %o["512*r + i"] : f32, !kernel.ref<f32>
  }
  return
}
