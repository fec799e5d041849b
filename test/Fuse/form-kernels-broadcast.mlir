// RUN: lathe-opt %s --lathe-form-kernels --lathe-verify-accesses | FileCheck %s

!x = tensor<?x?x64xf32, #lathe.dims<"a", "m", "64">>
!w = tensor<?x64x32xf32, #lathe.dims<"b", "64", "32">>
!u = tensor<?x64x32xf32, #lathe.dims<"maybe", "64", "32">>
!i = tensor<?xi64, #lathe.dims<"both">>
!xb = tensor<?x?x64xf32, #lathe.dims<"both", "m", "64">>
!wb = tensor<?x64x32xf32, #lathe.dims<"both", "64", "32">>
!y = tensor<?x?x32xf32, #lathe.dims<"both", "m", "32">>

module {
lathe.symbol "a" range [1, -1]
lathe.symbol "b" range [1, -1]
lathe.symbol "m" range [1, -1]
lathe.symbol "maybe" range [0, -1]
lathe.symbol "both" range [0, -1] is "max(a, b)"

// Two batches of which one may be 1 in a run: the product reads its operands where they lie.
// CHECK-LABEL: func.func @main
// CHECK: kernel.generic contraction
// CHECK: kernel.contract %{{.*}}["64*m*min(a - 1, i0) + 64*i1 + i3"], %{{.*}}["i2 + 32*i3 + 2048*min(b - 1, i0)"] over ["i3"]
// CHECK-NOT: kernel.generic
func.func @main(%x: !x, %w: !w) -> !y {
  %i = lathe.iota 0 : !i
  %0 = lathe.gather %x, %i axis 0 : !x, !i -> !xb
  %1 = lathe.gather %w, %i axis 0 : !w, !i -> !wb
  %2 = lathe.contract %0, %1 batch [0] x [0] over [2] x [1] : !xb, !wb -> !y
  return %2 : !y
}

// Of a batch that may be empty there is no last place: its elements are copied into order first.
// CHECK-LABEL: func.func @empty
// CHECK: kernel.generic loop
// CHECK: kernel.generic contraction
func.func @empty(%x: !x, %w: !u) -> !y {
  %i = lathe.iota 0 : !i
  %0 = lathe.gather %x, %i axis 0 : !x, !i -> !xb
  %1 = lathe.gather %w, %i axis 0 : !u, !i -> !wb
  %2 = lathe.contract %0, %1 batch [0] x [0] over [2] x [1] : !xb, !wb -> !y
  return %2 : !y
}
}
