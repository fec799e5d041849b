// What long running sums of f32 hand on is an f64, each 32 steps: the sums of these steps begin anew, in f32, on top of what is in front of them. Where no
// more steps than these come, and of all but sums of f32, there is one running value.
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | lathe-kernel - --variant avx2 --emit=mlir > %t
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=OPEN --strict-whitespace < %t

// CHECK-LABEL: func.func private @lathe_k0_long_avx2.body
// CHECK: %[[all:.*]] = scf.for %[[first:.*]] = %{{.*}} to %{{.*}} step %c256{{.*}} iter_args(%[[sum:.*]] = %{{.*}}) -> (f64)
// CHECK: %[[base:.*]] = arith.truncf %[[sum]] : f64 to f32
// CHECK: %[[bases:.*]] = vector.splat %[[base]] : vector<8xf32>
// CHECK: %[[inChunk:.*]] = scf.for {{.*}} iter_args(%[[local:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK: %[[before:.*]] = arith.addf %[[bases]], %[[local]]
// CHECK: arith.addf %[[before]], %[[x:.*]] : vector<8xf32>
// CHECK: %[[next:.*]] = arith.addf %[[local]], %{{.*}}
// CHECK: scf.yield %[[next]]
// CHECK: %[[one:.*]] = vector.extract %[[inChunk]][0]
// CHECK: %[[wide:.*]] = arith.extf %[[one]] : f32 to f64
// CHECK: %[[more:.*]] = arith.addf %[[sum]], %[[wide]] : f64
// CHECK: scf.yield %[[more]] : f64
// CHECK: } {as_written}
!x = tensor<5000xf32, #lathe.dims<"5000">>
func.func @long(%x: !x) -> !x {
  %0 = kernel.generic scan @long axes(i = "5000") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    %2 = kernel.scan add %1 along "i" : f32
    kernel.store %2, %out["i"] : f32, <f32>
  }
  return %0 : !x
}

// Of an open length the call says whether it is more than one chunk.
// OPEN-LABEL: func.func private @lathe_k1_open_avx2.body
// OPEN: %[[long:.*]] = arith.cmpi sgt, %{{.*}}, %c256_i64
// OPEN: scf.if %[[long]]
// OPEN: f64
// OPEN:{{^}}      } else {
// OPEN-NOT: f64
// OPEN: return
lathe.symbol "n" range [1, 9223372036854775807]
!c = tensor<?xf32, #lathe.dims<"n">>
func.func @open(%x: !c) -> !c {
  %0 = kernel.generic scan @open axes(i = "n") ins(%x : !c) outs(!c) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    %2 = kernel.scan add %1 along "i" : f32
    kernel.store %2, %out["i"] : f32, <f32>
  }
  return %0 : !c
}

// Down columns each lane hands on its own; of many columns, whose sums wait in scratch memory, those that go on for more than 1024 steps.
// CHECK-LABEL: func.func private @lathe_k2_short_avx2.body
// CHECK-NOT: f64
// CHECK: return
!s = tensor<32x20xf32, #lathe.dims<"32", "20">>
func.func @short(%x: !s) -> !s {
  %0 = kernel.generic scan @short axes(i = "32", j = "20") ins(%x : !s) outs(!s) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["20*i + j"] : <f32> -> f32
    %2 = kernel.scan add %1 along "i" : f32
    kernel.store %2, %out["20*i + j"] : f32, <f32>
  }
  return %0 : !s
}

// CHECK-LABEL: func.func private @lathe_k3_product_avx2.body
// CHECK-NOT: f64
// CHECK: return
func.func @product(%x: !x) -> !x {
  %0 = kernel.generic scan @product axes(i = "5000") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    %2 = kernel.scan mul %1 along "i" : f32
    kernel.store %2, %out["i"] : f32, <f32>
  }
  return %0 : !x
}

// CHECK-LABEL: func.func private @lathe_k4_down_avx2.body
// CHECK: scf.for {{.*}} -> (vector<8xf64>, vector<8xf64>)
// CHECK: return
!d = tensor<333x16xf32, #lathe.dims<"333", "16">>
func.func @down(%x: !d) -> !d {
  %0 = kernel.generic scan @down axes(i = "333", j = "16") ins(%x : !d) outs(!d) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["16*i + j"] : <f32> -> f32
    %2 = kernel.scan add %1 along "i" : f32
    kernel.store %2, %out["16*i + j"] : f32, <f32>
  }
  return %0 : !d
}

// CHECK-LABEL: func.func private @lathe_k5_wide_avx2.body
// CHECK: llvm.store %{{.*}} : vector<8xf64>
// CHECK: scf.for {{.*}} step %c32_i64
// CHECK: llvm.load %{{.*}} -> vector<8xf64>
// CHECK: arith.extf %{{.*}} : vector<8xf32> to vector<8xf64>
// CHECK: return
!w = tensor<1025x300xf32, #lathe.dims<"1025", "300">>
func.func @wide(%x: !w) -> !w {
  %0 = kernel.generic scan @wide axes(i = "1025", j = "300") ins(%x : !w) outs(!w) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["300*i + j"] : <f32> -> f32
    %2 = kernel.scan add %1 along "i" : f32
    kernel.store %2, %out["300*i + j"] : f32, <f32>
  }
  return %0 : !w
}

// CHECK-LABEL: func.func private @lathe_k6_fewer_avx2.body
// CHECK-NOT: llvm.store %{{.*}} : vector<8xf64>
// CHECK: return
!f = tensor<1024x300xf32, #lathe.dims<"1024", "300">>
func.func @fewer(%x: !f) -> !f {
  %0 = kernel.generic scan @fewer axes(i = "1024", j = "300") ins(%x : !f) outs(!f) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["300*i + j"] : <f32> -> f32
    %2 = kernel.scan add %1 along "i" : f32
    kernel.store %2, %out["300*i + j"] : f32, <f32>
  }
  return %0 : !f
}
