// Running sums of rows that lie one behind the other. Short ones are one run of elements: a lane takes the one before it where its place in the row
// says so, and the last result of the vector before where its row has begun there; one masked vector ends all of them. Longer ones, and rows that are
// read in another order, come one by one.
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | lathe-kernel - --variant avx512 --emit=mlir | FileCheck %s

lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [1, 9223372036854775807]
!x = tensor<?x?xf32, #lathe.dims<"m", "n">>

// CHECK-LABEL: func.func private @lathe_k0_rows_avx512.body
// CHECK: arith.cmpi slt, %{{.*}}, %c96_i64
// CHECK: arith.remui %{{.*}} : vector<16xi32>
// CHECK: %[[reach:.*]] = arith.minui %[[place:.*]], %{{.*}} : vector<16xi32>
// CHECK: %[[one:.*]] = arith.cmpi uge, %[[reach]]
// CHECK: %[[turned:.*]] = vector.shuffle %[[x:.*]], %[[x]] [31, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
// CHECK: %[[sum:.*]] = arith.addf %[[turned]], %[[x]]
// CHECK: arith.select %[[one]], %[[sum]], %[[x]]
// CHECK: arith.cmpi ugt, %[[place]]
// CHECK: arith.minui %{{.*}} : vector<16xi32>
// One row after the other: what comes in is -0.
// CHECK: %[[zero:.*]] = arith.constant dense<-0.000000e+00> : vector<16xf32>
// CHECK: vector.shuffle %{{.*}}, %[[zero]] [16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
func.func @rows(%x: !x) -> !x {
  %0 = kernel.generic scan @rows axes(i = "m", j = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.scan add %1 along "j" : f32
    kernel.store %2, %out["n*i + j"] : f32, <f32>
  }
  return %0 : !x
}

// CHECK-LABEL: func.func private @lathe_k1_column_avx512.body
// CHECK-NOT: arith.remui %{{.*}} : vector<16xi32>
// CHECK: return
func.func @column(%x: !x, %y: tensor<?xf32, #lathe.dims<"m">>) -> !x {
  %0 = kernel.generic scan @column axes(i = "m", j = "n") ins(%x, %y : !x, tensor<?xf32, #lathe.dims<"m">>) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.scan add %1 along "j" : f32
    %3 = kernel.load %b["i"] : <f32> -> f32
    %4 = arith.mulf %2, %3 : f32
    kernel.store %4, %out["n*i + j"] : f32, <f32>
  }
  return %0 : !x
}
