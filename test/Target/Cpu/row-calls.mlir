// What whole vectors leave over of a row is copied in a trip or two, and a border is filled so: no call of memcpy or memset is made of that. (Of
// longer rows there is one: row-copies.mlir.)
// RUN: lathe-kernel %s --variant avx2 --emit=asm | FileCheck %s
// RUN: lathe-kernel %s --variant baseline --emit=asm | FileCheck %s
// CHECK-NOT: {{mem(cpy|set|move)}}
// CHECK: repeated
// CHECK-NOT: {{mem(cpy|set|move)}}
// CHECK: padded
// CHECK-NOT: {{mem(cpy|set|move)}}
lathe.symbol "n" range [1, 500]
lathe.symbol "R" range [1, -1]
func.func @f(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @repeated axes(r = "R", i = "3*n") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["n*r + mod(i, n)"] : <f32> -> f32
    kernel.store %x, %out0["3*n*r + i"] : f32, <f32>
  }
  %r1 = kernel.generic loop @padded axes(r = "R", i = "n + 2") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %i = kernel.index "i"
    %n = kernel.index "n"
    %p = arith.cmpi slt, %i, %n : i64
    %x = kernel.load %in0["n*r + i"] if %p : !kernel.ref<f32> -> f32
    %zero = arith.constant 0.0 : f32
    %y = arith.select %p, %x, %zero : f32
    kernel.store %y, %out0["n*r + 2*r + i"] : f32, <f32>
  }
  return
}
