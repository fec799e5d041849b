// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-opt --lathe-schedule=machine=baseline | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule="machine=avx2" | FileCheck %s --check-prefix=AVX2
// RUN: lathe-opt %s --lathe-schedule="machine=avx2 most=10" | FileCheck %s --check-prefix=MOST
// RUN: lathe-opt %s --lathe-schedule=machine=baseline | FileCheck %s --check-prefix=BASELINE
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s --check-prefix=CODE
// RUN: not lathe-opt %s --lathe-schedule=machine=sm_91 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: no machine 'sm_91' in the table of machines

!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!y = tensor<?x?xf32, #lathe.dims<"m", "k">>
!w = tensor<?x?xf32, #lathe.dims<"k", "n">>
!h = tensor<?x?xf32, #lathe.dims<"m", "h">>
!rest = tensor<?xf32, #lathe.dims<"-floordiv(max(-max(0, n - 2) + min(6, n), 0) - n + 1, 2) + 1">>
!b = tensor<?x?xf32, #lathe.dims<"m", "p">>
!merged = tensor<?xf32, #lathe.dims<"64*n + k">>

module {
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]
lathe.symbol "k" range [1, -1]
lathe.symbol "p" range [1, -1]
lathe.symbol "h" range [1, 4096] hints [120, 1000]

// Rows that are read three times: in registers where they fit, which masks make possible.
// CHECK: @softmax {{.*}} attributes {schedule.cases = [{{.*}}#schedule.case<"n <= 16", #schedule.rows<persist = 1>>, #schedule.case<"n <= 32 and 16 < n", #schedule.rows<persist = 2>>,
// CHECK-SAME: #schedule.case<"n <= 48 and 32 < n", #schedule.rows<persist = 3>>,
// CHECK-SAME: #schedule.case<"n = 64", #schedule.rows<persist = 4>>, #schedule.case<"n <= 64 and 48 < n", #schedule.rows<persist = 4>>,
// CHECK-SAME: #schedule.case<"n <= 80 and 64 < n", #schedule.rows<persist = 5>>, #schedule.case<"n <= 96 and 80 < n", #schedule.rows<persist = 6>>,
// CHECK-SAME: #schedule.case<"n <= 112 and 96 < n", #schedule.rows<persist = 7>>,
// CHECK-SAME: #schedule.case<"n = 128", #schedule.rows<persist = 8>>, #schedule.case<"n <= 128 and 112 < n", #schedule.rows<persist = 8>>,
// CHECK-SAME: #schedule.case<"n = 256", #schedule.rows<persist = 16>>,
// Longer ones are whole trips of the loop, or leave something over.
// CHECK-SAME: #schedule.case<"mod(n, 64) = 0", #schedule.rows<>>, #schedule.case<#schedule.rows<>>]}
// AVX2: @softmax {{.*}} attributes {schedule.cases = [{{.*}}#schedule.case<"n = 4", #schedule.plain>, {{.*}}#schedule.case<"n = 8", #schedule.rows<unroll = 1>>, #schedule.case<"n = 1", #schedule.plain>, {{.*}}#schedule.case<"n = 48", #schedule.rows<persist = 6>>, {{.*}}#schedule.case<"n = 128", #schedule.rows<>>, #schedule.case<"mod(n, 32) = 0", #schedule.rows<>>, #schedule.case<#schedule.rows<>>]}
// MOST: @softmax {{.*}} attributes {schedule.cases = [{{.*}}#schedule.case<"n = 6", #schedule.rows<unroll = 1>>, #schedule.case<"n = 1", #schedule.plain>, #schedule.case<"n <= 16 and 8 < n", #schedule.rows<persist = 2>>, #schedule.case<"n = 128", #schedule.rows<>>, #schedule.case<"mod(n, 32) = 0", #schedule.rows<>>, #schedule.case<#schedule.rows<>>]}
// BASELINE: @softmax {{.*}} attributes {schedule.cases = [{{.*}}#schedule.case<"n = 4", #schedule.plain>, #schedule.case<"n = 1", #schedule.plain>, #schedule.case<"mod(n, 16) = 0", #schedule.rows<>>, #schedule.case<#schedule.rows<>>]}

