// Parts of a concatenation that begin at multiples of an access: all of its lanes lie in one part, which is read with one access.
// RUN: lathe-cuda %s --kernel=fixed --sm=90 --emit=ptx | FileCheck %s
// RUN: lathe-cuda %s --kernel=open --sm=90 --emit=ptx | FileCheck %s --check-prefix=OPEN
// RUN: lathe-cuda %s --kernel=odd --sm=90 --emit=ptx | FileCheck %s --check-prefix=ODD
// REQUIRES: ptxas

!a = tensor<?x64xbf16, #lathe.dims<"n", "64">>
!b = tensor<?x?xbf16, #lathe.dims<"n", "b">>
func.func @f(%a: !a, %b: !a, %c: !b, %d: !b) {
  // CHECK: .visible .entry
  // CHECK-NOT: ld.global.b16
  // CHECK-COUNT-2: ld.global.v4.b32
  // CHECK-NOT: ld.global.b16
  // CHECK: ret;
  %fixed = kernel.generic loop @fixed axes(r = "n", c = "128") ins(%a, %b : !a, !a) outs(tensor<?x128xbf16, #lathe.dims<"n", "128">>) {
  ^bb0(%i0: !kernel.ref<bf16>, %i1: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %i = kernel.index "c"
    %bound = arith.constant 63 : i64
    %first = arith.cmpi sle, %i, %bound : i64
    %x = kernel.load %i0["64*r + c"] if %first : <bf16> -> bf16
    %second = arith.cmpi sgt, %i, %bound : i64
    %y = kernel.load %i1["64*r + c - 64"] if %second : <bf16> -> bf16
    %z = arith.select %second, %y, %x : bf16
    kernel.store %z, %out["128*r + c"] : bf16, <bf16>
  }
  // Open sizes: where the plan has found them to be multiples, in pairs where rows of both parts are multiples of four, and else element by element.
  // OPEN: .visible .entry rows_by_lanes(
  // OPEN-COUNT-2: ld.global.v4.b32
  // OPEN: .visible .entry rows_by_lanes_1(
  // OPEN-NOT: ld.global.b16
  // OPEN-COUNT-8: ld.global.b32
  // OPEN: st.global.v4.b16
  // OPEN: .visible .entry rows_by_lanes_2(
  // OPEN-NOT: {{v2|v4|ld.global.b32}}
  %open = kernel.generic loop @open axes(r = "n", c = "2*b") ins(%c, %d : !b, !b) outs(tensor<?x?xbf16, #lathe.dims<"n", "2*b">>) {
  ^bb0(%i0: !kernel.ref<bf16>, %i1: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %i = kernel.index "c"
    %bound = kernel.index "b"
    %first = arith.cmpi slt, %i, %bound : i64
    %x = kernel.load %i0["b*r + c"] if %first : <bf16> -> bf16
    %second = arith.cmpi sge, %i, %bound : i64
    %y = kernel.load %i1["b*r + c - b"] if %second : <bf16> -> bf16
    %z = arith.select %second, %y, %x : bf16
    kernel.store %z, %out["2*b*r + c"] : bf16, <bf16>
  }
  // A border in the middle of an access.
  // ODD: .visible .entry
  // ODD-COUNT-16: ld.global.b16
  // ODD: ret;
  %odd = kernel.generic loop @odd axes(r = "n", c = "64") ins(%a, %b : !a, !a) outs(!a) {
  ^bb0(%i0: !kernel.ref<bf16>, %i1: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %i = kernel.index "c"
    %bound = arith.constant 20 : i64
    %first = arith.cmpi slt, %i, %bound : i64
    %x = kernel.load %i0["64*r + c"] if %first : <bf16> -> bf16
    %second = arith.cmpi sge, %i, %bound : i64
    %y = kernel.load %i1["64*r + c"] if %second : <bf16> -> bf16
    %z = arith.select %second, %y, %x : bf16
    kernel.store %z, %out["64*r + c"] : bf16, <bf16>
  }
  return
}
