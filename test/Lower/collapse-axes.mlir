// RUN: lathe-opt %s --lathe-collapse-axes | FileCheck %s
// RUN: lathe-opt %s --lathe-collapse-axes=products | FileCheck %s --check-prefix=PRODUCTS

!x = tensor<?x768xf32, #lathe.dims<"batch", "768">>
!r = tensor<?xf32, #lathe.dims<"batch">>
!t = tensor<768x?xf32, #lathe.dims<"768", "batch">>

module {
lathe.symbol "batch" range [1, -1]

// Stepped through as one: one axis is left.
// CHECK-LABEL: func.func @copy
// CHECK: kernel.generic loop @copy axes(b = "768*batch")
// CHECK: kernel.load %{{.*}}["b"]
// CHECK: kernel.store %{{.*}}["b"]
func.func @copy(%x: !x) -> !x {
  %0 = kernel.generic loop @copy axes(b = "batch", d = "768") ins(%x : !x) outs(!x) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["768*b + d"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["768*b + d"] : f32, !kernel.ref<f32>
  }
  return %0 : !x
}

// A transposition steps through its result in another order than through its operand.
// CHECK-LABEL: func.func @transpose
// CHECK: kernel.generic loop @transpose axes(d = "768", b = "batch")
func.func @transpose(%x: !x) -> !t {
  %0 = kernel.generic loop @transpose axes(d = "768", b = "batch") ins(%x : !x) outs(!t) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["768*b + d"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["b + batch*d"] : f32, !kernel.ref<f32>
  }
  return %0 : !t
}

// A reduction takes one of the axes only. The axis of extent 1 disappears.
// CHECK-LABEL: func.func @rows
// CHECK: kernel.generic reduction @rows axes(b = "batch", d = "768")
// CHECK: kernel.load %{{.*}}["768*b + d"]
// CHECK: kernel.reduce add %{{.*}} over ["d"]
func.func @rows(%x: !x) -> !r {
  %0 = kernel.generic reduction @rows axes(b = "batch", u = "1", d = "768") ins(%x : !x) outs(!r) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["768*b + d + 768*u"] : !kernel.ref<f32> -> f32
    %2 = kernel.reduce add %1 over ["u", "d"] : f32
    kernel.store %2, %out["b"] : f32, !kernel.ref<f32>
  }
  return %0 : !r
}

// The sums go along the rows of the result: one axis is both.
// CHECK-LABEL: func.func @spread
// CHECK: kernel.generic reduction @spread axes(b = "batch", e = "768")
// CHECK: kernel.load %{{.*}}["768*b + e"]
// CHECK: kernel.reduce add %{{.*}} over ["e"]
// CHECK: kernel.store %{{.*}}["768*b + e"]
func.func @spread(%x: !x) -> !x {
  %0 = kernel.generic reduction @spread axes(b = "batch", e = "768", d = "768") ins(%x : !x) outs(!x) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["768*b + d"] : !kernel.ref<f32> -> f32
    %2 = kernel.reduce add %1 over ["d"] : f32
    %3 = kernel.index "e"
    %4 = arith.sitofp %3 : i64 to f32
    %5 = arith.mulf %2, %4 : f32
    kernel.store %5, %out["768*b + e"] : f32, !kernel.ref<f32>
  }
  return %0 : !x
}

// A distance between two places of a row is at a point of both: the axes stay two.
// CHECK-LABEL: func.func @distance
// CHECK: kernel.generic reduction @distance axes(b = "batch", e = "768", d = "768")
func.func @distance(%x: !x) -> !x {
  %0 = kernel.generic reduction @distance axes(b = "batch", e = "768", d = "768") ins(%x : !x) outs(!x) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["768*b + d"] : !kernel.ref<f32> -> f32
    %2 = kernel.load %in["768*b + e"] : !kernel.ref<f32> -> f32
    %3 = arith.subf %1, %2 : f32
    %4 = kernel.reduce max %3 over ["d"] : f32
    kernel.store %4, %out["768*b + e"] : f32, !kernel.ref<f32>
  }
  return %0 : !x
}

// A sum of the same number again and again is at points of both: the reduced axis stays one of its own.
// CHECK-LABEL: func.func @again
// CHECK: kernel.generic reduction @again axes(b = "768*batch", d = "768")
// CHECK: kernel.reduce add %{{.*}} over ["d"]
func.func @again(%x: !x) -> !x {
  %0 = kernel.generic reduction @again axes(b = "batch", e = "768", d = "768") ins(%x : !x) outs(!x) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["768*b + e"] : !kernel.ref<f32> -> f32
    %2 = kernel.reduce add %1 over ["d"] : f32
    kernel.store %2, %out["768*b + e"] : f32, !kernel.ref<f32>
  }
  return %0 : !x
}

// What is summed down a matrix is not read along the rows of the result.
// CHECK-LABEL: func.func @down
// CHECK: kernel.generic reduction @down axes(b = "batch", e = "768", d = "768")
func.func @down(%x: !t) -> !x {
  %0 = kernel.generic reduction @down axes(b = "batch", e = "768", d = "768") ins(%x : !t) outs(!x) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["b + batch*d"] : !kernel.ref<f32> -> f32
    %2 = kernel.reduce add %1 over ["d"] : f32
    %3 = kernel.index "e"
    %4 = arith.sitofp %3 : i64 to f32
    %5 = arith.mulf %2, %4 : f32
    kernel.store %5, %out["768*b + e"] : f32, !kernel.ref<f32>
  }
  return %0 : !x
}

// The rows of a product are one axis when asked for; the emitters for CPUs find them themselves.
// CHECK-LABEL: func.func @product
// CHECK: kernel.generic contraction @product axes(b = "batch", s = "16", n = "768", k = "768")
// PRODUCTS-LABEL: func.func @product
// PRODUCTS: kernel.generic contraction @product axes(b = "16*batch", n = "768", k = "768")
// PRODUCTS: kernel.contract %{{.*}}["768*b + k"], %{{.*}}["768*k + n"] over ["k"]
// PRODUCTS: kernel.store %{{.*}}["768*b + n"]
func.func @product(%x: tensor<?x16x768xf32, #lathe.dims<"batch", "16", "768">>, %w: tensor<768x768xf32>)
    -> tensor<?x16x768xf32, #lathe.dims<"batch", "16", "768">> {
  %0 = kernel.generic contraction @product axes(b = "batch", s = "16", n = "768", k = "768")
      ins(%x, %w : tensor<?x16x768xf32, #lathe.dims<"batch", "16", "768">>, tensor<768x768xf32>)
      outs(tensor<?x16x768xf32, #lathe.dims<"batch", "16", "768">>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %c = kernel.contract %a["12288*b + 768*s + k"], %b["768*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %c, %out["12288*b + 768*s + n"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<?x16x768xf32, #lathe.dims<"batch", "16", "768">>
}
}