// The entry and the plan ask in this order; a kernel that runs in one way has one body.
// CODE: func.func private @lathe_k0_softmax_avx512.body
// CODE: func.func private @lathe_k0_softmax_avx512.way18.body
// CODE: func.func @lathe_k0_softmax_avx512(
// CODE: arith.cmpi eq, %{{.*}}, %c2_i64
// CODE-NEXT: scf.if
// CODE-NEXT: func.call @lathe_k0_softmax_avx512.body(
// CODE: arith.cmpi sle, %{{.*}}, %c16_i64
// CODE-NEXT: scf.if
// CODE-NEXT: func.call @lathe_k0_softmax_avx512.way8.body(
// CODE: func.call @lathe_k0_softmax_avx512.way18.body(
// CODE: func.func @lathe_k0_softmax_avx512_plan(
// CODE-COUNT-9: scf.if
func.func @softmax(%x: !x) -> !x {
  %0 = kernel.generic reduction @softmax axes(i0 = "m", i1 = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i0*n + i1"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i1"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = kernel.reduce add %4 over ["i1"] : f32
    %6 = arith.divf %4, %5 : f32
    kernel.store %6, %out["i0*n + i1"] : f32, <f32>
  }
  return %0 : !x
}

// Of the sizes that are expected, 120 alone fits: what serves no other is not made.
// CHECK: @hinted {{.*}} attributes {schedule.cases = [#schedule.case<"h <= 128 and 112 < h", #schedule.rows<persist = 8>>, #schedule.case<#schedule.rows<>>]}
func.func @hinted(%x: !h) -> !h {
  %0 = kernel.generic reduction @hinted axes(i0 = "m", i1 = "h") ins(%x : !h) outs(!h) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["h*i0 + i1"] : <f32> -> f32
    %2 = math.exp %1 : f32
    %5 = kernel.reduce add %2 over ["i1"] : f32
    %6 = arith.divf %2, %5 : f32
    kernel.store %6, %out["h*i0 + i1"] : f32, <f32>
  }
  return %0 : !h
}

// Few columns beyond whole panels: half a panel for them, where each panel asks. One row, or one column, is a row of products.
// CHECK: @product {{.*}} attributes {schedule.cases = [#schedule.case<"m = 1", #schedule.plain>, #schedule.case<"n = 1", #schedule.plain>, #schedule.case<"k <= 80", #schedule.tiles<narrow = 16, direct = 1>>, #schedule.case<#schedule.tiles<narrow = 16>>]}
// CODE: @lathe_k2_product_avx512.way1.body({{.*}}
// CODE: %[[ROW:.*]] = llvm.load %{{.*}} -> vector<16xf32>
// CODE: %[[VECTOR:.*]] = llvm.load %{{.*}} -> vector<16xf32>
// CODE: arith.mulf %[[ROW]], %[[VECTOR]]
// CODE: func.func private @lathe_k2_product_avx512.way2.body(
func.func @product(%x: !y, %w: !w) -> !x {
  %0 = kernel.generic contraction @product axes(i0 = "m", i1 = "n", i2 = "k") ins(%x, %w : !y, !w) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["i0*k + i2"], %b["i2*n + i1"] over ["i2"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["i0*n + i1"] : f32, <f32>
  }
  return %0 : !x
}

