// Row programs on a GPU: the ways that templates propose, and those that are written down.
// RUN: lathe-opt %s --lathe-schedule=machine=sm_90 | FileCheck %s
// RUN: lathe-opt %s --lathe-schedule=machine=sm_75 | FileCheck %s --check-prefix=OLD
// RUN: lathe-cuda %s --kernel=planes --emit=ptx --sm=90 | FileCheck %s --check-prefix=NARROW
// RUN: lathe-cuda %s --kernel=forced --emit=entries | FileCheck %s --check-prefix=ENTRIES --match-full-lines
// RUN: lathe-cuda %s --kernel=forced --emit=device | FileCheck %s --check-prefix=CODE
// RUN: lathe-cuda %s --kernel=forced --emit=plan --size=m=512 --size=n=200 | FileCheck %s --check-prefix=SHORT
// RUN: lathe-cuda %s --kernel=forced --emit=plan --size=m=512 --size=n=202 | FileCheck %s --check-prefix=ODD
// RUN: lathe-cuda %s --kernel=forced --emit=plan --size=m=512 --size=n=1024 | FileCheck %s --check-prefix=LONG
// RUN: sed 's/n <= 256", #s/n <= 257", #s/' %s | not lathe-cuda - --kernel=forced --emit=entries 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: sed 's/n <= 256", #s/n <= 257", #s/;s/row = 32, persist = 2/keep = 1/' %s | not lathe-cuda - --kernel=once --emit=entries 2>&1 | FileCheck %s --check-prefix=KEEP
// RUN: sed 's/row = 32, persist = 2/row = 24/' %s | not lathe-opt 2>&1 | FileCheck %s --check-prefix=ROW
// RUN: sed 's/row = 32, persist = 2/persist = 33/' %s | not lathe-opt 2>&1 | FileCheck %s --check-prefix=PERSIST
// WRONG: rows of open length stay in registers of 32 threads only where they are at most 256 long
// KEEP: rows are kept in shared memory only where passes read again what lies along them
// ROW: row: expected a power of two up to 512
// PERSIST: persist: at most 32 accesses of a thread stay in registers

!x = tensor<?x?xf32, #lathe.dims<"m", "n">>
!h = tensor<?x?xf32, #lathe.dims<"m", "h">>
!p = tensor<?x?x?xf32, #lathe.dims<"m", "h", "n">>
!v = tensor<?xf32, #lathe.dims<"m">>

module {
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]
lathe.symbol "h" range [1, 64]

// Rows of each range of lengths, exact ones without tests; longer ones wait in shared memory, of several blocks where there are clusters.
// CHECK: @softmax {{.*}} attributes {schedule.cases = [#schedule.case<"mod(n, 4) = 0 and n = 8", #schedule.threads<row = 2, persist = 1>>,
// CHECK-SAME: #schedule.case<"mod(n, 4) = 0 and n = 32", #schedule.threads<row = 8, persist = 1>>,
// CHECK-SAME: #schedule.case<"mod(n, 4) = 0 and 8 < n and n <= 32", #schedule.threads<row = 8, persist = 1>>,
// CHECK-SAME: #schedule.case<"mod(n, 4) = 0 and 4096 < n and n <= 8192", #schedule.threads<row = 256, persist = 8>>,
// CHECK-SAME: #schedule.case<"mod(n, 4) = 0 and 0 < n and n <= 131072", #schedule.threads<keep = 1>>, #schedule.case<"mod(n, 4) = 0", #schedule.threads<>>,
// CHECK-SAME: #schedule.case<"0 < n and n <= 8", #schedule.threads<row = 2, persist = 4>>, #schedule.case<"8 < n and n <= 16", #schedule.threads<row = 4, persist = 4>>,
// CHECK-SAME: #schedule.case<"2048 < n and n <= 4096", #schedule.threads<row = 256, persist = 16>>, #schedule.case<"4096 < n and n <= 8192", #schedule.threads<row = 256, persist = 32>>,
// CHECK-SAME: #schedule.case<"0 < n and n <= 131072", #schedule.threads<keep = 1>>, #schedule.case<#schedule.threads<>>]}
// OLD: @softmax {{.*}} #schedule.case<"mod(n, 4) = 0 and 4096 < n and n <= 8192", #schedule.threads<row = 256, persist = 8>>, #schedule.case<"mod(n, 4) = 0 and 16384 < n and n <= 32768", #schedule.threads<row = 512, persist = 16>>, #schedule.case<"mod(n, 4) = 0", #schedule.threads<>>
func.func @softmax(%x: !x) -> !x {
  %0 = kernel.generic reduction @softmax axes(i0 = "m", i1 = "n") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i0*n + i1"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i1"] : f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = kernel.reduce add %4 over ["i1"] : f32
    %6 = arith.divf %4, %5 : f32
    kernel.store %6, %out["i0*n + i1"] : f32, <f32>
  }
  return %0 : !x
}

