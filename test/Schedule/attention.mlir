// Of an attention: how many queries read keys and values together, and how many keys come at a time.
// RUN: lathe-opt %s --lathe-schedule=machine=sm_90 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=sm_75 | FileCheck %s --check-prefix=TURING
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s --check-prefix=CPU
// RUN: lathe-cuda %s --kernel=open --sm=90 --emit=entries | FileCheck %s --check-prefix=ENTRIES
// RUN: lathe-cuda %s --kernel=open --sm=90 --emit=plan --size=b=2 --size=q=4 --size=k=64 | FileCheck %s --check-prefix=FEW
// RUN: lathe-cuda %s --kernel=open --sm=90 --emit=plan --size=b=2 --size=q=5 --size=k=64 | FileCheck %s --check-prefix=MANY
// RUN: sed 's/outs(!x) {/outs(!x) attributes {schedule.cases = [#schedule.case<#schedule.attention<queries = 64>>]} {/' %s > %t.threads.mlir
// RUN: lathe-cuda %t.threads.mlir --kernel=open --sm=90 --emit=entries | FileCheck %s --check-prefix=THREADS
// RUN: sed 's/outs(!x) {/outs(!x) attributes {schedule.cases = [#schedule.case<#schedule.attention<queries = 16, keys = 64>>]} {/' %s > %t.vector.mlir
// RUN: lathe-kernel %t.vector.mlir --variant avx512 --emit=mlir | FileCheck %s --check-prefix=VECTOR
// RUN: sed 's/queries = 16/queries = 129/' %t.vector.mlir | not lathe-opt 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: sed 's/keys = 64/keys = 8/' %t.vector.mlir | not lathe-opt 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: sed 's/#schedule.attention<queries = 16, keys = 64>/#schedule.rows<>/' %t.vector.mlir | not lathe-opt 2>&1 | FileCheck %s --check-prefix=CLASS
// WRONG: queries: expected 1 to 128
// KEYS: keys: expected 16 to 512
// VECTOR: arith.subi %{{.*}}, %c16_i64
// VECTOR: scf.for {{.*}} step %c64
// CLASS: S3: #schedule.rows<> is not for kernels of class attention

!x = tensor<?x?x64xf16, #lathe.dims<"b", "q", "64">>
!k = tensor<?x?x64xf16, #lathe.dims<"b", "k", "64">>

module {
lathe.symbol "b" range [1, -1]
lathe.symbol "q" range [1, -1]
lathe.symbol "k" range [1, -1]

// CHECK: @open {{.*}} attributes {schedule.cases = [#schedule.case<"q <= 4", #schedule.attention<queries = 1>>, #schedule.case<#schedule.attention<>>]}
// TURING: @open {{.*}} attributes {schedule.cases = [#schedule.case<"q <= 8", #schedule.attention<queries = 1>>, #schedule.case<#schedule.attention<>>]}
// CPU: @open {{.*}} attributes {schedule.cases = [#schedule.case<"q <= 5", #schedule.attention<queries = 1>>, #schedule.case<#schedule.attention<>>]}
// ENTRIES: attention_wgmma
// ENTRIES: attention_few_queries
// FEW: {{^}}1 8 1 1 512
// MANY: {{^}}0 2 1 1 384
// THREADS-NOT: attention_few_queries
// THREADS: attention_simt
// THREADS-NOT: attention_few_queries
func.func @f(%q: !x, %k: !k, %v: !k) -> !x {
  %0 = kernel.generic attention @open axes(i0 = "b", i1 = "q", i2 = "64", i3 = "k", i4 = "64") ins(%q, %k, %v : !x, !k, !k) outs(!x) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %c: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.attention %a["64*i0*q + 64*i1 + i4"], %b["64*i0*k + 64*i3 + i4"], %c["64*i0*k + 64*i3 + i2"]
        query "i1" key "i3" depth "i4" value "i2" : (!kernel.ref<f16>, !kernel.ref<f16>, !kernel.ref<f16>) -> f32 {
    ^bb0(%s: f32):
      %h = arith.constant 0.125 : f32
      %t = arith.mulf %s, %h : f32
      kernel.yield %t : f32
    }
    %2 = arith.truncf %1 : f32 to f16
    kernel.store %2, %out["64*i0*q + 64*i1 + i2"] : f16, <f16>
  }
  return %0 : !x
}

// A step of a decoder.
// CPU: @step {{.*}} attributes {schedule.cases = [#schedule.case<#schedule.attention<queries = 1>>]}
// CHECK: @step {{.*}} attributes {schedule.cases = [#schedule.case<#schedule.attention<queries = 1>>]}
func.func @g(%q: tensor<8x1x64xf16>, %k: tensor<8x?x64xf16>, %v: tensor<8x?x64xf16>) -> tensor<8x1x64xf16> {
  %0 = kernel.generic attention @step axes(i0 = "8", i1 = "1", i2 = "64", i3 = "k", i4 = "64")
      ins(%q, %k, %v : tensor<8x1x64xf16>, tensor<8x?x64xf16>, tensor<8x?x64xf16>) outs(tensor<8x1x64xf16>) {
  ^bb0(%a: !kernel.ref<f16>, %b: !kernel.ref<f16>, %c: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.attention %a["64*i0 + 64*i1 + i4"], %b["64*i0*k + 64*i3 + i4"], %c["64*i0*k + 64*i3 + i2"]
        query "i1" key "i3" depth "i4" value "i2" : (!kernel.ref<f16>, !kernel.ref<f16>, !kernel.ref<f16>) -> f32 {
    ^bb0(%s: f32):
      kernel.yield %s : f32
    }
    %2 = arith.truncf %1 : f32 to f16
    kernel.store %2, %out["64*i0 + 64*i1 + i2"] : f16, <f16>
  }
  return %0 : tensor<8x1x64xf16>
}
}
