// RUN: lathe-opt %s --lathe-pack-weights=panel=32 | FileCheck %s
// RUN: lathe-opt %s --lathe-pack-weights="panel=32 precision=bf16" | FileCheck %s --check-prefix=BF16
// BF16-LABEL: @main
// BF16: %[[P:.*]] = kernel.pack {{.*}} : tensor<40x16xf32> -> tensor<2x16x32xbf16>
// BF16: ins(%{{.*}}, %[[P]] : tensor<8x16xf32>, tensor<2x16x32xbf16>)
// BF16: ^bb0(%[[A:.*]]: !kernel.ref<f32>, %[[B:.*]]: !kernel.ref<bf16>,
// BF16: kernel.contract %[[A]]["16*m + k"], %[[B]]["k + 16*n"] over ["k"] packed {n_panel = 32 : i64} {may_round} : (<f32>, <bf16>) -> f32
// What bytes are multiplied with stays.
// BF16-LABEL: @bytes
// BF16: tensor<10x3xi8> -> tensor<1x3x32x4xi8>

// A weight [N][K] (a linear layer's) becomes panels; a matrix that is an operand stays.
// CHECK-LABEL: @main
// CHECK: %[[W:.*]] = lathe.constant
// CHECK: %[[P:.*]] = kernel.pack %[[W]] {k = 16 : i64, kStride = 1 : i64, n = 40 : i64, nStride = 16 : i64, panel = 32 : i64} : tensor<40x16xf32> -> tensor<2x16x32xf32>
// CHECK: kernel.generic contraction @linear
// CHECK-SAME: ins(%{{.*}}, %[[P]] : tensor<8x16xf32>, tensor<2x16x32xf32>)
// CHECK: over ["k"] packed {n_panel = 32 : i64}
// CHECK: kernel.generic contraction @matmul
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<16x40xf32>)
// CHECK-NOT: packed
func.func @main(%x: tensor<8x16xf32>, %y: tensor<16x40xf32>) -> (tensor<8x40xf32>, tensor<8x40xf32>) {
  %w = lathe.constant dense_resource<w> : tensor<40x16xf32>
  %0 = kernel.generic contraction @linear axes(m = "8", n = "40", k = "16")
      ins(%x, %w : tensor<8x16xf32>, tensor<40x16xf32>) outs(tensor<8x40xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["16*m + k"], %b["k + 16*n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["40*m + n"] : f32, !kernel.ref<f32>
  }
  %2 = kernel.generic contraction @matmul axes(m = "8", n = "40", k = "16")
      ins(%x, %y : tensor<8x16xf32>, tensor<16x40xf32>) outs(tensor<8x40xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["16*m + k"], %b["40*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["40*m + n"] : f32, !kernel.ref<f32>
  }
  return %0, %2 : tensor<8x40xf32>, tensor<8x40xf32>
}

// One column stays a vector.
// CHECK-LABEL: @column
// CHECK-NOT: kernel.pack
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<16x1xf32>)
func.func @column(%x: tensor<8x16xf32>) -> tensor<8x1xf32> {
  %w = lathe.constant dense_resource<v> : tensor<16x1xf32>
  %0 = kernel.generic contraction @column axes(m = "8", n = "1", k = "16")
      ins(%x, %w : tensor<8x16xf32>, tensor<16x1xf32>) outs(tensor<8x1xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.contract %a["16*m + k"], %b["k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    kernel.store %1, %o["m + n"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<8x1xf32>
}

// Bytes: four points of the sum side by side. A window's taps come first, and its channels share words, filled up.
// CHECK-LABEL: @bytes
// CHECK: %[[P:.*]] = kernel.pack %{{.*}} {k = 10 : i64, kExtents = array<i64: 10>, kStride = 0 : i64, kStrides = array<i64: 3>, n = 3 : i64, nStride = 1 : i64, pairs = 0 : i64, panel = 32 : i64} : tensor<10x3xi8> -> tensor<1x3x32x4xi8>
// CHECK: ins(%{{.*}}, %[[P]] : tensor<8x10xui8>, tensor<1x3x32x4xi8>)
// CHECK: kernel.load %{{.*}}["3*k + n"] {packed, pairs = 0 : i64} : <i8> -> i8
func.func @bytes(%x: tensor<8x10xui8>) -> tensor<8x3xi32> {
  %w = lathe.constant dense<2> : tensor<10x3xi8>
  %0 = kernel.generic reduction @matmul axes(m = "8", n = "3", k = "10")
      ins(%x, %w : tensor<8x10xui8>, tensor<10x3xi8>) outs(tensor<8x3xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["10*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["3*k + n"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["3*m + n"] : i32, !kernel.ref<i32>
  }
  return %0 : tensor<8x3xi32>
}

// CHECK-LABEL: @window
// CHECK: kernel.pack %{{.*}} {k = 15 : i64, kExtents = array<i64: 3, 5>, kStride = 0 : i64, kStrides = array<i64: 1, 3>, n = 2 : i64, nStride = 15 : i64, pairs = 0 : i64, panel = 32 : i64} : tensor<2x5x3xi8> -> tensor<1x6x32x4xi8>
// CHECK: kernel.generic reduction @conv axes(o = "2", i = "6", q = "3", c = "5")
func.func @window(%x: tensor<5x8xui8>) -> tensor<2x6xi32> {
  %w = lathe.constant dense<2> : tensor<2x5x3xi8>
  %0 = kernel.generic reduction @conv axes(o = "2", i = "6", c = "5", q = "3")
      ins(%x, %w : tensor<5x8xui8>, tensor<2x5x3xi8>) outs(tensor<2x6xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["8*c + i + q"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["15*o + 3*c + q"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["c", "q"] {slides = ["i + q"]} : i32
    kernel.store %6, %o["6*o + i"] : i32, !kernel.ref<i32>
  }
  return %0 : tensor<2x6xi32>
}

{-#
  dialect_resources: { builtin: { w: "0x0400000000000000" } }
#-}

// Sums that are stored several times over: no emitter of products takes the axis r, and so nothing is packed.
// CHECK-LABEL: @repeated
// CHECK-NOT: kernel.pack
func.func @repeated(%x: tensor<8x10xui8>) -> tensor<2x8x3xi32> {
  %w = lathe.constant dense<2> : tensor<10x3xi8>
  %0 = kernel.generic reduction @matmul axes(m = "8", n = "3", r = "2", k = "10")
      ins(%x, %w : tensor<8x10xui8>, tensor<10x3xi8>) outs(tensor<2x8x3xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["10*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["3*k + n"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["24*r + 3*m + n"] : i32, !kernel.ref<i32>
  }
  return %0 : tensor<2x8x3xi32>
}

// One word of eight has a pair whose products do not fit in 16 bits: a list of it follows the panel.
// CHECK-LABEL: @few_pairs
// CHECK: kernel.pack %{{.*}} {{.*}}pairs = 1 : i64, {{.*}} -> tensor<1x9x32x4xi8>
// CHECK: kernel.load %{{.*}}["k + n"] {packed, pairs = 1 : i64} : <i8> -> i8
func.func @few_pairs(%x: tensor<8x32xui8>) -> tensor<8x1xi32> {
  %w = lathe.constant dense<[[64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [100], [29], [1], [2]]> : tensor<32x1xi8>
  %0 = kernel.generic reduction @few_pairs axes(m = "8", n = "1", k = "32")
      ins(%x, %w : tensor<8x32xui8>, tensor<32x1xi8>) outs(tensor<8x1xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["32*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["k + n"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["m + n"] : i32, !kernel.ref<i32>
  }
  return %0 : tensor<8x1xi32>
}

// Products of weights of two signs do not add up.
// CHECK-LABEL: @pairs_of_signs
// CHECK: kernel.pack %{{.*}} {{.*}}pairs = 0 : i64, {{.*}} -> tensor<1x5x32x4xi8>
// CHECK: kernel.load %{{.*}}["k + n"] {packed, pairs = 0 : i64} : <i8> -> i8
func.func @pairs_of_signs(%x: tensor<8x18xui8>) -> tensor<8x1xi32> {
  %w = lathe.constant dense<[[127], [-128], [127], [-128], [127], [-128], [127], [-128], [127], [-128], [127], [-128], [127], [-128], [127], [-128], [-128], [0]]> : tensor<18x1xi8>
  %0 = kernel.generic reduction @pairs_of_signs axes(m = "8", n = "1", k = "18")
      ins(%x, %w : tensor<8x18xui8>, tensor<18x1xi8>) outs(tensor<8x1xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["18*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["k + n"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["m + n"] : i32, !kernel.ref<i32>
  }
  return %0 : tensor<8x1xi32>
}

// Where many words would be listed, there is no list.
// CHECK-LABEL: @many_pairs
// CHECK: kernel.pack %{{.*}} {k = 16 : i64, {{.*}} nStride = 1 : i64, panel = 32 : i64} {{.*}} -> tensor<1x4x32x4xi8>
// CHECK: kernel.load %{{.*}}["k + n"] {packed} : <i8> -> i8
func.func @many_pairs(%x: tensor<8x16xui8>) -> tensor<8x1xi32> {
  %w = lathe.constant dense<[[127], [127], [127], [127], [127], [127], [127], [127], [127], [127], [127], [127], [127], [127], [127], [127]]> : tensor<16x1xi8>
  %0 = kernel.generic reduction @many_pairs axes(m = "8", n = "1", k = "16")
      ins(%x, %w : tensor<8x16xui8>, tensor<16x1xi8>) outs(tensor<8x1xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["16*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["k + n"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["m + n"] : i32, !kernel.ref<i32>
  }
  return %0 : tensor<8x1xi32>
}

// Groups of channels have panels of their own, filled up with zeros; too small ones stay as they are.
// CHECK-LABEL: @groups
// CHECK: kernel.pack %{{.*}} {k = 6 : i64, kExtents = array<i64: 2, 3>, kStride = 0 : i64, kStrides = array<i64: 3, 1>, n = 128 : i64, nStride = 6 : i64, pairs = 0 : i64, panel = 32 : i64} : tensor<4x32x6xi8> -> tensor<4x2x32x4xi8>
// CHECK: kernel.load %{{.*}}["c + 192*g + 6*o + 3*q"] {packed, pairs = 0 : i64} : <i8> -> i8
func.func @groups(%x: tensor<12x8xui8>) -> tensor<20x7xi32> {
  %w = lathe.constant dense<2> : tensor<20x3x2xi8>
  %0 = kernel.generic reduction @conv axes(g = "4", o = "5", i = "7", c = "3", q = "2")
      ins(%x, %w : tensor<12x8xui8>, tensor<20x3x2xi8>) outs(tensor<20x7xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["24*g + 8*c + i + q"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["30*g + 6*o + 2*c + q"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["c", "q"] {slides = ["i + q"]} : i32
    kernel.store %6, %o["35*g + 7*o + i"] : i32, !kernel.ref<i32>
  }
  return %0 : tensor<20x7xi32>
}

// CHECK-LABEL: @small_groups
// CHECK-NOT: kernel.pack
// CHECK: return
func.func @small_groups(%x: tensor<16x8xui8>) -> tensor<16x7xi32> {
  %w = lathe.constant dense<2> : tensor<16x2x2xi8>
  %0 = kernel.generic reduction @conv axes(g = "8", o = "2", i = "7", c = "2", q = "2")
      ins(%x, %w : tensor<16x8xui8>, tensor<16x2x2xi8>) outs(tensor<16x7xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["16*g + 8*c + i + q"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["8*g + 4*o + 2*c + q"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["c", "q"] {slides = ["i + q"]} : i32
    kernel.store %6, %o["14*g + 7*o + i"] : i32, !kernel.ref<i32>
  }
  return %0 : tensor<16x7xi32>
}
