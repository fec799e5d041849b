// RUN: lathe-opt %s --lathe-form-kernels --lathe-verify-accesses | FileCheck %s
// RUN: lathe-opt %s '--lathe-form-kernels=extends-rows=false' | FileCheck %s --check-prefix=KEPT

// Rows behind a transpose are summed, and their elements computed from the sums stay in its order: they are brought into order first.
// CHECK-LABEL: func.func @in_front
// CHECK: %[[T:.*]] = kernel.generic loop @{{.*}} axes(i0 = "2", i1 = "30", i2 = "40")
// CHECK: kernel.load %{{.*}}["1200*i0 + i1 + 30*i2"]
// CHECK: kernel.store %{{.*}}["1200*i0 + 40*i1 + i2"]
// CHECK: kernel.generic reduction @{{.*}} ins(%[[T]] :
// CHECK: kernel.load %{{.*}}["1200*i0 + 40*i1 + i2"]
// CHECK: kernel.reduce add
// CHECK: kernel.store %{{.*}}["1200*i0 + 40*i1 + i2"]
// CHECK-NOT: kernel.generic
func.func @in_front(%x: tensor<2x40x30xf32>) -> tensor<2x30x40xf32> {
  %0 = lathe.transpose %x [0, 2, 1] : tensor<2x40x30xf32> -> tensor<2x30x40xf32>
  %1 = lathe.reduce sum %0 axes [2] : tensor<2x30x40xf32> -> tensor<2x30xf32>
  %2 = lathe.reshape %1 : tensor<2x30xf32> -> tensor<2x30x1xf32>
  %3 = lathe.broadcast %2 : tensor<2x30x1xf32> -> tensor<2x30x40xf32>
  %4 = lathe.sub %0, %3 : tensor<2x30x40xf32>
  return %4 : tensor<2x30x40xf32>
}

// So it is where rows are read as half types and computed with in another one.
// CHECK-LABEL: func.func @behind_halves
// CHECK: kernel.generic reduction
// CHECK-NOT: kernel.store %{{.*}}["1200*i0 + i1
// CHECK: kernel.generic loop
// CHECK: kernel.store %{{.*}}["1200*i0 + 30*i1 + i2"] : bf16
func.func @behind_halves(%h: tensor<2x30x40xbf16>) -> tensor<2x40x30xbf16> {
  %x = lathe.cast %h : tensor<2x30x40xbf16> -> tensor<2x30x40xf32>
  %1 = lathe.reduce sum %x axes [2] : tensor<2x30x40xf32> -> tensor<2x30xf32>
  %2 = lathe.reshape %1 : tensor<2x30xf32> -> tensor<2x30x1xf32>
  %3 = lathe.broadcast %2 : tensor<2x30x1xf32> -> tensor<2x30x40xf32>
  %4 = lathe.sub %x, %3 : tensor<2x30x40xf32>
  %5 = lathe.cast %4 : tensor<2x30x40xf32> -> tensor<2x30x40xbf16>
  %6 = lathe.transpose %5 [0, 2, 1] : tensor<2x30x40xbf16> -> tensor<2x40x30xbf16>
  %7 = lathe.abs %6 : tensor<2x40x30xbf16>
  return %7 : tensor<2x40x30xbf16>
}

// Turned back they are read and stored as they lie, down the columns.
// CHECK-LABEL: func.func @turned_back
// CHECK: kernel.generic reduction
// CHECK: kernel.load %{{.*}}["1200*i0 + i1 + 30*i2"]
// CHECK: kernel.store %{{.*}}["1200*i0 + i1 + 30*i2"]
// CHECK-NOT: kernel.generic
func.func @turned_back(%x: tensor<2x40x30xf32>) -> tensor<2x40x30xf32> {
  %0 = lathe.transpose %x [0, 2, 1] : tensor<2x40x30xf32> -> tensor<2x30x40xf32>
  %1 = lathe.reduce sum %0 axes [2] : tensor<2x30x40xf32> -> tensor<2x30xf32>
  %2 = lathe.reshape %1 : tensor<2x30xf32> -> tensor<2x30x1xf32>
  %3 = lathe.broadcast %2 : tensor<2x30x1xf32> -> tensor<2x30x40xf32>
  %4 = lathe.sub %0, %3 : tensor<2x30x40xf32>
  %5 = lathe.transpose %4 [0, 2, 1] : tensor<2x30x40xf32> -> tensor<2x40x30xf32>
  return %5 : tensor<2x40x30xf32>
}

