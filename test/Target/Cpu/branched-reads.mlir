// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s

// Which operand a row is read from is the same for the whole row: a branch, behind which processors look ahead of the plain loads by themselves. Lines of
// operands that the row is not of are not asked for.
// CHECK-LABEL: joined_avx512.body:
// CHECK-NOT: prefetch
// CHECK: vmovups {{.*}}%zmm
// CHECK-NOT: prefetch
// CHECK: .size

// A border along the row is a mask: what lies behind it is asked for.
// CHECK-LABEL: bordered_avx512.body:
// CHECK: prefetcht0
// CHECK: .size
func.func @main(%x: tensor<?x4096xf32>, %y: tensor<?x4096xf32>) {
  %0 = kernel.generic loop @joined axes(i = "2", r = "rows", j = "4096") ins(%x, %y : tensor<?x4096xf32>, tensor<?x4096xf32>) outs(tensor<2x?x4096xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %i = kernel.index "i"
    %c1 = arith.constant 1 : i64
    %first = arith.cmpi slt, %i, %c1 : i64
    %1 = kernel.load %a["4096*r + j"] if %first : <f32> -> f32
    %second = arith.cmpi sge, %i, %c1 : i64
    %2 = kernel.load %b["4096*r + j"] if %second : <f32> -> f32
    %3 = arith.select %second, %2, %1 : f32
    kernel.store %3, %o["4096*rows*i + 4096*r + j"] : f32, !kernel.ref<f32>
  }
  %4 = kernel.generic loop @bordered axes(r = "rows", j = "4100") ins(%x : tensor<?x4096xf32>) outs(tensor<?x4100xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %j = kernel.index "j - 2"
    %c0 = arith.constant 0 : i64
    %end = arith.constant 4096 : i64
    %from = arith.cmpi sge, %j, %c0 : i64
    %to = arith.cmpi slt, %j, %end : i64
    %inside = arith.andi %from, %to : i1
    %none = arith.constant 0.0 : f32
    %5 = kernel.load %a["4096*r + j - 2"] if %inside else %none : <f32> else f32 -> f32
    kernel.store %5, %o["4100*r + j"] : f32, !kernel.ref<f32>
  }
  return
}
