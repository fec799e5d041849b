// RUN: lathe-opt %s --split-input-file --lathe-share-sizes | FileCheck %s

// Levels of a pyramid, and the image itself.
// CHECK: lathe.symbol "'floordiv(w, 4)'" range[1, -1] is "floordiv(w, 4)" {lathe.launch_size}
// CHECK-LABEL: func.func @levels
// CHECK: kernel.generic loop @a axes(i0 = "h", i1 = "w")
// CHECK: kernel.generic loop @b axes(i0 = "'floordiv(h, 2)'", i1 = "'floordiv(w, 4)'")
// CHECK: kernel.load %{{.*}}["'floordiv(w, 4)'*i0 + i1"]
// CHECK: kernel.index "'floordiv(w, 4)' - 1"
// CHECK: kernel.store %{{.*}}["'floordiv(w, 4)'*i0 + i1"]
module {
  lathe.symbol "h" range[2, -1]
  lathe.symbol "w" range[4, -1]
  func.func @levels(%x: tensor<?x?xi64, #lathe.dims<"h", "w">>, %y: tensor<?x?xi64, #lathe.dims<"floordiv(h, 2)", "floordiv(w, 4)">>)
      -> (tensor<?x?xi64, #lathe.dims<"h", "w">>, tensor<?x?xi64, #lathe.dims<"floordiv(h, 2)", "floordiv(w, 4)">>) {
    %a = kernel.generic loop @a axes(i0 = "h", i1 = "w") ins(%x : tensor<?x?xi64, #lathe.dims<"h", "w">>) outs(tensor<?x?xi64, #lathe.dims<"h", "w">>) {
    ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
      %0 = kernel.load %p["w*i0 + i1"] : <i64> -> i64
      %1 = kernel.index "w - 1"
      %2 = arith.addi %0, %1 : i64
      kernel.store %2, %q["w*i0 + i1"] : i64, <i64>
    }
    %b = kernel.generic loop @b axes(i0 = "floordiv(h, 2)", i1 = "floordiv(w, 4)") ins(%y : tensor<?x?xi64, #lathe.dims<"floordiv(h, 2)", "floordiv(w, 4)">>) outs(tensor<?x?xi64, #lathe.dims<"floordiv(h, 2)", "floordiv(w, 4)">>) {
    ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
      %0 = kernel.load %p["floordiv(w, 4)*i0 + i1"] : <i64> -> i64
      %1 = kernel.index "floordiv(w, 4) - 1"
      %2 = arith.addi %0, %1 : i64
      kernel.store %2, %q["floordiv(w, 4)*i0 + i1"] : i64, <i64>
    }
    return %a, %b : tensor<?x?xi64, #lathe.dims<"h", "w">>, tensor<?x?xi64, #lathe.dims<"floordiv(h, 2)", "floordiv(w, 4)">>
  }
}

// -----

// A kernel that asks for the whole and the half of a size, and one that is like no other, stay as they are.
// CHECK-NOT: launch_size
// CHECK-LABEL: func.func @alone
module {
  lathe.symbol "h" range[2, -1]
  func.func @alone(%x: tensor<?xi64, #lathe.dims<"h">>)
      -> (tensor<?xi64, #lathe.dims<"floordiv(h, 2)">>, tensor<?xi64, #lathe.dims<"floordiv(h, 3)">>, tensor<?xi64, #lathe.dims<"floordiv(h, 4)">>) {
    %a = kernel.generic loop @a axes(i0 = "floordiv(h, 2)") ins(%x : tensor<?xi64, #lathe.dims<"h">>) outs(tensor<?xi64, #lathe.dims<"floordiv(h, 2)">>) {
    ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
      %0 = kernel.load %p["h - i0 - 1"] : <i64> -> i64
      kernel.store %0, %q["i0"] : i64, <i64>
    }
    %b = kernel.generic loop @b axes(i0 = "floordiv(h, 3)") ins(%x : tensor<?xi64, #lathe.dims<"h">>) outs(tensor<?xi64, #lathe.dims<"floordiv(h, 3)">>) {
    ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
      %0 = kernel.load %p["h - i0 - 1"] : <i64> -> i64
      kernel.store %0, %q["i0"] : i64, <i64>
    }
    %c = kernel.generic loop @c axes(i0 = "floordiv(h, 4)") ins(%x : tensor<?xi64, #lathe.dims<"h">>) outs(tensor<?xi64, #lathe.dims<"floordiv(h, 4)">>) {
    ^bb0(%p: !kernel.ref<i64>, %q: !kernel.ref<i64>):
      %0 = kernel.load %p["i0"] : <i64> -> i64
      kernel.store %0, %q["i0"] : i64, <i64>
    }
    return %a, %b, %c : tensor<?xi64, #lathe.dims<"floordiv(h, 2)">>, tensor<?xi64, #lathe.dims<"floordiv(h, 3)">>, tensor<?xi64, #lathe.dims<"floordiv(h, 4)">>
  }
}
