// Rows of open length in stretches, on a machine whose masks have registers of their own.
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s

lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [1, 500]
lathe.symbol "k" range [1, 500]

// Two rows behind one another: a vector under a mask of each, where that is enough; else whole vectors of the one, which end under a mask, then those of
// the other. No narrower vectors, no single elements.
// CHECK-LABEL: func.func private @lathe_k0_joined_avx512.body(
// CHECK: arith.cmpi sle, %{{.*}}, %c16_i64
// CHECK-NOT: scf.for
// CHECK: llvm.intr.masked.store
// CHECK-NOT: scf.for
// CHECK: llvm.intr.masked.store
// CHECK: } else {
// CHECK: scf.for
// CHECK-NOT: vector<8xf32>
// CHECK-NOT: -> f32
// CHECK: llvm.intr.masked.store
// CHECK: llvm.intr.masked.store
// CHECK-LABEL: func.func @lathe_k0_joined_avx512_plan
func.func @f(%a0: tensor<?x?xf32, #lathe.dims<"m", "n">>, %a1: tensor<?x?xf32, #lathe.dims<"m", "k">>) {
  %r0 = kernel.generic loop @joined axes(i = "m", c = "n + k")
      ins(%a0, %a1 : tensor<?x?xf32, #lathe.dims<"m", "n">>, tensor<?x?xf32, #lathe.dims<"m", "k">>) outs(tensor<?x?xf32, #lathe.dims<"m", "n + k">>) {
  ^bb0(%in0: !kernel.ref<f32>, %in1: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %c = kernel.index "c"
    %n = kernel.index "n"
    %first = arith.cmpi slt, %c, %n : i64
    %a = kernel.load %in0["n*i + c"] if %first : !kernel.ref<f32> -> f32
    %second = arith.cmpi sge, %c, %n : i64
    %b = kernel.load %in1["k*i + c - n"] if %second : !kernel.ref<f32> -> f32
    %y = arith.select %second, %b, %a : f32
    kernel.store %y, %out0["n*i + k*i + c"] : f32, !kernel.ref<f32>
  }
  return
}

// A border of two elements that mirror those beside them, in front of a row of open length: single elements, and nothing is gathered for them.
// CHECK-LABEL: func.func private @lathe_k1_border_avx512.body(
// CHECK: } else {
// CHECK-NOT: gather
// CHECK: llvm.load %{{.*}} -> f32
// CHECK: llvm.load %{{.*}} -> vector<16xf32>
// CHECK-NOT: gather
// CHECK-LABEL: func.func @lathe_k1_border_avx512_plan
func.func @g(%a0: tensor<?x?xf32, #lathe.dims<"m", "n">>) {
  %r0 = kernel.generic loop @border axes(i = "m", c = "n + 3") ins(%a0 : tensor<?x?xf32, #lathe.dims<"m", "n">>) outs(tensor<?x?xf32, #lathe.dims<"m", "n + 3">>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %c = kernel.index "c"
    %two = arith.constant 2 : i64
    %end = kernel.index "n + 2"
    %zero = arith.constant 0.0 : f32
    %outside = arith.cmpi slt, %c, %two : i64
    %mirrored = kernel.load %in0["n*i + n - c - 1"] if %outside : !kernel.ref<f32> -> f32
    %inside = arith.cmpi sge, %c, %two : i64
    %before = arith.cmpi slt, %c, %end : i64
    %both = arith.andi %inside, %before : i1
    %a = kernel.load %in0["n*i + c - 2"] if %both : !kernel.ref<f32> -> f32
    %b = arith.select %inside, %a, %mirrored : f32
    %y = arith.select %before, %b, %zero : f32
    kernel.store %y, %out0["n*i + 3*i + c"] : f32, !kernel.ref<f32>
  }
  return
}
