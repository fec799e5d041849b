// A search in a sorted row of any length has a step for each power of two; of a row of less than 2^8, 2^12, 2^16 or 2^24 elements the first ones say nothing: there are ways without
// them. (That for 2^16 does here what that for 2^12 does.)
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s
lathe.symbol "n" range [1, 9223372036854775807]
lathe.symbol "m" range [1, 9223372036854775807]
!s = tensor<?xf32, #lathe.dims<"n">>
!x = tensor<?xf32, #lathe.dims<"m">>
!i = tensor<?xi64, #lathe.dims<"m">>

// Of less than 256 elements all places are 0.
// CHECK-LABEL: func.func private @lathe_k0_search_avx2.body(
// CHECK-NOT: gather
// CHECK-NOT: cmpf
// CHECK: return
// Of less than 4,096 the first place that is looked at is the same for all.
// CHECK-LABEL: @lathe_k0_search_avx2.way1.body(
// CHECK-NOT: 4294967296
// CHECK-NOT: 65536
// CHECK-NOT: gather
// CHECK: cmpf
// CHECK-NOT: gather
// CHECK: return
// CHECK-LABEL: @lathe_k0_search_avx2.way3.body(
// CHECK-NOT: 4294967296
// CHECK: 65536
// CHECK: masked.gather
// CHECK: return
// CHECK-LABEL: @lathe_k0_search_avx2.way4.body(
// CHECK: 4294967296
func.func @f(%s: !s, %x: !x) -> !i {
  %0 = kernel.generic loop @search axes(i = "m") ins(%s, %x : !s, !x) outs(!i) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %n = kernel.index "n"
    %last = kernel.index "n - 1"
    %v = kernel.load %b["i"] : <f32> -> f32
    %zero = arith.constant 0 : i64
    %s0 = arith.constant 4294967296 : i64
    %in0 = arith.cmpi sle, %s0, %n : i64
    %at0 = arith.minsi %s0, %last : i64
    %e0 = kernel.load %a["$0"] indirect(%at0) : <f32> -> f32
    %l0 = arith.cmpf olt, %e0, %v : f32
    %g0 = arith.andi %in0, %l0 : i1
    %p0 = arith.select %g0, %s0, %zero : i64
    %s1 = arith.constant 65536 : i64
    %n1 = arith.addi %p0, %s1 : i64
    %in1 = arith.cmpi sle, %n1, %n : i64
    %at1 = arith.minsi %n1, %last : i64
    %e1 = kernel.load %a["$0"] indirect(%at1) : <f32> -> f32
    %l1 = arith.cmpf olt, %e1, %v : f32
    %g1 = arith.andi %in1, %l1 : i1
    %p1 = arith.select %g1, %n1, %p0 : i64
    %s2 = arith.constant 1024 : i64
    %n2 = arith.addi %p1, %s2 : i64
    %in2 = arith.cmpi sle, %n2, %n : i64
    %at2 = arith.minsi %n2, %last : i64
    %e2 = kernel.load %a["$0"] indirect(%at2) : <f32> -> f32
    %l2 = arith.cmpf olt, %e2, %v : f32
    %g2 = arith.andi %in2, %l2 : i1
    %p2 = arith.select %g2, %n2, %p1 : i64
    kernel.store %p2, %out["i"] : i64, <i64>
  }
  return %0 : !i
}
