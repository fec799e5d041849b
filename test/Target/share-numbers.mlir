// RUN: lathe-opt %s --split-input-file --lathe-share-numbers=fewest=3 --lathe-verify-accesses | FileCheck %s
// RUN: lathe-opt %s --split-input-file --lathe-share-numbers=fewest=4 | FileCheck %s --check-prefix=FEW

// Layers of a quantised model differ in scales and zero points, which are arguments then: bits of what they were. What all have in common
// stays, and so does what decides how a sum is computed: where its operands lie.
// CHECK-DAG: lathe.symbol "'number 2 is 1048576000'" range[1048576000, 1048576000] is "1048576000"
// CHECK-DAG: lathe.symbol "'number 1 is 253'"
// CHECK-LABEL: func.func @layers
// CHECK: kernel.reduce
// CHECK: %[[Z:.*]] = kernel.index "'number 1 is 3'"
// CHECK: %[[B:.*]] = arith.trunci %[[Z]] : i64 to i8
// CHECK: arith.uitofp %[[B]]
// CHECK: %[[I:.*]] = kernel.index "'number 2 is 1056964608'"
// CHECK: %[[T:.*]] = arith.trunci %[[I]] : i64 to i32
// CHECK: %[[S:.*]] = arith.bitcast %[[T]] : i32 to f32
// CHECK: arith.mulf %{{.*}}, %[[S]]
// CHECK: arith.constant 2.000000e+00
// CHECK: kernel.index "'number 1 is 253'"
// CHECK: kernel.index "'number 2 is 1048576000'"
// CHECK-LABEL: func.func @apart
// CHECK-NOT: kernel.index
!x = tensor<8x4xi8>
!y = tensor<8xf32>
func.func @layers(%x: !x) -> (!y, !y, !y) {
  %a = kernel.generic reduction @a axes(i0 = "8", i1 = "4") ins(%x : !x) outs(!y) {
  ^bb0(%p: !kernel.ref<i8>, %q: !kernel.ref<f32>):
    %0 = kernel.load %p["4*i0 + i1"] : <i8> -> i8
    %1 = arith.extui %0 : i8 to i32
    %2 = kernel.reduce add %1 over ["i1"] : i32
    %none = arith.constant 0 : i32
    %3 = arith.addi %2, %none : i32
    %4 = arith.sitofp %3 : i32 to f32
    %zero = arith.constant 3 : i8
    %z = arith.uitofp %zero : i8 to f32
    %5 = arith.subf %4, %z : f32
    %scale = arith.constant 5.0e-01 : f32
    %6 = arith.mulf %5, %scale : f32
    %two = arith.constant 2.0 : f32
    %7 = arith.divf %6, %two : f32
    kernel.store %7, %q["i0"] : f32, <f32>
  }
  %b = kernel.generic reduction @b axes(i0 = "8", i1 = "4") ins(%x : !x) outs(!y) {
  ^bb0(%p: !kernel.ref<i8>, %q: !kernel.ref<f32>):
    %0 = kernel.load %p["4*i0 + i1"] : <i8> -> i8
    %1 = arith.extui %0 : i8 to i32
    %2 = kernel.reduce add %1 over ["i1"] : i32
    %none = arith.constant 0 : i32
    %3 = arith.addi %2, %none : i32
    %4 = arith.sitofp %3 : i32 to f32
    %zero = arith.constant -3 : i8
    %z = arith.uitofp %zero : i8 to f32
    %5 = arith.subf %4, %z : f32
    %scale = arith.constant 2.5e-01 : f32
    %6 = arith.mulf %5, %scale : f32
    %two = arith.constant 2.0 : f32
    %7 = arith.divf %6, %two : f32
    kernel.store %7, %q["i0"] : f32, <f32>
  }
  %c = kernel.generic reduction @c axes(i0 = "8", i1 = "4") ins(%x : !x) outs(!y) {
  ^bb0(%p: !kernel.ref<i8>, %q: !kernel.ref<f32>):
    %0 = kernel.load %p["4*i0 + i1"] : <i8> -> i8
    %1 = arith.extui %0 : i8 to i32
    %2 = kernel.reduce add %1 over ["i1"] : i32
    %none = arith.constant 0 : i32
    %3 = arith.addi %2, %none : i32
    %4 = arith.sitofp %3 : i32 to f32
    %zero = arith.constant 3 : i8
    %z = arith.uitofp %zero : i8 to f32
    %5 = arith.subf %4, %z : f32
    %scale = arith.constant 1.25e-01 : f32
    %6 = arith.mulf %5, %scale : f32
    %two = arith.constant 2.0 : f32
    %7 = arith.divf %6, %two : f32
    kernel.store %7, %q["i0"] : f32, <f32>
  }
  return %a, %b, %c : !y, !y, !y
}

