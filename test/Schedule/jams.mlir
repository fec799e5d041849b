// Places and predicates of a window are the same in all channels. Where a call has whole fours of them, four are worked on together; what of a
// window costs little is not shared.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s --check-prefix=CODE

lathe.symbol "c" range [1, 9223372036854775807]
lathe.symbol "w" range [1, 1000]
!x = tensor<?x?xf32, #lathe.dims<"c", "w">>

// CHECK-LABEL: @edges
// CHECK-SAME: schedule.cases = [#schedule.case<"mod(c, 4) = 0", #schedule.rows<jam = 4>>, #schedule.case<#schedule.rows<>>]
// CHECK-LABEL: @plain
// CHECK-NOT: jam
// The comparisons are made once for four rows.
// CODE-LABEL: func.func private @lathe_k0_edges_avx512.body
// CODE-COUNT-4: llvm.intr.masked.load {{.*}} vector<16xf32>
func.func @f(%x: !x) -> (!x, !x) {
  %0 = kernel.generic loop @edges axes(i = "c", j = "w") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %zero = arith.constant 0 : i64
    %none = arith.constant 0.0 : f32
    %l = kernel.index "j - 1"
    %r = kernel.index "j + 1"
    %w = kernel.index "w"
    %s = kernel.index "j - 2"
    %t = kernel.index "j + 2"
    %p0 = arith.cmpi sge, %l, %zero : i64
    %p1 = arith.cmpi slt, %r, %w : i64
    %p2 = arith.cmpi sge, %s, %zero : i64
    %p3 = arith.cmpi slt, %t, %w : i64
    %q0 = arith.andi %p0, %p1 : i1
    %q1 = arith.andi %p2, %p3 : i1
    %q2 = arith.ori %q0, %q1 : i1
    %q3 = arith.xori %q2, %p0 : i1
    %q4 = arith.ori %q3, %p3 : i1
    %q5 = arith.andi %q4, %q2 : i1
    %q6 = arith.ori %q5, %q1 : i1
    %q7 = arith.andi %q6, %q4 : i1
    %q8 = arith.ori %q7, %q0 : i1
    %v = kernel.load %a["w*i + j"] if %q8 : <f32> -> f32
    %y = arith.select %q8, %v, %none : f32
    kernel.store %y, %out["w*i + j"] : f32, <f32>
  }
  %1 = kernel.generic loop @plain axes(i = "c", j = "w") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["w*i + j"] : <f32> -> f32
    %y = arith.negf %v : f32
    kernel.store %y, %out["w*i + j"] : f32, <f32>
  }
  return %0, %1 : !x, !x
}