// A matrix by a vector for each of a batch: rows of products, though the matrix comes first.
// CHECK: @vectors {{.*}} attributes {schedule.cases = [{{.*}}#schedule.case<#schedule.rows<>>]}
func.func @vectors(%x: tensor<8x12x64xf32>, %w: tensor<8x64xf32>) -> tensor<8x12xf32> {
  %0 = kernel.generic contraction @vectors axes(i0 = "8", i1 = "12", i2 = "64") ins(%x, %w : tensor<8x12x64xf32>, tensor<8x64xf32>) outs(tensor<8x12xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %v: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["768*i0 + 64*i1 + i2"], %v["64*i0 + i2"] over ["i2"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["12*i0 + i1"] : f32, <f32>
  }
  return %0 : tensor<8x12xf32>
}

// Of a matrix of which no two elements lie side by side, rows of products would gather.
// CHECK: @apart {{.*}} attributes {schedule.cases = [#schedule.case<#schedule.tiles<narrow = 16>>]}
func.func @apart(%x: tensor<12x128xf32>, %w: tensor<64xf32>) -> tensor<12xf32> {
  %0 = kernel.generic contraction @apart axes(i0 = "12", i1 = "64") ins(%x, %w : tensor<12x128xf32>, tensor<64xf32>) outs(tensor<12xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %v: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["128*i0 + 2*i1"], %v["i1"] over ["i1"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["i0"] : f32, <f32>
  }
  return %0 : tensor<12xf32>
}

// Where nothing is repeated in a call, nothing gathers.
// CHECK: @broadcast {{.*}} attributes {schedule.cases = [{{.*}}#schedule.case<"p = n", #schedule.plain>, #schedule.case<"p = 1", #schedule.plain>, {{.*}}#schedule.case<#schedule.rows<>>]}
// CODE-LABEL: func.func private @lathe_k5_broadcast_avx512.way7.body(
// CODE-NOT: llvm.intr.masked.gather
// CODE-LABEL: func.func private @lathe_k5_broadcast_avx512.way9.body(
func.func @broadcast(%x: !b, %y: !x) -> !x {
  %0 = kernel.generic loop @broadcast axes(i0 = "m", i1 = "n") ins(%x, %y : !b, !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i0*p + min(i1, p - 1)"] : <f32> -> f32
    %2 = kernel.load %b["i0*n + i1"] : <f32> -> f32
    %3 = arith.addf %1, %2 : f32
    kernel.store %3, %out["i0*n + i1"] : f32, <f32>
  }
  return %0 : !x
}

// What the shorter rows are not says how the length is written: more than 16, so that none of n is cut off at 6.
// CHECK: @window {{.*}} attributes {schedule.cases = [{{.*}}#schedule.rows<persist = 4>>
// CODE: func.func private @{{.*}}window_avx512.way{{.*}}.body
func.func @window(%x: !rest) -> tensor<f32> {
  %0 = kernel.generic reduction @window axes(i0 = "-floordiv(max(-max(0, n - 2) + min(6, n), 0) - n + 1, 2) + 1")
      ins(%x : !rest) outs(tensor<f32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i0"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i0"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i0"] : f32
    kernel.store %4, %out["0"] : f32, <f32>
  }
  return %0 : tensor<f32>
}

// Where k is 64 the rows lie side by side and are one that is longer: no schedule for rows of 64 is one for that row.
// CHECK: @merged {{.*}} attributes {schedule.cases = [#schedule.case<"k <= 16", #schedule.rows<persist = 1>>, #schedule.case<"k <= 32 and 16 < k", #schedule.rows<persist = 2>>,
// CHECK-SAME: #schedule.case<"k <= 64 and 48 < k", #schedule.rows<persist = 4>>, {{.*}}#schedule.case<"k = 128", #schedule.rows<persist = 8>>,
// CODE: func.func private @{{.*}}merged_avx512.way{{.*}}.body
func.func @merged(%x: !merged) -> tensor<f32> {
  %0 = kernel.generic reduction @merged axes(i0 = "n", i1 = "k") ins(%x : !merged) outs(tensor<f32>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["64*i0 + i1"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i0", "i1"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i0", "i1"] : f32
    kernel.store %4, %out["0"] : f32, <f32>
  }
  return %0 : tensor<f32>
}
}