// The sums alone are made where the rows lie.
// CHECK-LABEL: func.func @sums
// CHECK: kernel.generic reduction
// CHECK: kernel.load %{{.*}}["1200*i0 + i1 + 30*i2"]
// CHECK-NOT: kernel.generic
func.func @sums(%x: tensor<2x40x30xf32>) -> tensor<2x30xf32> {
  %0 = lathe.transpose %x [0, 2, 1] : tensor<2x40x30xf32> -> tensor<2x30x40xf32>
  %1 = lathe.reduce sum %0 axes [2] : tensor<2x30x40xf32> -> tensor<2x30xf32>
  return %1 : tensor<2x30xf32>
}

// In front of a transpose rows are summed along, and what is computed from the sums is turned by a kernel of its own.
// CHECK-LABEL: func.func @behind
// CHECK: kernel.generic reduction
// CHECK: kernel.load %{{.*}}["1200*i0 + 30*i1 + i2"]
// CHECK: kernel.generic loop
// CHECK-SAME: its elements would lie along another axis than the rows
// CHECK: kernel.store %{{.*}}["1200*i0 + 40*i1 + i2"]
// CHECK-NOT: kernel.generic
func.func @behind(%x: tensor<2x40x30xf32>) -> tensor<2x30x40xf32> {
  %1 = lathe.reduce sum %x axes [2] : tensor<2x40x30xf32> -> tensor<2x40xf32>
  %2 = lathe.reshape %1 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %3 = lathe.broadcast %2 : tensor<2x40x1xf32> -> tensor<2x40x30xf32>
  %4 = lathe.sub %x, %3 : tensor<2x40x30xf32>
  %5 = lathe.transpose %4 [0, 2, 1] : tensor<2x40x30xf32> -> tensor<2x30x40xf32>
  return %5 : tensor<2x30x40xf32>
}

// A running sum is stored along what it was read along.
// CHECK-LABEL: func.func @scanned
// CHECK: kernel.generic scan
// CHECK: kernel.store %{{.*}}["1200*i0 + 30*i1 + i2"]
// CHECK: kernel.generic loop
// CHECK: kernel.store %{{.*}}["1200*i0 + 40*i1 + i2"]
func.func @scanned(%x: tensor<2x40x30xf32>) -> tensor<2x30x40xf32> {
  %0 = lathe.scan sum %x axis 1 : tensor<2x40x30xf32>
  %1 = lathe.transpose %0 [0, 2, 1] : tensor<2x40x30xf32> -> tensor<2x30x40xf32>
  return %1 : tensor<2x30x40xf32>
}

// A few elements lie in a line of a cache whatever their order.
// CHECK-LABEL: func.func @short
// CHECK: kernel.generic reduction
// CHECK: kernel.load %{{.*}}["120*i0 + i1 + 3*i2"]
// CHECK-NOT: kernel.generic
func.func @short(%x: tensor<2x40x3xf32>) -> tensor<2x3x40xf32> {
  %0 = lathe.transpose %x [0, 2, 1] : tensor<2x40x3xf32> -> tensor<2x3x40xf32>
  %1 = lathe.reduce sum %0 axes [2] : tensor<2x3x40xf32> -> tensor<2x3xf32>
  %2 = lathe.reshape %1 : tensor<2x3xf32> -> tensor<2x3x1xf32>
  %3 = lathe.broadcast %2 : tensor<2x3x1xf32> -> tensor<2x3x40xf32>
  %4 = lathe.sub %0, %3 : tensor<2x3x40xf32>
  return %4 : tensor<2x3x40xf32>
}

// What is kept in two orders is stored by one kernel, or, where a target's kernels store in one order, by two.
// RUN: lathe-opt %s --lathe-form-kernels=stores-both-ways=0 | FileCheck %s --check-prefix=ONE
// CHECK-LABEL: func.func @both
// CHECK: kernel.generic loop
// CHECK: kernel.store %{{.*}}["1200*i0 + 30*i1 + i2"]
// CHECK: kernel.store %{{.*}}["1200*i0 + i1 + 40*i2"]
// CHECK-NOT: kernel.generic
// ONE-LABEL: func.func @both
// ONE: kernel.generic loop
// ONE: kernel.store
// ONE-NOT: kernel.store
// ONE: kernel.generic loop
// ONE: kernel.store
func.func @both(%x: tensor<2x40x30xf32>) -> (tensor<2x40x30xf32>, tensor<2x30x40xf32>) {
  %0 = lathe.abs %x : tensor<2x40x30xf32>
  %1 = lathe.transpose %0 [0, 2, 1] : tensor<2x40x30xf32> -> tensor<2x30x40xf32>
  return %0, %1 : tensor<2x40x30xf32>, tensor<2x30x40xf32>
}

