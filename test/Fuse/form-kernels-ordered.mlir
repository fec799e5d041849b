// RUN: lathe-opt %s --lathe-form-kernels --lathe-verify-accesses | FileCheck %s

// Scans and sorts: what makes their elements is computed inside, what follows elementwise is computed on the way out.

!x = tensor<?x?x8xf32, #lathe.dims<"n", "c", "8">>
!h = tensor<?x?xf16, #lathe.dims<"n", "c">>
!m = tensor<?x?xf32, #lathe.dims<"n", "c">>
!k = tensor<?x?xf32, #lathe.dims<"n", "k">>
!i = tensor<?x?xi64, #lathe.dims<"n", "k">>
!o = tensor<?x?x8xf32, #lathe.dims<"n", "k", "8">>
!oi = tensor<?x?x8xi64, #lathe.dims<"n", "k", "8">>
!ot = tensor<?x8x?xi64, #lathe.dims<"n", "8", "k">>
!ot1 = tensor<?x8x?x1xi64, #lathe.dims<"n", "8", "k", "1">>
!vt = tensor<?x8x?xf32, #lathe.dims<"n", "8", "k">>
!xt = tensor<?x8x?xf32, #lathe.dims<"n", "8", "c">>
!i1 = tensor<?x?x1xi64, #lathe.dims<"n", "k", "1">>

module {
lathe.symbol "n" range [1, -1]
lathe.symbol "c" range [1, -1]
lathe.symbol "k" range [0, -1]
lathe.relation "k" "le" "c"

// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = kernel.generic scan @scan axes(i0 = "n", i1 = "c", i2 = "8")
// CHECK: %[[X:.*]] = kernel.load %{{.*}}["8*c*i0 + 8*i1 + i2"]
// CHECK: %[[E:.*]] = math.exp %[[X]]
// CHECK: %[[R:.*]] = kernel.scan add %[[E]] along "i1" {exclusive, reverse} : f32
// CHECK: %[[P:.*]] = arith.mulf %[[R]], %[[X]]
// CHECK: kernel.store %[[P]], %{{.*}}["8*c*i0 + 8*i1 + i2"]
// A reduction needs the whole row, and starts a kernel of its own.
// CHECK: kernel.generic reduction @reduce_reduce
// CHECK-SAME: unfused = ["mul -> reduce: a reduction does not fit behind a scan, a sort or a transform"
// CHECK-NOT: kernel.generic
func.func @main(%x: !x) -> (!x, !m) {
  %0 = lathe.exp %x : !x
  %1 = lathe.scan sum %0 axis 1 {exclusive, reverse} : !x
  %2 = lathe.mul %1, %x : !x
  %3 = lathe.reduce sum %2 axes [2] : !x -> !m
  return %2, %3 : !x, !m
}

// Halves are added as f32.
// CHECK-LABEL: func.func @half
// CHECK: arith.extf
// CHECK: kernel.scan max %{{.*}} along "i1" : f32
// CHECK: arith.truncf
func.func @half(%x: !h) -> !h {
  %0 = lathe.scan max %x axis 1 : !h
  return %0 : !h
}

// The elements are taken in the order that the kernel makes; the axis of the results comes before that of the keys.
// CHECK-LABEL: func.func @top
// CHECK: kernel.generic sort @sort axes(i0 = "n", i2 = "k", i1 = "c")
// CHECK: %[[X:.*]] = kernel.load %[[IN:.*]]["c*i0 + i1"]
// CHECK: %[[N:.*]] = arith.negf %[[X]]
// CHECK: %[[S:.*]] = kernel.sort %[[N]] along "i1" to "i2" {descending} : f32
// CHECK: kernel.store %[[S]], %{{.*}}["i0*k + i2"]
// CHECK: %[[V:.*]] = kernel.load %{{.*}}["c*i0 + $0"] indirect(%{{.*}})
// CHECK: kernel.store %[[V]], %{{.*}}["i0*k + i2"]
// CHECK-NOT: kernel.generic
func.func @top(%x: !m, %y: !m) -> (!k, !i) {
  %0 = lathe.neg %x : !m
  %1 = lathe.sort %0 axis 1 {descending} : !m -> !i
  %2 = lathe.reshape %1 : !i -> !i1
  %3 = lathe.gather_nd %y, %2 batch 1 : !m, !i1 -> !k
  return %3, %1 : !k, !i
}

// Single elements behind a transposition, as a selection along an outer axis takes them, are read where they are: no kernel writes them twice.
// CHECK-LABEL: func.func @outer
// CHECK: kernel.generic loop @neg
// CHECK: kernel.store
// CHECK-NOT: kernel.store
// CHECK: kernel.generic sort
func.func @outer(%x: !x) -> !o {
  %0 = lathe.neg %x : !x
  %1 = lathe.sort %0 axis 1 {descending} : !x -> !oi
  %2 = lathe.transpose %0 [0, 2, 1] : !x -> !xt
  %3 = lathe.transpose %1 [0, 2, 1] : !oi -> !ot
  %4 = lathe.reshape %3 : !ot -> !ot1
  %5 = lathe.gather_nd %2, %4 batch 2 : !xt, !ot1 -> !vt
  %6 = lathe.transpose %5 [0, 2, 1] : !vt -> !o
  return %6 : !o
}

// What chooses elements, and what they are, is computed inside; each goes behind as many as are chosen in front of it.
// CHECK-LABEL: func.func @chosen
// CHECK: kernel.generic scan @compact axes(i0 = "c")
// CHECK: %[[X:.*]] = kernel.load %{{.*}}["i0"]
// CHECK: %[[P:.*]] = arith.cmpf ogt, %[[X]]
// CHECK: %[[E:.*]] = math.exp %[[X]]
// CHECK: %[[ONE:.*]] = arith.extui %[[P]] : i1 to i64
// CHECK: %[[S:.*]] = kernel.scan add %[[ONE]] along "i0" {exclusive} : i64
// CHECK: %[[LOW:.*]] = arith.cmpi slt, %[[S]], %{{.*}} : i64
// CHECK: %[[Q:.*]] = arith.andi %[[P]], %[[LOW]]
// CHECK: kernel.store %[[E]], %{{.*}}["$0"] indirect(%{{.*}}) if %[[Q]]
// What follows reads it from memory.
// CHECK: kernel.generic loop @neg{{.*}} axes(i0 = "k")
// CHECK-SAME: compact -> neg: 
func.func @chosen(%x: tensor<?xf32, #lathe.dims<"c">>) -> tensor<?xf32, #lathe.dims<"k">> {
  %0 = lathe.constant dense<1.0> : tensor<f32>
  %1 = lathe.broadcast %0 : tensor<f32> -> tensor<?xf32, #lathe.dims<"c">>
  %2 = lathe.compare gt %x, %1 : tensor<?xf32, #lathe.dims<"c">>, tensor<?xf32, #lathe.dims<"c">> -> tensor<?xi1, #lathe.dims<"c">>
  %3 = lathe.exp %x : tensor<?xf32, #lathe.dims<"c">>
  %4 = lathe.compact %3 where %2 : tensor<?xf32, #lathe.dims<"c">>, tensor<?xi1, #lathe.dims<"c">> -> tensor<?xf32, #lathe.dims<"k">>
  %5 = lathe.neg %4 : tensor<?xf32, #lathe.dims<"k">>
  return %5 : tensor<?xf32, #lathe.dims<"k">>
}
}