// Rows side by side: the longer they are, the more threads share one, until blocks of a cluster do.
// CHECK: @columns {{.*}} {schedule.cases = [#schedule.case<"mod(n, 4) = 0 and 0 < m and m <= 128", #schedule.threads<row = 16, keep = 1>>,
// CHECK-SAME: #schedule.case<"mod(n, 4) = 0 and 512 < m and m <= 8192", #schedule.threads<row = 128, keep = 1>>, #schedule.case<"mod(n, 4) = 0", #schedule.threads<>>,
// CHECK-SAME: #schedule.case<#schedule.threads<>>]}
// OLD: @columns {{.*}} {schedule.cases = [#schedule.case<"mod(n, 4) = 0 and 0 < m and m <= 64", #schedule.threads<row = 16, keep = 1>>
func.func @columns(%x: !x) -> !x {
  %0 = kernel.generic reduction @columns axes(i0 = "n", i1 = "m") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i1*n + i0"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i1"] : f32
    %3 = arith.subf %1, %2 : f32
    kernel.store %3, %out["i1*n + i0"] : f32, <f32>
  }
  return %0 : !x
}

// No way for what the range excludes.
// CHECK: @short {{.*}} #schedule.case<"mod(h, 4) = 0 and 32 < h and h <= 64", #schedule.threads<row = 8, persist = 2>>, #schedule.case<"mod(h, 4) = 0", #schedule.threads<>>
func.func @short(%x: !h) -> !v {
  %0 = kernel.generic reduction @short axes(i0 = "m", i1 = "h") ins(%x : !h) outs(!v) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["h*i0 + i1"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["i1"] : f32
    kernel.store %2, %out["i0"] : f32, <f32>
  }
  return %0 : !v
}

// Rows of two axes: where a row's number is divided into places along them, it has 32 bits, or another way is taken.
// CHECK: @planes {{.*}} attributes {schedule.cases = [#schedule.case<"mod(n, 4) = 0 and h*m <= 2147483647 and n = 8", #schedule.threads<row = 2, persist = 1>>,
// CHECK-SAME: #schedule.case<"mod(n, 4) = 0 and h*m <= 2147483647 and 0 < n and n <= 131072", #schedule.threads<keep = 1>>, #schedule.case<"mod(n, 4) = 0", #schedule.threads<>>,
// CHECK-SAME: #schedule.case<#schedule.threads<>>]}
// NARROW-LABEL: .entry rows_by_lanes(
// NARROW-NOT: {{(div|rem).u(32|64)}}
// NARROW: ret;
// NARROW-LABEL: .entry rows_by_block{{[_0-9]*}}(
func.func @planes(%x: !p) -> !p {
  %0 = kernel.generic reduction @planes axes(i0 = "m", i1 = "h", i2 = "n") ins(%x : !p) outs(!p) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i1*m*n + i0*n + i2"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i2"] : f32
    %3 = arith.subf %1, %2 : f32
    kernel.store %3, %out["i0*h*n + i1*n + i2"] : f32, <f32>
  }
  return %0 : !p
}

// Windows that overlap: strips where there are many results, else points alone, of operands that are not empty and whose places fit into 32 bits.
// CHECK: @window {{.*}} {schedule.cases = [#schedule.case<"mod(n, 4) = 0 and 0 < m*n and m*n <= 2147483647 and 524288 <= m*n", #schedule.threads<strip = 8>>,
// CHECK-SAME: #schedule.case<"0 < m*n and m*n <= 2147483647 and 524288 <= m*n", #schedule.threads<strip = 8>>,
// CHECK-SAME: #schedule.case<"0 < m*n and m*n <= 2147483647", #schedule.threads<strip = 1>>, #schedule.case<#schedule.threads<>>]}
func.func @window(%x: !x) -> !x {
  %0 = kernel.generic reduction @window axes(i0 = "m", i1 = "n", i2 = "3") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.index "i1 + i2 - 1"
    %2 = kernel.index "n"
    %3 = arith.constant 0 : i64
    %4 = arith.cmpi sge, %1, %3 : i64
    %5 = arith.cmpi slt, %1, %2 : i64
    %6 = arith.andi %4, %5 : i1
    %7 = arith.constant 0.0 : f32
    %8 = kernel.load %a["i0*n + i1 + i2 - 1"] if %6 else %7 : <f32> else f32 -> f32
    %9 = kernel.reduce add %8 over ["i2"] : f32
    kernel.store %9, %out["i0*n + i1"] : f32, <f32>
  }
  return %0 : !x
}