// Of an image with channels last, enlarged with channels first, each element is stored twice: in order they are read as vectors.
// CHECK-LABEL: func.func @enlarged
// CHECK: %[[T:.*]] = kernel.generic loop @{{.*}} axes(i0 = "s0", i1 = "24", i2 = "5", i3 = "s1")
// CHECK: kernel.generic loop @{{.*}} ins(%[[T]] :
// CHECK: kernel.load %{{.*}}["{{.*}}floordiv(i3, 2){{.*}}"]
// CHECK-NOT: kernel.generic
lathe.symbol "s0" range [1, 64]
lathe.symbol "s1" range [1, 64]
!image = tensor<?x5x?x24xf32, #lathe.dims<"s0", "5", "s1", "24">>
!turned = tensor<?x24x5x?xf32, #lathe.dims<"s0", "24", "5", "s1">>
!apart = tensor<?x24x5x?x1xf32, #lathe.dims<"s0", "24", "5", "s1", "1">>
!twice = tensor<?x24x5x?x2xf32, #lathe.dims<"s0", "24", "5", "s1", "2">>
!enlarged = tensor<?x24x5x?xf32, #lathe.dims<"s0", "24", "5", "2*s1">>
func.func @enlarged(%x: !image) -> !enlarged {
  %0 = lathe.transpose %x [0, 3, 1, 2] : !image -> !turned
  %1 = lathe.reshape %0 : !turned -> !apart
  %2 = lathe.broadcast %1 : !apart -> !twice
  %3 = lathe.reshape %2 : !twice -> !enlarged
  return %3 : !enlarged
}

// Repeated more often it is not: a vector has one element.
// CHECK-LABEL: func.func @spread
// CHECK: kernel.generic loop
// CHECK-NOT: kernel.generic
func.func @spread(%x: tensor<2x40x30xf32>) -> tensor<2x30x40x64xf32> {
  %0 = lathe.transpose %x [0, 2, 1] : tensor<2x40x30xf32> -> tensor<2x30x40xf32>
  %1 = lathe.reshape %0 : tensor<2x30x40xf32> -> tensor<2x30x40x1xf32>
  %2 = lathe.broadcast %1 : tensor<2x30x40x1xf32> -> tensor<2x30x40x64xf32>
  return %2 : tensor<2x30x40x64xf32>
}

