// RUN: lathe-opt %s --split-input-file --lathe-form-kernels --lathe-split-scatters --lathe-verify-accesses | FileCheck %s

!x = tensor<50x8xf32>
!u = tensor<20x8xf32>
// An argument is not written: its elements are copied first. The second scatter updates the result of the first, and the third one
// that of a kernel which nobody else reads.
// CHECK-LABEL: func.func @main
// CHECK: %[[D:.*]] = kernel.generic loop @scatter_data axes(i0 = "50", i1 = "8") ins(%arg0 : tensor<50x8xf32>) {{.*}}updated
// CHECK-NOT: indirect
// CHECK: %[[S:.*]] = kernel.generic scatter @scatter axes(i0 = "50", i1 = "8", i2 = "20")
// CHECK-SAME: ins(%arg1, %arg2, %[[D]] :
// CHECK-SAME: in_place = 2 : i64
// CHECK: %[[OLD:.*]] = kernel.load %{{.*}}["8*i0 + i1"]
// CHECK: kernel.store %[[OLD]], %{{.*}}["8*i0 + i1"]
// CHECK: combine add
// CHECK-NOT: kernel.generic loop
// CHECK: kernel.generic scatter @scatter_1
// CHECK-SAME: ins(%[[S]],
// CHECK-SAME: in_place = 0 : i64
func.func @main(%x: !x, %i: tensor<20x8xi64>, %u: !u) -> !x {
  %0 = lathe.scatter add %x, %u at (%i) places [-1, 1] : !x, !u, tensor<20x8xi64> -> !x
  %1 = lathe.scatter mul %0, %u at (%i) places [-1, 1] : !x, !u, tensor<20x8xi64> -> !x
  return %1 : !x
}

// -----

!x = tensor<50x8xf32>
!u = tensor<20x8xf32>
// What is read later, or by the updates themselves, is copied.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = kernel.generic loop @exp
// CHECK: %[[D:.*]] = kernel.generic loop @scatter_data {{.*}} ins(%[[E]] :
// CHECK: kernel.generic scatter @scatter
// CHECK-SAME: %[[D]] :
// CHECK: kernel.generic loop @add
func.func @main(%x: !x, %i: tensor<20x8xi64>, %u: !u) -> !x {
  %e = lathe.exp %x : !x
  %0 = lathe.scatter set %e, %u at (%i) places [-1, 1] : !x, !u, tensor<20x8xi64> -> !x
  %1 = lathe.add %0, %e : !x
  return %1 : !x
}

// -----

!x = tensor<50x8xf32>
!u = tensor<20x8xf32>
// What a state of the model holds before the run is updated where it lies, when this is its last use.
// CHECK-LABEL: func.func @main
// CHECK-NOT: kernel.generic loop
// CHECK: kernel.generic scatter @scatter
// CHECK-SAME: in_place = 0 : i64
func.func @main(%x: !x {lathe.state = "rows"}, %i: tensor<20x8xi64>, %u: !u) -> (!x {lathe.state = "rows"}) {
  %0 = lathe.scatter set %x, %u at (%i) places [-1, 1] : !x, !u, tensor<20x8xi64> -> !x
  return %0 : !x
}

// -----

!x = tensor<50x8xf32>
!u = tensor<20x8xf32>
// The model also gives the old value.
// CHECK-LABEL: func.func @main
// CHECK: %[[D:.*]] = kernel.generic loop @scatter_data
// CHECK: kernel.generic scatter @scatter
// CHECK-SAME: %[[D]] :
func.func @main(%x: !x {lathe.state = "rows"}, %i: tensor<20x8xi64>, %u: !u) -> (!x, !x {lathe.state = "rows"}) {
  %0 = lathe.scatter set %x, %u at (%i) places [-1, 1] : !x, !u, tensor<20x8xi64> -> !x
  return %x, %0 : !x, !x
}
