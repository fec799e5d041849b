// How tiles read the rows of a product's first operand: where they lie, or copied where sizes say that it pays. Open sizes ask in a run.
// RUN: lathe-opt %s --lathe-schedule=machine=avx2 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=avx512 | FileCheck %s --check-prefix=AVX512

!x = tensor<?x?xf32, #lathe.dims<"m", "k">>
!t = tensor<?x?xf32, #lathe.dims<"k", "m">>
!w = tensor<?x?xf32, #lathe.dims<"k", "n">>
!y = tensor<?x?xf32, #lathe.dims<"m", "n">>
!xs = tensor<300x1024xf32>
!ws = tensor<1024x1024xf32>
!ys = tensor<300x1024xf32>
!xo = tensor<?x1024xf32, #lathe.dims<"m", "1024">>
!yo = tensor<?x1024xf32, #lathe.dims<"m", "1024">>
!xp = tensor<?x256xf32, #lathe.dims<"m", "256">>
!wp = tensor<768x256xf32>
!yp = tensor<?x768xf32, #lathe.dims<"m", "768">>
!xf = tensor<?x100xf32, #lathe.dims<"m", "100">>
!yg = tensor<?x768xf32, #lathe.dims<"m", "768">>
!wf = tensor<100x768xf32>

// Sixteen registers: all rows are copied once where many panels read them, and few are too many for the caches.
// CHECK: @open {{.*}}#schedule.case<"24 <= m and 1024 <= k and 8 <= floordiv(n + 31, 32) and k*m <= 2097152", #schedule.tiles<narrow = 16, rows = 2>>{{.*}}#schedule.case<#schedule.tiles<narrow = 16>>]
// AVX512: @open
// AVX512-NOT: rows =
// AVX512: return
func.func @open(%x: !x, %w: !w) -> !y {
  %0 = kernel.generic contraction @open axes(i = "m", j = "n", l = "k") ins(%x, %w : !x, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["i*k + l"], %b["l*n + j"] over ["l"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["i*n + j"] : f32, <f32>
  }
  return %0 : !y
}

// Known depths and columns leave the number of rows to ask about.
// CHECK: @rows {{.*}}#schedule.case<"24 <= m and 1024*m <= 2097152", #schedule.tiles<narrow = 32, rows = 2>>, #schedule.case<#schedule.tiles<narrow = 32>>]
func.func @rows(%x: !xo, %w: !ws) -> !yo {
  %0 = kernel.generic contraction @rows axes(i = "m", j = "1024", l = "1024") ins(%x, %w : !xo, !ws) outs(!yo) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["1024*i + l"], %b["1024*l + j"] over ["l"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["1024*i + j"] : f32, <f32>
  }
  return %0 : !yo
}

// Known sizes ask for nothing.
// CHECK: @known {{.*}}schedule.cases = [#schedule.case<#schedule.tiles<narrow = 32, rows = 2>>]
func.func @known(%x: !xs, %w: !ws) -> !ys {
  %0 = kernel.generic contraction @known axes(i = "300", j = "1024", l = "1024") ins(%x, %w : !xs, !ws) outs(!ys) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["1024*i + l"], %b["1024*l + j"] over ["l"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["1024*i + j"] : f32, <f32>
  }
  return %0 : !ys
}

// Constant panels: from fewer points of the sum on.
// CHECK: @constant {{.*}}#schedule.case<"24 <= m and 256*m <= 2097152", #schedule.tiles<narrow = 32, rows = 2>>, #schedule.case<#schedule.tiles<narrow = 32>>]
func.func @constant(%x: !xp, %w: !wp) -> !yp {
  %0 = kernel.generic contraction @constant axes(i = "m", j = "768", l = "256") ins(%x, %w : !xp, !wp) outs(!yp) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["256*i + l"], %b["256*j + l"] over ["l"] packed {n_panel = 32 : i64} : (<f32>, <f32>) -> f32
    kernel.store %1, %out["768*i + j"] : f32, <f32>
  }
  return %0 : !yp
}

// A short sum reads them where they lie.
// CHECK: @short
// CHECK-NOT: rows =
// CHECK: return
func.func @short(%x: !xf, %w: !wf) -> !yg {
  %0 = kernel.generic contraction @short axes(i = "m", j = "768", l = "100") ins(%x, %w : !xf, !wf) outs(!yg) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["100*i + l"], %b["768*l + j"] over ["l"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["768*i + j"] : f32, <f32>
  }
  return %0 : !yg
}

// Rows that lie side by side: those of some tiles are copied together, or few are read part by part.
// CHECK: @turned {{.*}}"24 <= m and 1024 <= k and m <= 256 and m < 2*m", #schedule.tiles<narrow = 16, rows = 3>>{{.*}}"192 <= m and 256 <= m and 64 <= k", #schedule.tiles<narrow = 16, rows = 1>>
// AVX512: @turned {{.*}}rows = 3>>{{.*}}"192 <= m and 256 <= m and 64 <= k", #schedule.tiles<narrow = 16, rows = 1>>
func.func @turned(%x: !t, %w: !w) -> !y {
  %0 = kernel.generic contraction @turned axes(i = "m", j = "n", l = "k") ins(%x, %w : !t, !w) outs(!y) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %a["l*m + i"], %b["l*n + j"] over ["l"] : (<f32>, <f32>) -> f32
    kernel.store %1, %out["i*n + j"] : f32, <f32>
  }
  return %0 : !y
}
