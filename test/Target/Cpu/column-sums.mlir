// Sums down the columns of 16 MB: 8 rows at a time are read from left to right, their columns' sums wait in scratch memory (those of floats for blocks
// of 128 rows beside those for all), and results are made of what is there in the end. A range of a single block of columns goes down its stripe, as
// all sums of what is less than a core's table of pages spans; where sizes are open, the call says.
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir > %t
// RUN: FileCheck %s < %t

// CHECK-LABEL: func.func private @lathe_k0_large_avx2.body
// CHECK: %[[range:.*]] = arith.subi %{{.*}}, %{{.*}} : i64
// CHECK: %[[isWide:.*]] = arith.cmpi sge, %[[range]], %c2_i64
// CHECK: scf.if %[[isWide]]
// What waits begins with nothing.
// CHECK: llvm.store %{{.*}} : vector<8xf32>
// CHECK: llvm.store %{{.*}} : vector<8xf32>
// CHECK: scf.for {{.*}} to %{{.*}} step %c128_i64
// CHECK: scf.for {{.*}} step %c8_i64
// CHECK: scf.for {{.*}} step %c64_i64
// CHECK-COUNT-8: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-8: llvm.store
// The block is added to the rest.
// CHECK: arith.addf
// CHECK: } else {
// CHECK: scf.for {{.*}} step %c128_i64
// CHECK: return
func.func @large(%x: tensor<4096x1024xf32, #lathe.dims<"4096", "1024">>) -> tensor<1024xf32, #lathe.dims<"1024">> {
  %0 = kernel.generic reduction @large axes(i = "4096", j = "1024") ins(%x : tensor<4096x1024xf32, #lathe.dims<"4096", "1024">>) outs(tensor<1024xf32, #lathe.dims<"1024">>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["1024*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["i"] : f32
    kernel.store %2, %out["j"] : f32, <f32>
  }
  return %0 : tensor<1024xf32, #lathe.dims<"1024">>
}

// CHECK-LABEL: func.func private @lathe_k1_small_avx2.body
// CHECK-NOT: scf.if
// CHECK: return
func.func @small(%x: tensor<512x1024xf32, #lathe.dims<"512", "1024">>) -> tensor<1024xf32, #lathe.dims<"1024">> {
  %0 = kernel.generic reduction @small axes(i = "512", j = "1024") ins(%x : tensor<512x1024xf32, #lathe.dims<"512", "1024">>) outs(tensor<1024xf32, #lathe.dims<"1024">>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["1024*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["i"] : f32
    kernel.store %2, %out["j"] : f32, <f32>
  }
  return %0 : tensor<1024xf32, #lathe.dims<"1024">>
}

// Of open sizes the bytes are asked for, too.
// CHECK-LABEL: func.func private @lathe_k2_open_avx2.body
// CHECK: %[[bytes:.*]] = arith.cmpi ugt, %{{.*}}, %c4194304_i64
// CHECK: %[[both:.*]] = arith.andi %[[bytes]], %{{.*}} : i1
// CHECK: scf.if %[[both]]
// CHECK: step %c128_i64
// CHECK: step %c8_i64
// CHECK: } else {
// CHECK: return
lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [1, 9223372036854775807]
func.func @open(%x: tensor<?x?xf32, #lathe.dims<"m", "n">>) -> tensor<?xf32, #lathe.dims<"n">> {
  %0 = kernel.generic reduction @open axes(i = "m", j = "n") ins(%x : tensor<?x?xf32, #lathe.dims<"m", "n">>) outs(tensor<?xf32, #lathe.dims<"n">>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["n*i + j"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i"] : f32
    kernel.store %2, %out["j"] : f32, <f32>
  }
  return %0 : tensor<?xf32, #lathe.dims<"n">>
}

// What needs the sum at each of its terms goes down twice.
// CHECK-LABEL: func.func private @lathe_k3_variance_avx2.body
// CHECK-NOT: scf.if
// CHECK: return
func.func @variance(%x: tensor<4096x1024xf32, #lathe.dims<"4096", "1024">>) -> tensor<1024xf32, #lathe.dims<"1024">> {
  %0 = kernel.generic reduction @variance axes(i = "4096", j = "1024") ins(%x : tensor<4096x1024xf32, #lathe.dims<"4096", "1024">>) outs(tensor<1024xf32, #lathe.dims<"1024">>) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["1024*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["i"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = arith.mulf %3, %3 : f32
    %5 = kernel.reduce add %4 over ["i"] : f32
    kernel.store %5, %out["j"] : f32, <f32>
  }
  return %0 : tensor<1024xf32, #lathe.dims<"1024">>
}

// What is stored at places that the sum does not have stands behind it many times.
// CHECK-LABEL: func.func private @lathe_k4_spread_avx2.body
// CHECK-NOT: scf.if
// CHECK: return
func.func @spread(%x: tensor<4096x1024xf32, #lathe.dims<"4096", "1024">>, %y: tensor<3x1024xf32, #lathe.dims<"3", "1024">>) -> tensor<3x1024xf32, #lathe.dims<"3", "1024">> {
  %0 = kernel.generic reduction @spread axes(j = "1024", k = "3", i = "4096") ins(%x, %y : tensor<4096x1024xf32, #lathe.dims<"4096", "1024">>, tensor<3x1024xf32, #lathe.dims<"3", "1024">>) outs(tensor<3x1024xf32, #lathe.dims<"3", "1024">>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["1024*i + j"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["i"] : f32
    %3 = kernel.load %b["1024*k + j"] : <f32> -> f32
    %4 = arith.addf %2, %3 : f32
    kernel.store %4, %out["1024*k + j"] : f32, <f32>
  }
  return %0 : tensor<3x1024xf32, #lathe.dims<"3", "1024">>
}
