// RUN: lathe-opt %s --split-input-file --lathe-form-kernels --lathe-verify-accesses | FileCheck %s

// Ops share a kernel only where each of them has all of its elements there.

// A sum over half of x, and a function of the whole of x: the sum's rows are only some of the function's.
// CHECK-LABEL: func.func @main
// CHECK: kernel.generic reduction @{{.*}} axes(i0 = "6", i1 = "8")
// CHECK-NOT: kernel.store
// CHECK: kernel.reduce
// CHECK: kernel.generic loop @tanh axes(i0 = "6", i1 = "16")
func.func @main(%x: tensor<6x16xf32>) -> (tensor<6xf32>, tensor<6x16xf32>) {
  %0 = lathe.slice %x starts ["0", "8"] steps [1, 1] : tensor<6x16xf32> -> tensor<6x8xf32>
  %1 = lathe.reduce sum %0 axes [1] : tensor<6x8xf32> -> tensor<6xf32>
  %2 = lathe.tanh %x : tensor<6x16xf32>
  return %1, %2 : tensor<6xf32>, tensor<6x16xf32>
}

// -----

// Two sums over the same rows share a kernel, and so does what is computed at all of their elements.
// CHECK-LABEL: func.func @main
// CHECK: kernel.generic reduction @{{.*}} axes(i0 = "6", i1 = "16")
// CHECK-COUNT-2: kernel.reduce
// CHECK-NOT: kernel.generic
func.func @main(%x: tensor<6x16xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6x16xf32>) {
  %1 = lathe.reduce sum %x axes [1] : tensor<6x16xf32> -> tensor<6xf32>
  %2 = lathe.reduce max %x axes [1] : tensor<6x16xf32> -> tensor<6xf32>
  %3 = lathe.tanh %x : tensor<6x16xf32>
  return %1, %2, %3 : tensor<6xf32>, tensor<6xf32>, tensor<6x16xf32>
}

// -----

// Steps of a slice: every third column.
// CHECK-LABEL: func.func @main
// CHECK: kernel.generic {{.*}} axes(i0 = "6", i1 = "4")
// CHECK: kernel.generic {{.*}} axes(i0 = "6", i1 = "10")
func.func @main(%x: tensor<6x10xf32>) -> (tensor<6xf32>, tensor<6x10xf32>) {
  %0 = lathe.slice %x starts ["0", "9"] steps [1, -3] : tensor<6x10xf32> -> tensor<6x4xf32>
  %1 = lathe.reduce sum %0 axes [1] : tensor<6x4xf32> -> tensor<6xf32>
  %2 = lathe.cast %x : tensor<6x10xf32> -> tensor<6x10xf32>
  return %1, %2 : tensor<6xf32>, tensor<6x10xf32>
}

// -----

// The border of a convolution is zero, whatever the image is made by: the select stands behind the exponential.
// CHECK-LABEL: func.func @main
// CHECK: %[[V:.*]] = kernel.load %{{.*}}["8*i1 + i2 + 64*i3 - 9"] if %[[P:.*]] : <f32> -> f32
// CHECK: %[[E:.*]] = math.exp %[[V]]
// CHECK: %[[Y:.*]] = kernel.load %{{.*}}["8*i1 + i2 + 64*i3 - 9"] if %[[P]] : <f32> -> f32
// CHECK: %[[S:.*]] = arith.addf %[[E]], %[[Y]]
// CHECK: arith.select %[[P]], %[[S]], %{{.*}} : f32
// CHECK: kernel.reduce add
func.func @main(%x: tensor<1x2x8x8xf32>, %y: tensor<1x2x8x8xf32>, %w: tensor<4x2x1x1xf32>) -> tensor<1x4x10x10xf32> {
  %e = lathe.exp %x : tensor<1x2x8x8xf32>
  %0 = lathe.add %e, %y : tensor<1x2x8x8xf32>
  %1 = lathe.conv %0, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<1x2x8x8xf32>, tensor<4x2x1x1xf32> -> tensor<1x4x10x10xf32>
  return %1 : tensor<1x4x10x10xf32>
}

// -----

// A slice by a size of which nothing is known: the read is checked when it runs, and the kernel says so.
!n = tensor<?xf32, #lathe.dims<"n">>
!k = tensor<?xf32, #lathe.dims<"k">>
// CHECK-LABEL: func.func @main
// CHECK: unfused = ["exp: the bounds of 1 reads are not proven, they are checked in the kernel"]
// CHECK: %[[OFFSET:.*]] = kernel.index "i0 + 3"
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : i64
// CHECK: kernel.load %{{.*}}["i0 + 3"] if %{{.*}} else %{{.*}}
module {
  lathe.symbol "n" range [1, -1]
  lathe.symbol "k" range [1, -1]
  func.func @main(%x: !n) -> !k {
    %0 = lathe.slice %x starts ["3"] steps [1] : !n -> !k
    %1 = lathe.exp %0 : !k
    return %1 : !k
  }
}

// -----

// What a maximum is compared with is read from memory, not computed again: a product and a sum may be one operation in one pass over
// the row and two in the other.
// CHECK-LABEL: func.func @main
// CHECK: kernel.generic {{.*}} axes(i0 = "4", i1 = "16")
// CHECK: arith.mulf
// CHECK: kernel.reduce max
// CHECK: kernel.generic {{.*}} unfused = [{{.*}}it compares values of this kernel for equality, which are computed anew at each pass
// CHECK-NOT: arith.mulf
// CHECK: arith.cmpf oeq
func.func @main(%x: tensor<4x16xf32>, %a: tensor<4x16xf32>, %b: tensor<4x16xf32>) -> tensor<4xi64> {
  %m = lathe.mul %x, %a : tensor<4x16xf32>
  %v = lathe.add %m, %b : tensor<4x16xf32>
  %max = lathe.reduce max %v axes [1] : tensor<4x16xf32> -> tensor<4xf32>
  %max1 = lathe.reshape %max : tensor<4xf32> -> tensor<4x1xf32>
  %max2 = lathe.broadcast %max1 : tensor<4x1xf32> -> tensor<4x16xf32>
  %is = lathe.compare eq %v, %max2 : tensor<4x16xf32>, tensor<4x16xf32> -> tensor<4x16xi1>
  %at = lathe.iota 1 : tensor<4x16xi64>
  %none = lathe.constant dense<16> : tensor<i64>
  %none1 = lathe.broadcast %none : tensor<i64> -> tensor<4x16xi64>
  %where = lathe.select %is, %at, %none1 : tensor<4x16xi1>, tensor<4x16xi64>, tensor<4x16xi64> -> tensor<4x16xi64>
  %first = lathe.reduce min %where axes [1] : tensor<4x16xi64> -> tensor<4xi64>
  return %first : tensor<4xi64>
}
