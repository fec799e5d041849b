// Rows of two to eight elements leave most lanes idle, or are gathered: each such length is a way of its own, in which the kernel is one of
// that length; of five and more one vector across rows is enough. An operand with one element for each row is another one, and so, behind it, are rows of
// one element.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir | FileCheck %s --check-prefix=CODE

lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]
lathe.symbol "p" range [1, -1]
lathe.symbol "h" range [1, 4096] hints [120, 1000]
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!y = tensor<?x?xf32, #lathe.dims<"n", "m">>
!b = tensor<?x?xf32, #lathe.dims<"m", "p">>
!h = tensor<?x?xf32, #lathe.dims<"m", "h">>
!s = tensor<?xf32, #lathe.dims<"m">>
!r = tensor<?x?xf32, #lathe.dims<"m", "2*n">>

// CHECK-LABEL: @sums
// CHECK-SAME: schedule.cases = [#schedule.case<"n = 2", #schedule.plain>, #schedule.case<"n = 3", #schedule.plain>, #schedule.case<"n = 4", #schedule.plain>, #schedule.case<"n = 5", #schedule.rows<unroll = 1>>,
// CHECK-SAME: #schedule.case<"n = 8", #schedule.rows<unroll = 1>>,
// CHECK-NOT: "n = 9"
// Vectors across rows are shuffled out of whole ones.
// CODE-LABEL: func.func private @lathe_k0_sums_avx2.way1.body
// CODE: vector.shuffle
// CODE-LABEL: func.func private @lathe_k0_sums_avx2.way2.body
// CHECK-LABEL: @turned
// CHECK-SAME: schedule.cases = [#schedule.case<"n = 2", #schedule.plain>, #schedule.case<"n = 3", #schedule.plain>, #schedule.case<"n = 4", #schedule.plain>, #schedule.case<"n = 5", #schedule.rows<unroll = 1>>,
// CHECK-SAME: #schedule.case<"n = 8", #schedule.rows<unroll = 1>>, #schedule.case<"m = 2", #schedule.plain>, #schedule.case<"m = 3"
// CHECK-SAME: #schedule.case<"m = 8", #schedule.rows<unroll = 1>>, #schedule.case<"n = 1", #schedule.plain>, #schedule.case<"m = 1", #schedule.plain>, #schedule.case<#schedule.rows<>>]
// Of rows that are repeated, and nothing else, those of one element, too: they are whole vectors.
// CHECK-LABEL: @twice
// CHECK-SAME: schedule.cases = [#schedule.case<"n = 1", #schedule.plain>, #schedule.case<"n = 2", #schedule.plain>
// CHECK-LABEL: @each
// CHECK-SAME: #schedule.case<"p = n", #schedule.plain>, #schedule.case<"p = 1", #schedule.plain>, #schedule.case<"n = 1", #schedule.plain>, #schedule.case<#schedule.rows<>>]
// One behind the other they are one row; of the sizes that are expected none is short; what is read under a predicate is no plain row.
// CHECK-LABEL: @flat
// CHECK-SAME: schedule.cases = [#schedule.case<#schedule.rows<>>]
// CHECK-LABEL: @hinted
// CHECK-NOT: h = 2
// CHECK-LABEL: @predicated
// CHECK-NOT: n = 2
func.func @f(%x: !x, %b: !b, %h: !h) -> (!s, !y, !r, !x, !x, !s, !x) {
  %0 = kernel.generic reduction @sums axes(i = "m", j = "n") ins(%x : !x) outs(!s) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["n*i + j"] : <f32> -> f32
    %y = kernel.reduce add %v over ["j"] : f32
    kernel.store %y, %out["i"] : f32, <f32>
  }
  %1 = kernel.generic loop @turned axes(i = "n", j = "m") ins(%x : !x) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["n*j + i"] : <f32> -> f32
    kernel.store %v, %out["m*i + j"] : f32, <f32>
  }
  %2 = kernel.generic loop @twice axes(i = "m", j = "2*n") ins(%x : !x) outs(!r) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["n*i + mod(j, n)"] : <f32> -> f32
    kernel.store %v, %out["2*n*i + j"] : f32, <f32>
  }
  %3 = kernel.generic loop @each axes(i = "m", j = "n") ins(%x, %b : !x, !b) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %c: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["n*i + j"] : <f32> -> f32
    %w = kernel.load %c["p*i + min(j, p - 1)"] : <f32> -> f32
    %y = arith.mulf %v, %w : f32
    kernel.store %y, %out["n*i + j"] : f32, <f32>
  }
  %4 = kernel.generic loop @flat axes(i = "m", j = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["n*i + j"] : <f32> -> f32
    %y = arith.negf %v : f32
    kernel.store %y, %out["n*i + j"] : f32, <f32>
  }
  %5 = kernel.generic reduction @hinted axes(i = "m", j = "h") ins(%h : !h) outs(!s) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %v = kernel.load %a["h*i + j"] : <f32> -> f32
    %y = kernel.reduce add %v over ["j"] : f32
    kernel.store %y, %out["i"] : f32, <f32>
  }
  %6 = kernel.generic loop @predicated axes(i = "m", j = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %zero = arith.constant 0 : i64
    %none = arith.constant 0.0 : f32
    %l = kernel.index "j - 1"
    %p = arith.cmpi sge, %l, %zero : i64
    %v = kernel.load %a["n*i + j - 1"] if %p : <f32> -> f32
    %y = arith.select %p, %v, %none : f32
    kernel.store %y, %out["n*i + j"] : f32, <f32>
  }
  return %0, %1, %2, %3, %4, %5, %6 : !s, !y, !r, !x, !x, !s, !x
}

// A product of bytes is no row program: it has one way.
// CHECK-LABEL: func.func @bytes
// CHECK: @product
// CHECK-SAME: schedule.cases = [#schedule.case<#schedule.rows<>>]
!u = tensor<?x?xi8, #lathe.dims<"m", "p">>
!w = tensor<?x?xi8, #lathe.dims<"p", "n">>
!i = tensor<?x?xi32, #lathe.dims<"m", "n">>
func.func @bytes(%a: !u, %b: !w) -> !i {
  %0 = kernel.generic reduction @product axes(i = "m", j = "n", k = "p") ins(%a, %b : !u, !w) outs(!i) {
  ^bb0(%x: !kernel.ref<i8>, %y: !kernel.ref<i8>, %out: !kernel.ref<i32>):
    %0 = kernel.load %x["p*i + k"] : <i8> -> i8
    %1 = kernel.load %y["n*k + j"] : <i8> -> i8
    %2 = arith.extui %0 : i8 to i32
    %3 = arith.extsi %1 : i8 to i32
    %4 = arith.muli %2, %3 : i32
    %5 = kernel.reduce add %4 over ["k"] : i32
    kernel.store %5, %out["n*i + j"] : i32, <i32>
  }
  return %0 : !i
}
