// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=ASM

// Windows of three in rows of 28: every vector runs under the masks of its loads, of which three together are fewer than two ends and
// an interior. The larger of two is a comparison with its selection, which is one instruction, and a NaN's selection.

// CHECK-LABEL: func.func private @lathe_k0_short_avx512.body(
// CHECK-NOT: arith.ceildivsi
// CHECK-COUNT-4: llvm.intr.masked.load {{.*}} vector<16xf32>
// CHECK-NOT: arith.ceildivsi
// CHECK-LABEL: func.func @lathe_k0_short_avx512_plan

// ASM-LABEL: lathe_k0_short_avx512.body:
// ASM: vcmpunordps
// ASM: vmaxps {{.*}}%zmm

// Long rows have an interior without masks.
// CHECK-LABEL: func.func private @lathe_k1_long_avx512.body(
// CHECK: arith.ceildivsi
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-LABEL: func.func @lathe_k1_long_avx512_plan

// Of rows of open length the length decides.
// CHECK-LABEL: func.func private @lathe_k2_open_avx512.body(
// CHECK: %[[SHORT:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : i64
// CHECK: scf.if %[[SHORT]]
// CHECK-NOT: llvm.load {{.*}} -> vector<16xf32>
// CHECK: } else {
// CHECK: arith.ceildivsi
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-LABEL: func.func @lathe_k2_open_avx512_plan

// Every other element: of the two vectors from which seven come, each has its part of the mask, and nothing gathers. Five apart they are
// gathered.
// CHECK-LABEL: func.func private @lathe_k3_apart_avx512.body(
// CHECK: vector.shuffle %[[MASK:.*]], %{{.*}} [0, 16, 1, 16, 2, 16, 3, 16, 4, 16, 5, 16, 6, 16, 7, 16] : vector<16xi1>, vector<16xi1>
// CHECK: llvm.intr.masked.load
// CHECK: vector.shuffle %[[MASK]], %{{.*}} [16, 8, 16, 9, 16, 10, 16, 11, 16, 12, 16, 13, 16, 14, 16, 15] : vector<16xi1>, vector<16xi1>
// CHECK: llvm.intr.masked.load
// CHECK-NOT: llvm.intr.masked.gather
// CHECK-LABEL: func.func private @lathe_k4_farther_avx512.body(
// CHECK: llvm.intr.masked.gather

// Windows that step: a mask is split for the vectors of each load, and a row of 56 has an interior.
// CHECK-LABEL: func.func private @lathe_k5_stepping_avx512.body(
// CHECK: arith.ceildivsi
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-LABEL: func.func @lathe_k5_stepping_avx512_plan
func.func @short(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @short axes(n = "R", i = "28") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %zero = arith.constant 0 : i64
    %end = kernel.index "28"
    %fill = arith.constant 0xFF800000 : f32
    %at0 = kernel.index "i - 1"
    %p0 = arith.cmpi sge, %at0, %zero : i64
    %x0 = kernel.load %in0["28*n + i - 1"] if %p0 else %fill : <f32> else f32 -> f32
    %x1 = kernel.load %in0["28*n + i"] : <f32> -> f32
    %at2 = kernel.index "i + 1"
    %p2 = arith.cmpi slt, %at2, %end : i64
    %x2 = kernel.load %in0["28*n + i + 1"] if %p2 else %fill : <f32> else f32 -> f32
    %m0 = arith.maximumf %x0, %x1 : f32
    %m1 = arith.maximumf %m0, %x2 : f32
    kernel.store %m1, %out0["28*n + i"] : f32, <f32>
  }
  return
}
func.func @long(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @long axes(n = "R", i = "200") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %zero = arith.constant 0 : i64
    %end = kernel.index "200"
    %fill = arith.constant 0xFF800000 : f32
    %at0 = kernel.index "i - 1"
    %p0 = arith.cmpi sge, %at0, %zero : i64
    %x0 = kernel.load %in0["200*n + i - 1"] if %p0 else %fill : <f32> else f32 -> f32
    %x1 = kernel.load %in0["200*n + i"] : <f32> -> f32
    %at2 = kernel.index "i + 1"
    %p2 = arith.cmpi slt, %at2, %end : i64
    %x2 = kernel.load %in0["200*n + i + 1"] if %p2 else %fill : <f32> else f32 -> f32
    %m0 = arith.maximumf %x0, %x1 : f32
    %m1 = arith.maximumf %m0, %x2 : f32
    kernel.store %m1, %out0["200*n + i"] : f32, <f32>
  }
  return
}
func.func @open(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @open axes(n = "R", i = "W") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %zero = arith.constant 0 : i64
    %end = kernel.index "W"
    %fill = arith.constant 0xFF800000 : f32
    %at0 = kernel.index "i - 1"
    %p0 = arith.cmpi sge, %at0, %zero : i64
    %x0 = kernel.load %in0["W*n + i - 1"] if %p0 else %fill : <f32> else f32 -> f32
    %x1 = kernel.load %in0["W*n + i"] : <f32> -> f32
    %at2 = kernel.index "i + 1"
    %p2 = arith.cmpi slt, %at2, %end : i64
    %x2 = kernel.load %in0["W*n + i + 1"] if %p2 else %fill : <f32> else f32 -> f32
    %m0 = arith.maximumf %x0, %x1 : f32
    %m1 = arith.maximumf %m0, %x2 : f32
    kernel.store %m1, %out0["W*n + i"] : f32, <f32>
  }
  return
}
func.func @apart(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @apart axes(n = "R", i = "7") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x0 = kernel.load %in0["15*n + 2*i"] : <f32> -> f32
    kernel.store %x0, %out0["7*n + i"] : f32, <f32>
  }
  return
}
func.func @farther(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @farther axes(n = "R", i = "7") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x0 = kernel.load %in0["36*n + 5*i"] : <f32> -> f32
    kernel.store %x0, %out0["7*n + i"] : f32, <f32>
  }
  return
}
func.func @stepping(%a0: tensor<?xf32>) {
  %r0 = kernel.generic loop @stepping axes(n = "R", i = "56") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %zero = arith.constant 0 : i64
    %end = kernel.index "112"
    %fill = arith.constant 0xFF800000 : f32
    %at0 = kernel.index "2*i - 1"
    %p0 = arith.cmpi sge, %at0, %zero : i64
    %x0 = kernel.load %in0["112*n + 2*i - 1"] if %p0 else %fill : <f32> else f32 -> f32
    %at2 = kernel.index "2*i + 1"
    %p2 = arith.cmpi slt, %at2, %end : i64
    %x2 = kernel.load %in0["112*n + 2*i + 1"] if %p2 else %fill : <f32> else f32 -> f32
    %m0 = arith.maximumf %x0, %x2 : f32
    kernel.store %m0, %out0["56*n + i"] : f32, <f32>
  }
  return
}