// Rows whose elements are repeated, as those of an image enlarged to the nearest are, and that go through several passes are stored first, unless they stay in
// registers; what sums them once reads them as they are, and a row's own number is no repeated element.
// CHECK-LABEL: func.func @repeated
// CHECK: %[[X:.*]] = kernel.generic loop @{{.*}} outs(tensor<3x80xf32>)
// CHECK: kernel.generic reduction @{{.*}} ins(%[[X]] : tensor<3x80xf32>) outs(tensor<3x80xf32>)
// CHECK: return
// CHECK-LABEL: func.func @short_row
// CHECK: kernel.generic reduction @{{.*}} outs(tensor<3x4xf32>)
// CHECK-NOT: kernel.generic
// CHECK: return
// CHECK-LABEL: func.func @summed
// CHECK: kernel.generic reduction @{{.*}} ins(%{{.*}} : tensor<3x40xf32>) outs(tensor<3xf32>)
// CHECK-NOT: kernel.generic
// CHECK: return
// KEPT-LABEL: func.func @repeated
// KEPT: kernel.generic reduction @{{.*}} ins(%{{.*}} : tensor<3x40xf32>) outs(tensor<3x80xf32>)
// KEPT-NOT: kernel.generic
// KEPT: return
func.func @repeated(%x: tensor<3x40xf32>) -> tensor<3x80xf32> {
  %0 = lathe.reshape %x : tensor<3x40xf32> -> tensor<3x40x1xf32>
  %1 = lathe.broadcast %0 : tensor<3x40x1xf32> -> tensor<3x40x2xf32>
  %2 = lathe.reshape %1 : tensor<3x40x2xf32> -> tensor<3x80xf32>
  %3 = lathe.reduce max %2 axes [1] : tensor<3x80xf32> -> tensor<3xf32>
  %4 = lathe.reshape %3 : tensor<3xf32> -> tensor<3x1xf32>
  %5 = lathe.broadcast %4 : tensor<3x1xf32> -> tensor<3x80xf32>
  %6 = lathe.sub %2, %5 : tensor<3x80xf32>
  return %6 : tensor<3x80xf32>
}
func.func @short_row(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = lathe.reduce max %x axes [1] : tensor<3x4xf32> -> tensor<3xf32>
  %1 = lathe.reshape %0 : tensor<3xf32> -> tensor<3x1xf32>
  %2 = lathe.broadcast %1 : tensor<3x1xf32> -> tensor<3x4xf32>
  %3 = lathe.sub %x, %2 : tensor<3x4xf32>
  %4 = lathe.exp %3 : tensor<3x4xf32>
  %5 = lathe.reduce sum %4 axes [1] : tensor<3x4xf32> -> tensor<3xf32>
  %6 = lathe.reshape %5 : tensor<3xf32> -> tensor<3x1xf32>
  %7 = lathe.broadcast %6 : tensor<3x1xf32> -> tensor<3x4xf32>
  %8 = lathe.div %4, %7 : tensor<3x4xf32>
  return %8 : tensor<3x4xf32>
}
func.func @summed(%x: tensor<3x40xf32>) -> tensor<3xf32> {
  %0 = lathe.reshape %x : tensor<3x40xf32> -> tensor<3x40x1xf32>
  %1 = lathe.broadcast %0 : tensor<3x40x1xf32> -> tensor<3x40x2xf32>
  %2 = lathe.reshape %1 : tensor<3x40x2xf32> -> tensor<3x80xf32>
  %3 = lathe.reduce sum %2 axes [1] : tensor<3x80xf32> -> tensor<3xf32>
  return %3 : tensor<3xf32>
}

// What takes elements one by one along the lanes, as the columns of a resized image are taken, is stored before it is repeated, brought into another order, or
// summed, unless threads take them.
// CHECK-LABEL: func.func @taken
// CHECK: %[[X:.*]] = kernel.generic loop @{{.*}} outs(tensor<3x60xf32>)
// CHECK: kernel.generic loop @{{.*}} ins(%[[X]] : tensor<3x60xf32>) outs(tensor<3x120xf32>)
// CHECK: kernel.generic loop @{{.*}} ins(%[[X]] : tensor<3x60xf32>) outs(tensor<60x3xf32>)
// CHECK: return
// CHECK-LABEL: func.func @taken_and_summed
// CHECK: %[[X:.*]] = kernel.generic loop @{{.*}} outs(tensor<3x60xf32>)
// CHECK: kernel.generic reduction @{{.*}} ins(%[[X]] : tensor<3x60xf32>)
// KEPT-LABEL: func.func @taken_and_summed
// KEPT: kernel.generic reduction @{{.*}} outs(tensor<3xf32>)
// KEPT-NOT: kernel.generic
// KEPT: return
func.func @taken(%x: tensor<3x40xf32>, %i: tensor<60xi64>) -> (tensor<3x120xf32>, tensor<60x3xf32>) {
  %0 = lathe.gather %x, %i axis 1 : tensor<3x40xf32>, tensor<60xi64> -> tensor<3x60xf32>
  %1 = lathe.mul %0, %0 : tensor<3x60xf32>
  %2 = lathe.reshape %1 : tensor<3x60xf32> -> tensor<3x60x1xf32>
  %3 = lathe.broadcast %2 : tensor<3x60x1xf32> -> tensor<3x60x2xf32>
  %4 = lathe.reshape %3 : tensor<3x60x2xf32> -> tensor<3x120xf32>
  %5 = lathe.transpose %1 [1, 0] : tensor<3x60xf32> -> tensor<60x3xf32>
  return %4, %5 : tensor<3x120xf32>, tensor<60x3xf32>
}
func.func @taken_and_summed(%x: tensor<3x40xf32>, %i: tensor<60xi64>) -> tensor<3xf32> {
  %0 = lathe.gather %x, %i axis 1 : tensor<3x40xf32>, tensor<60xi64> -> tensor<3x60xf32>
  %1 = lathe.neg %0 : tensor<3x60xf32>
  %2 = lathe.reduce sum %1 axes [1] : tensor<3x60xf32> -> tensor<3xf32>
  return %2 : tensor<3xf32>
}
