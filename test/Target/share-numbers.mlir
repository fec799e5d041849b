// RUN: lathe-opt %s --split-input-file --lathe-share-numbers=fewest=3 --lathe-verify-accesses | FileCheck %s
// RUN: lathe-opt %s --split-input-file --lathe-share-numbers=fewest=4 | FileCheck %s --check-prefix=FEW

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