// Sums over different parts of a matrix: offsets stay.
func.func @apart(%x: !x) -> (!y, !y, !y) {
  %a = kernel.generic reduction @a axes(i0 = "8", i1 = "2") ins(%x : !x) outs(!y) {
  ^bb0(%p: !kernel.ref<i8>, %q: !kernel.ref<f32>):
    %0 = kernel.load %p["4*i0 + i1"] : <i8> -> i8
    %1 = arith.uitofp %0 : i8 to f32
    %2 = kernel.reduce add %1 over ["i1"] : f32
    kernel.store %2, %q["i0"] : f32, <f32>
  }
  %b = kernel.generic reduction @b axes(i0 = "8", i1 = "2") ins(%x : !x) outs(!y) {
  ^bb0(%p: !kernel.ref<i8>, %q: !kernel.ref<f32>):
    %0 = kernel.load %p["4*i0 + i1 + 1"] : <i8> -> i8
    %1 = arith.uitofp %0 : i8 to f32
    %2 = kernel.reduce add %1 over ["i1"] : f32
    kernel.store %2, %q["i0"] : f32, <f32>
  }
  %c = kernel.generic reduction @c axes(i0 = "8", i1 = "2") ins(%x : !x) outs(!y) {
  ^bb0(%p: !kernel.ref<i8>, %q: !kernel.ref<f32>):
    %0 = kernel.load %p["4*i0 + i1 + 2"] : <i8> -> i8
    %1 = arith.uitofp %0 : i8 to f32
    %2 = kernel.reduce add %1 over ["i1"] : f32
    kernel.store %2, %q["i0"] : f32, <f32>
  }
  return %a, %b, %c : !y, !y, !y
}

// -----

// Columns of a table, and what is written where: the numbers are sizes, 0 among them.
// CHECK-DAG: lathe.symbol "'number 0 is 0'" range[0, 0] is "0"
// CHECK-DAG: lathe.symbol "'number 0 is 2'" range[2, 2] is "2"
// CHECK-DAG: lathe.symbol "'number 1 is 7'" range[7, 7] is "7"
// CHECK-LABEL: func.func @columns
// CHECK: kernel.load %{{.*}}["'number 0 is 0' + 3*i0"]
// CHECK: kernel.index "'number 1 is 5'"
// CHECK: arith.select
// CHECK: kernel.store %{{.*}}["i0"]
// CHECK: kernel.load %{{.*}}["'number 0 is 1' + 3*i0"]
// CHECK: kernel.index "'number 1 is 6'"
// CHECK: kernel.load %{{.*}}["'number 0 is 2' + 3*i0"]
// CHECK: kernel.index "'number 1 is 7'"
// FEW-NOT: number
!y = tensor<4xi64>
func.func @columns(%x: tensor<4x3xi64>) -> (!y, !y, !y) {
  %a = kernel.generic loop @a axes(i0 = "4") ins(%x : tensor<4x3xi64>) outs(!y) {
  ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
    %0 = kernel.load %p["3*i0"] : <i64> -> i64
    %c = arith.constant 5 : i64
    %z = arith.constant 1 : i64
    %1 = arith.cmpi slt, %0, %z : i64
    %2 = arith.select %1, %c, %0 : i64
    kernel.store %2, %q["i0"] : i64, <i64>
  }
  %b = kernel.generic loop @b axes(i0 = "4") ins(%x : tensor<4x3xi64>) outs(!y) {
  ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
    %0 = kernel.load %p["3*i0 + 1"] : <i64> -> i64
    %c = arith.constant 6 : i64
    %z = arith.constant 1 : i64
    %1 = arith.cmpi slt, %0, %z : i64
    %2 = arith.select %1, %c, %0 : i64
    kernel.store %2, %q["i0"] : i64, <i64>
  }
  %c = kernel.generic loop @c axes(i0 = "4") ins(%x : tensor<4x3xi64>) outs(!y) {
  ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
    %0 = kernel.load %p["3*i0 + 2"] : <i64> -> i64
    %c = arith.constant 7 : i64
    %z = arith.constant 1 : i64
    %1 = arith.cmpi slt, %0, %z : i64
    %2 = arith.select %1, %c, %0 : i64
    kernel.store %2, %q["i0"] : i64, <i64>
  }
  return %a, %b, %c : !y, !y, !y
}

// -----

// What is compared, a bound or a factor, stays a number, and so does what differs from kernel to kernel in a number below zero.
// CHECK-LABEL: func.func @bounds
// CHECK-NOT: number
!y = tensor<4xi64>
func.func @bounds(%x: !y) -> (!y, !y, !y) {
  %a = kernel.generic loop @a axes(i0 = "4") ins(%x : !y) outs(!y) {
  ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
    %0 = kernel.load %p["i0"] : <i64> -> i64
    %c = arith.constant 2 : i64
    %d = arith.constant -1 : i64
    %1 = arith.minsi %0, %c : i64
    %2 = arith.addi %1, %d : i64
    kernel.store %2, %q["i0"] : i64, <i64>
  }
  %b = kernel.generic loop @b axes(i0 = "4") ins(%x : !y) outs(!y) {
  ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
    %0 = kernel.load %p["i0"] : <i64> -> i64
    %c = arith.constant 3 : i64
    %d = arith.constant -1 : i64
    %1 = arith.minsi %0, %c : i64
    %2 = arith.addi %1, %d : i64
    kernel.store %2, %q["i0"] : i64, <i64>
  }
  %c = kernel.generic loop @c axes(i0 = "4") ins(%x : !y) outs(!y) {
  ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
    %0 = kernel.load %p["i0"] : <i64> -> i64
    %c = arith.constant 2 : i64
    %d = arith.constant -2 : i64
    %1 = arith.minsi %0, %c : i64
    %2 = arith.addi %1, %d : i64
    kernel.store %2, %q["i0"] : i64, <i64>
  }
  return %a, %b, %c : !y, !y, !y
}
