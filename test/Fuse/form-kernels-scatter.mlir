// RUN: lathe-opt %s --split-input-file --lathe-guard-sizes --lathe-form-kernels --lathe-verify-accesses | FileCheck %s

// Rows of updates go to rows of the data: what makes either is computed where it is stored, and the columns are one axis of both. The
// exponential reads the result once all updates are there.
// CHECK-LABEL: func.func @main
// CHECK: kernel.generic scatter @scatter axes(i0 = "50", i1 = "8", i2 = "20")
// CHECK: ^bb0(%[[X:.*]]: !kernel.ref<f32>, %[[I:.*]]: !kernel.ref<i64>, %[[U:.*]]: !kernel.ref<f32>, %[[OUT:.*]]: !kernel.ref<f32>):
// CHECK: %[[OLD:.*]] = kernel.load %[[X]]["8*i0 + i1"]
// CHECK: %[[NEG:.*]] = arith.negf %[[OLD]]
// CHECK: kernel.store %[[NEG]], %[[OUT]]["8*i0 + i1"] : f32, <f32>
// CHECK: %[[ROW:.*]] = kernel.load %[[I]]["i2"] : <i64> -> i64
// CHECK: %[[START:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ROW]]
// CHECK: arith.cmpi sge, %[[START]]
// CHECK: arith.cmpi slt, %[[START]]
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: %[[AT:.*]] = arith.maxsi
// CHECK: kernel.store %{{.*}}, %[[OUT]]["8*$0 + i1"] indirect(%[[AT]]) if %[[INSIDE]] combine add : f32, <f32>
// CHECK: kernel.generic loop @exp
// CHECK-SAME: unfused = ["scatter -> exp: a scatter's updates are complete at its end"]
func.func @main(%x: tensor<50x8xf32>, %i: tensor<20x1xi64>, %u: tensor<20x8xf32>) -> tensor<50x8xf32> {
  %0 = lathe.neg %x : tensor<50x8xf32>
  %1 = lathe.broadcast %i : tensor<20x1xi64> -> tensor<20x8xi64>
  %2 = lathe.scatter add %0, %u at (%1) places [-1, 1] : tensor<50x8xf32>, tensor<20x8xf32>, tensor<20x8xi64> -> tensor<50x8xf32>
  %3 = lathe.exp %2 : tensor<50x8xf32>
  return %3 : tensor<50x8xf32>
}

// -----

// Along the last dimension: rows are an axis of both, also where only the entry's check says that they are as many. Without a
// combination the last update stays.
!x = tensor<?x6xf32, #lathe.dims<"n", "6">>
!u = tensor<?x?xf32, #lathe.dims<"n", "k">>
!i = tensor<?x?xi32, #lathe.dims<"n", "k">>
// CHECK: module
// CHECK: kernel.generic scatter @scatter axes(i0 = "n", i1 = "6", i2 = "k")
// CHECK: kernel.load %{{.*}}["i0*k + i2"] : <i32> -> i32
// CHECK: kernel.store %{{.*}}, %{{.*}}["$0 + 6*i0"] indirect(%{{.*}}) if %{{.*}} : f32, <f32>
module {
  lathe.symbol "n" range [1, -1]
  lathe.symbol "k" range [0, -1]
  func.func @main(%x: !x, %i: !i, %u: !u) -> !x {
    %0 = lathe.scatter set %x, %u at (%i) places [0, -1] : !x, !u, !i -> !x
    return %0 : !x
  }
}

// -----

// Fewer updates than columns: an axis of their own, inside of the data.
!x = tensor<4x?xi64, #lathe.dims<"4", "d">>
!u = tensor<3x?xi64, #lathe.dims<"3", "e">>
// CHECK: module
// CHECK: kernel.generic scatter @scatter axes(i0 = "4", i1 = "d", i2 = "3", i3 = "min(d, e)")
// CHECK: kernel.store %{{.*}}, %{{.*}}["$0*d + i3"] indirect(%{{.*}}) if %{{.*}} combine max : i64, <i64>
module {
  lathe.symbol "d" range [1, -1]
  lathe.symbol "e" range [1, -1]
  func.func @main(%x: !x, %i: !u, %u: !u) -> !x {
    %0 = lathe.scatter max %x, %u at (%i) places [-1, 1] : !x, !u, !u -> !x
    return %0 : !x
  }
}
