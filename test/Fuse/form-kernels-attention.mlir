// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

!h = tensor<2x4x49x32xf32>
!t = tensor<2x4x32x49xf32>

// Values whose columns lie apart are copied into order first: attention in blocks reads them as vectors.
// CHECK-LABEL: func.func @columns
// CHECK: kernel.generic loop
// CHECK: kernel.load %{{.*}}["{{.*}}49*i3{{.*}}"]
// CHECK: kernel.generic attention
// CHECK: kernel.attention {{.*}}["6272*i0 + 1568*i1 + i3 + 32*i4"] query "i2" key "i4" depth "i5" value "i3"
func.func @columns(%q: !h, %k: !h, %v: !t) -> !h {
  %0 = lathe.transpose %v [0, 1, 3, 2] : !t -> !h
  %1 = lathe.attention %q, %k, %0 : !h, !h, !h -> !h {
  ^bb0(%s: f32, %b: i64, %n: i64, %i: i64, %j: i64):
    lathe.yield %s : f32
  }
  return %1 : !h
}

// Rows that lie apart are read where they are.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: kernel.generic loop
// CHECK: kernel.generic attention
func.func @rows(%q: !h, %k: !h, %v: tensor<2x49x4x32xf32>) -> !h {
  %0 = lathe.transpose %v [0, 2, 1, 3] : tensor<2x49x4x32xf32> -> !h
  %1 = lathe.attention %q, %k, %0 : !h, !h, !h -> !h {
  ^bb0(%s: f32, %b: i64, %n: i64, %i: i64, %j: i64):
    lathe.yield %s : f32
  }
  return %1 : !h
}