// No neighbours to share with.
// CHECK: @apart {{.*}} {schedule.cases = [#schedule.case<
// CHECK-NOT: strip
// CHECK: func.func @f
func.func @apart(%x: !x) -> !x {
  %0 = kernel.generic reduction @apart axes(i0 = "m", i1 = "floordiv(n, 2)", i2 = "2") ins(%x : !x) outs(!x) {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i0*n + 2*i1 + i2"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i2"] : f32
    kernel.store %2, %out["i0*n + i1"] : f32, <f32>
  }
  return %0 : !x
}

// A warp a row, two accesses of four elements a thread; else a warp walks the row, however few and long rows are.
// ENTRIES: rows_by_lanes
// ENTRIES-NEXT: rows_by_lanes_1
// ENTRIES-NOT: rows_by
// CODE-LABEL: llvm.func @rows_by_lanes(
// CODE-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CODE-NOT: scf.for
// CODE-LABEL: llvm.func @rows_by_lanes_1(
// CODE: scf.for
// SHORT: {{^}}0 64 1 1 256
// ODD: {{^}}1 64 1 1 256
// LONG: {{^}}1 64 1 1 256
func.func @f(%x: !x) {
  %0 = kernel.generic reduction @forced axes(i0 = "m", i1 = "n") ins(%x : !x) outs(!x)
      attributes {schedule.cases = [#schedule.case<"mod(n, 4) = 0 and 0 < n and n <= 256", #schedule.threads<row = 32, persist = 2>>,
                                    #schedule.case<#schedule.threads<row = 32, persist = 0>>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i0*n + i1"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i1"] : f32
    %3 = arith.subf %1, %2 : f32
    kernel.store %3, %out["i0*n + i1"] : f32, <f32>
  }
  %1 = kernel.generic reduction @once axes(i0 = "m", i1 = "n") ins(%x : !x) outs(!v)
      attributes {schedule.cases = [#schedule.case<"mod(n, 4) = 0 and 0 < n and n <= 256", #schedule.threads<row = 32, persist = 2>>,
                                    #schedule.case<#schedule.threads<>>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i0*n + i1"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i1"] : f32
    kernel.store %2, %out["i0"] : f32, <f32>
  }
  return
}
}

// Accesses of 16 bits are as wide as 16 bytes, or half as wide: lengths of 28 are as frequent as those of 32.
!xh = tensor<?x?xf16, #lathe.dims<"m", "n">>
!ph = tensor<?x?x?xf16, #lathe.dims<"m", "h", "n">>
!yh = tensor<?x?x?xf16, #lathe.dims<"m", "h", "2*n + 1">>
module {
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]
lathe.symbol "h" range [1, -1]
// CHECK: @halves {{.*}} #schedule.case<"mod(n, 8) = 0 and 128 < n and n <= 256", #schedule.threads<row = 32, persist = 1>>
// CHECK-SAME: #schedule.case<"mod(n, 8) = 0", #schedule.threads<>>, #schedule.case<"mod(n, 4) = 0 and 0 < n and n <= 64", #schedule.threads<row = 8, persist = 2>>
// CHECK-SAME: #schedule.case<"mod(n, 4) = 0 and 128 < n and n <= 384", #schedule.threads<row = 32, persist = 3>>
// CHECK-SAME: #schedule.case<"mod(n, 4) = 0", #schedule.threads<>>, #schedule.case<"0 < n and n <= 8", #schedule.threads<row = 2, persist = 4>>
// An odd length has no wide accesses: nothing asks for them.
// CHECK: @odd {{.*}} {schedule.cases = [#schedule.case<"2*h*m*n + h*m <= 2147483647", #schedule.threads<>>, #schedule.case<#schedule.threads<>>]}
func.func @g(%x: !xh, %p: !ph) {
  %0 = kernel.generic reduction @halves axes(i0 = "m", i1 = "n") ins(%x : !xh) outs(!xh) {
  ^bb0(%a: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.load %a["i0*n + i1"] : <f16> -> f16
    %2 = kernel.reduce max %1 over ["i1"] : f16
    %3 = arith.subf %1, %2 : f16
    kernel.store %3, %out["i0*n + i1"] : f16, <f16>
  }
  %1 = kernel.generic loop @odd axes(i0 = "m", i1 = "h", i2 = "2*n + 1") ins(%p : !ph) outs(!yh) {
  ^bb0(%a: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %i = kernel.index "i2"
    %n = kernel.index "n"
    %in = arith.cmpi slt, %i, %n : i64
    %z = arith.constant 0.0 : f16
    %1 = kernel.load %a["i0*h*n + i1*n + i2"] if %in else %z : <f16> else f16 -> f16
    kernel.store %1, %out["2*i0*h*n + i0*h + 2*i1*n + i1 + i2"] : f16, <f16>
  }
  return
}
}
