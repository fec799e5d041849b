// RUN: lathe-opt --lathe-recognize-attention --lathe-simplify-graph --cse --split-input-file %s | FileCheck %s

// The plain form: scale after the product.
// CHECK-LABEL: func @plain
// CHECK-NEXT: %[[A:.*]] = lathe.attention %arg0, %arg1, %arg2 :
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64):
// CHECK: %[[C:.*]] = arith.constant 1.250000e-01 : f32
// CHECK: %[[R:.*]] = arith.mulf %[[S]], %[[C]]
// CHECK: lathe.yield %[[R]]
// CHECK: return %[[A]]
func.func @plain(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x16x64xf32>, %v: tensor<2x4x16x32xf32>) -> tensor<2x4x8x32xf32> {
  %scale = lathe.constant dense<0.125> : tensor<2x4x8x16xf32>
  %0 = lathe.contract %q, %k batch [0, 1] x [0, 1] over [3] x [3] : tensor<2x4x8x64xf32>, tensor<2x4x16x64xf32> -> tensor<2x4x8x16xf32>
  %1 = lathe.mul %0, %scale : tensor<2x4x8x16xf32>
  %m = lathe.reduce max %1 axes [3] : tensor<2x4x8x16xf32> -> tensor<2x4x8xf32>
  %m1 = lathe.reshape %m : tensor<2x4x8xf32> -> tensor<2x4x8x1xf32>
  %m2 = lathe.broadcast %m1 : tensor<2x4x8x1xf32> -> tensor<2x4x8x16xf32>
  %c = lathe.sub %1, %m2 : tensor<2x4x8x16xf32>
  %e = lathe.exp %c : tensor<2x4x8x16xf32>
  %s = lathe.reduce sum %e axes [3] : tensor<2x4x8x16xf32> -> tensor<2x4x8xf32>
  %s1 = lathe.reshape %s : tensor<2x4x8xf32> -> tensor<2x4x8x1xf32>
  %s2 = lathe.broadcast %s1 : tensor<2x4x8x1xf32> -> tensor<2x4x8x16xf32>
  %p = lathe.div %e, %s2 : tensor<2x4x8x16xf32>
  %o = lathe.contract %p, %v batch [0, 1] x [0, 1] over [3] x [2] : tensor<2x4x8x16xf32>, tensor<2x4x16x32xf32> -> tensor<2x4x8x32xf32>
  return %o : tensor<2x4x8x32xf32>
}

// -----

// A sliding window and a soft cap over symbolic lengths, in an export's order; NaN rows become 0.
// CHECK-LABEL: func @window
// CHECK-NOT: lathe.iota
// CHECK: lathe.attention %arg0, %arg1, %arg2 {zero_masked}
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: i64, %[[H:.*]]: i64, %[[Q:.*]]: i64, %[[K:.*]]: i64):
// CHECK-DAG: %[[T:.*]] = math.tanh
// CHECK-DAG: %[[D:.*]] = arith.subi %[[Q]], %[[K]]
// CHECK-DAG: arith.cmpi sge, %[[D]]
// CHECK-DAG: arith.cmpi slt, %[[D]]
// CHECK: arith.select
#s = #lathe.dims<"1", "4", "n", "n">
#r = #lathe.dims<"1", "4", "n">
#i = #lathe.dims<"n", "n">
#x = #lathe.dims<"1", "4", "n", "64">
module {
lathe.symbol "n" range [1, -1]
func.func @window(%q: tensor<1x4x?x64xf32, #x>, %k: tensor<1x4x?x64xf32, #x>, %v: tensor<1x4x?x64xf32, #x>) -> tensor<1x4x?x64xf32, #x> {
  %cap = lathe.constant dense<30.0> : tensor<f32>
  %caps = lathe.broadcast %cap : tensor<f32> -> tensor<1x4x?x?xf32, #s>
  %kt = lathe.transpose %k [0, 1, 3, 2] : tensor<1x4x?x64xf32, #x> -> tensor<1x4x64x?xf32, #lathe.dims<"1", "4", "64", "n">>
  %0 = lathe.contract %q, %kt batch [0, 1] x [0, 1] over [3] x [2] : tensor<1x4x?x64xf32, #x>, tensor<1x4x64x?xf32, #lathe.dims<"1", "4", "64", "n">> -> tensor<1x4x?x?xf32, #s>
  %1 = lathe.div %0, %caps : tensor<1x4x?x?xf32, #s>
  %2 = lathe.tanh %1 : tensor<1x4x?x?xf32, #s>
  %3 = lathe.mul %2, %caps : tensor<1x4x?x?xf32, #s>
  %row = lathe.iota 0 : tensor<?x?xi64, #i>
  %column = lathe.iota 1 : tensor<?x?xi64, #i>
  %d = lathe.sub %row, %column : tensor<?x?xi64, #i>
  %zero = lathe.constant dense<0> : tensor<i64>
  %zeros = lathe.broadcast %zero : tensor<i64> -> tensor<?x?xi64, #i>
  %width = lathe.constant dense<256> : tensor<i64>
  %widths = lathe.broadcast %width : tensor<i64> -> tensor<?x?xi64, #i>
  %past = lathe.compare ge %d, %zeros : tensor<?x?xi64, #i>, tensor<?x?xi64, #i> -> tensor<?x?xi1, #i>
  %near = lathe.compare lt %d, %widths : tensor<?x?xi64, #i>, tensor<?x?xi64, #i> -> tensor<?x?xi1, #i>
  %seen = lathe.and %past, %near : tensor<?x?xi1, #i>
  %mask = lathe.broadcast %seen : tensor<?x?xi1, #i> -> tensor<1x4x?x?xi1, #s>
  %ninf = lathe.constant dense<0xFF800000> : tensor<f32>
  %ninfs = lathe.broadcast %ninf : tensor<f32> -> tensor<1x4x?x?xf32, #s>
  %4 = lathe.select %mask, %3, %ninfs : tensor<1x4x?x?xi1, #s>, tensor<1x4x?x?xf32, #s>, tensor<1x4x?x?xf32, #s> -> tensor<1x4x?x?xf32, #s>
  %m = lathe.reduce max %4 axes [3] : tensor<1x4x?x?xf32, #s> -> tensor<1x4x?xf32, #r>
  %m1 = lathe.reshape %m : tensor<1x4x?xf32, #r> -> tensor<1x4x?x1xf32, #lathe.dims<"1", "4", "n", "1">>
  %m2 = lathe.broadcast %m1 : tensor<1x4x?x1xf32, #lathe.dims<"1", "4", "n", "1">> -> tensor<1x4x?x?xf32, #s>
  %c = lathe.sub %4, %m2 : tensor<1x4x?x?xf32, #s>
  %e = lathe.exp %c : tensor<1x4x?x?xf32, #s>
  %t = lathe.reduce sum %e axes [3] : tensor<1x4x?x?xf32, #s> -> tensor<1x4x?xf32, #r>
  %t1 = lathe.reshape %t : tensor<1x4x?xf32, #r> -> tensor<1x4x?x1xf32, #lathe.dims<"1", "4", "n", "1">>
  %t2 = lathe.broadcast %t1 : tensor<1x4x?x1xf32, #lathe.dims<"1", "4", "n", "1">> -> tensor<1x4x?x?xf32, #s>
  %p = lathe.div %e, %t2 : tensor<1x4x?x?xf32, #s>
  %nan = lathe.compare ne %p, %p : tensor<1x4x?x?xf32, #s>, tensor<1x4x?x?xf32, #s> -> tensor<1x4x?x?xi1, #s>
  %fzero = lathe.constant dense<0.0> : tensor<f32>
  %fzeros = lathe.broadcast %fzero : tensor<f32> -> tensor<1x4x?x?xf32, #s>
  %g = lathe.select %nan, %fzeros, %p : tensor<1x4x?x?xi1, #s>, tensor<1x4x?x?xf32, #s>, tensor<1x4x?x?xf32, #s> -> tensor<1x4x?x?xf32, #s>
  %o = lathe.contract %g, %v batch [0, 1] x [0, 1] over [3] x [2] : tensor<1x4x?x?xf32, #s>, tensor<1x4x?x64xf32, #x> -> tensor<1x4x?x64xf32, #x>
  return %o : tensor<1x4x?x64xf32, #x>
}
}

// -----

// Batch and heads merged around the contractions, a padding mask between, scale on both operands, keys and values repeated
// for the heads of a group.
// CHECK-LABEL: func @grouped
// CHECK-DAG: %[[Q:.*]] = lathe.reshape %arg0 : tensor<8x5x64xf32> -> tensor<2x4x5x64xf32>
// CHECK-DAG: %[[M:.*]] = lathe.reshape %arg3 : tensor<2x7xf32> -> tensor<2x1x1x7xf32>
// CHECK: lathe.attention %[[Q]], %arg1, %arg2 extras(%[[M]] : tensor<2x1x1x7xf32>) :
// CHECK-SAME: tensor<2x4x5x64xf32>, tensor<2x2x7x64xf32>, tensor<2x2x7x64xf32>
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[E:.*]]: f32,
// CHECK: %[[C:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: %[[R:.*]] = arith.mulf %[[S]], %[[C]]
// CHECK: arith.addf %[[R]], %[[E]]
func.func @grouped(%q: tensor<8x5x64xf32>, %k: tensor<2x2x7x64xf32>, %v: tensor<2x2x7x64xf32>, %mask: tensor<2x7xf32>) -> tensor<8x5x64xf32> {
  %half = lathe.constant dense<0.5> : tensor<8x5x64xf32>
  %qs = lathe.mul %q, %half : tensor<8x5x64xf32>
  %k1 = lathe.reshape %k : tensor<2x2x7x64xf32> -> tensor<2x2x1x7x64xf32>
  %k2 = lathe.broadcast %k1 : tensor<2x2x1x7x64xf32> -> tensor<2x2x2x7x64xf32>
  %k3 = lathe.reshape %k2 : tensor<2x2x2x7x64xf32> -> tensor<8x7x64xf32>
  %khalf = lathe.constant dense<0.5> : tensor<8x7x64xf32>
  %ks = lathe.mul %k3, %khalf : tensor<8x7x64xf32>
  %v1 = lathe.reshape %v : tensor<2x2x7x64xf32> -> tensor<2x2x1x7x64xf32>
  %v2 = lathe.broadcast %v1 : tensor<2x2x1x7x64xf32> -> tensor<2x2x2x7x64xf32>
  %v3 = lathe.reshape %v2 : tensor<2x2x2x7x64xf32> -> tensor<8x7x64xf32>
  %0 = lathe.contract %qs, %ks batch [0] x [0] over [2] x [2] : tensor<8x5x64xf32>, tensor<8x7x64xf32> -> tensor<8x5x7xf32>
  %1 = lathe.reshape %0 : tensor<8x5x7xf32> -> tensor<2x4x5x7xf32>
  %m1 = lathe.reshape %mask : tensor<2x7xf32> -> tensor<2x1x1x7xf32>
  %m2 = lathe.broadcast %m1 : tensor<2x1x1x7xf32> -> tensor<2x4x5x7xf32>
  %2 = lathe.add %1, %m2 : tensor<2x4x5x7xf32>
  %m = lathe.reduce max %2 axes [3] : tensor<2x4x5x7xf32> -> tensor<2x4x5xf32>
  %mm = lathe.reshape %m : tensor<2x4x5xf32> -> tensor<2x4x5x1xf32>
  %mb = lathe.broadcast %mm : tensor<2x4x5x1xf32> -> tensor<2x4x5x7xf32>
  %c = lathe.sub %2, %mb : tensor<2x4x5x7xf32>
  %e = lathe.exp %c : tensor<2x4x5x7xf32>
  %t = lathe.reduce sum %e axes [3] : tensor<2x4x5x7xf32> -> tensor<2x4x5xf32>
  %tm = lathe.reshape %t : tensor<2x4x5xf32> -> tensor<2x4x5x1xf32>
  %tb = lathe.broadcast %tm : tensor<2x4x5x1xf32> -> tensor<2x4x5x7xf32>
  %p = lathe.div %e, %tb : tensor<2x4x5x7xf32>
  %p3 = lathe.reshape %p : tensor<2x4x5x7xf32> -> tensor<8x5x7xf32>
  %o = lathe.contract %p3, %v3 batch [0] x [0] over [2] x [1] : tensor<8x5x7xf32>, tensor<8x7x64xf32> -> tensor<8x5x64xf32>
  return %o : tensor<8x5x64xf32>
}

// -----

// Head and group sizes are symbols; H = Hkv * q.
// CHECK-LABEL: func @symbolic_groups
// CHECK: lathe.attention %arg0, %arg1, %arg1
// CHECK-SAME: #lathe.dims<"1", "Hkv", "n", "64">
#q = #lathe.dims<"1", "H", "n", "64">
#g = #lathe.dims<"1", "Hkv", "n", "64">
module {
lathe.symbol "n" range [1, -1]
lathe.symbol "H" range [1, -1]
lathe.symbol "Hkv" range [1, -1]
lathe.relation "Hkv" "divides" "H"
func.func @symbolic_groups(%q: tensor<1x?x?x64xf32, #q>, %k: tensor<1x?x?x64xf32, #g>) -> tensor<1x?x?x64xf32, #q> {
  %k1 = lathe.reshape %k : tensor<1x?x?x64xf32, #g> -> tensor<1x?x1x?x64xf32, #lathe.dims<"1", "Hkv", "1", "n", "64">>
  %k2 = lathe.broadcast %k1 : tensor<1x?x1x?x64xf32, #lathe.dims<"1", "Hkv", "1", "n", "64">> -> tensor<1x?x?x?x64xf32, #lathe.dims<"1", "Hkv", "floordiv(H, Hkv)", "n", "64">>
  %k3 = lathe.reshape %k2 : tensor<1x?x?x?x64xf32, #lathe.dims<"1", "Hkv", "floordiv(H, Hkv)", "n", "64">> -> tensor<1x?x?x64xf32, #q>
  %0 = lathe.attention %q, %k3, %k3 : tensor<1x?x?x64xf32, #q>, tensor<1x?x?x64xf32, #q>, tensor<1x?x?x64xf32, #q> -> tensor<1x?x?x64xf32, #q> {
  ^bb0(%s: f32, %b: i64, %h: i64, %qi: i64, %ki: i64):
    lathe.yield %s : f32
  }
  return %0 : tensor<1x?x?x64xf32, #q>
}
}

// -----

// A frontend's own attention with ALiBi: the slopes stay an operand, the distances are arithmetic; a stored triangle is one, too.
// CHECK-LABEL: func @alibi
// CHECK: %[[SLOPES:.*]] = lathe.reshape %arg3 : tensor<4xf32> -> tensor<1x4x1x1xf32>
// CHECK: lathe.attention %arg0, %arg1, %arg2 extras(%[[SLOPES]] : tensor<1x4x1x1xf32>)
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[E:.*]]: f32, %{{.*}}: i64, %{{.*}}: i64, %[[Q:.*]]: i64, %[[K:.*]]: i64):
// CHECK-DAG: %[[D:.*]] = arith.subi %[[K]], %[[Q]]
// CHECK-DAG: %[[F:.*]] = arith.sitofp %[[D]]
// CHECK-DAG: arith.mulf %[[F]], %[[E]]
// CHECK-DAG: arith.cmpi sle, %[[K]], %[[Q]]
// CHECK: lathe.yield
func.func @alibi(%q: tensor<1x4x3x8xf32>, %k: tensor<1x4x3x8xf32>, %v: tensor<1x4x3x8xf32>, %slopes: tensor<4xf32>) -> tensor<1x4x3x8xf32> {
  %row = lathe.iota 0 : tensor<3x3xi64>
  %column = lathe.iota 1 : tensor<3x3xi64>
  %d = lathe.sub %column, %row : tensor<3x3xi64>
  %f = lathe.cast %d : tensor<3x3xi64> -> tensor<3x3xf32>
  %fb = lathe.broadcast %f : tensor<3x3xf32> -> tensor<1x4x3x3xf32>
  %s1 = lathe.reshape %slopes : tensor<4xf32> -> tensor<1x4x1x1xf32>
  %sb = lathe.broadcast %s1 : tensor<1x4x1x1xf32> -> tensor<1x4x3x3xf32>
  %bias = lathe.mul %fb, %sb : tensor<1x4x3x3xf32>
  %triangle = lathe.constant dense<[[[[true, false, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %0 = lathe.attention %q, %k, %v extras(%bias, %triangle : tensor<1x4x3x3xf32>, tensor<1x1x3x3xi1>) : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32> -> tensor<1x4x3x8xf32> {
  ^bb0(%s: f32, %e: f32, %t: i1, %b: i64, %h: i64, %qi: i64, %ki: i64):
    %ninf = arith.constant 0xFF800000 : f32
    %1 = arith.addf %s, %e : f32
    %2 = arith.select %t, %1, %ninf : f32
    lathe.yield %2 : f32
  }
  return %0 : tensor<1x4x3x8xf32>
}

// -----

// Probabilities that are a result of the model, too, stay as they are.
// CHECK-LABEL: func @returned
// CHECK-NOT: lathe.attention
func.func @returned(%q: tensor<1x1x8x64xf32>, %k: tensor<1x1x8x64xf32>, %v: tensor<1x1x8x64xf32>) -> (tensor<1x1x8x64xf32>, tensor<1x1x8x8xf32>) {
  %0 = lathe.contract %q, %k batch [0, 1] x [0, 1] over [3] x [3] : tensor<1x1x8x64xf32>, tensor<1x1x8x64xf32> -> tensor<1x1x8x8xf32>
  %m = lathe.reduce max %0 axes [3] : tensor<1x1x8x8xf32> -> tensor<1x1x8xf32>
  %m1 = lathe.reshape %m : tensor<1x1x8xf32> -> tensor<1x1x8x1xf32>
  %m2 = lathe.broadcast %m1 : tensor<1x1x8x1xf32> -> tensor<1x1x8x8xf32>
  %c = lathe.sub %0, %m2 : tensor<1x1x8x8xf32>
  %e = lathe.exp %c : tensor<1x1x8x8xf32>
  %s = lathe.reduce sum %e axes [3] : tensor<1x1x8x8xf32> -> tensor<1x1x8xf32>
  %s1 = lathe.reshape %s : tensor<1x1x8xf32> -> tensor<1x1x8x1xf32>
  %s2 = lathe.broadcast %s1 : tensor<1x1x8x1xf32> -> tensor<1x1x8x8xf32>
  %p = lathe.div %e, %s2 : tensor<1x1x8x8xf32>
  %o = lathe.contract %p, %v batch [0, 1] x [0, 1] over [3] x [2] : tensor<1x1x8x8xf32>, tensor<1x1x8x64xf32> -> tensor<1x1x8x64xf32>
  return %o, %p : tensor<1x1x8x64xf32>, tensor<1x1x8x8xf32>
}

// -----

// A causal mask with the smallest number: every query sees the key at its own place, so -inf is the same.
// CHECK-LABEL: func @smallest
// CHECK: arith.constant 0xFF800000 : f32
// CHECK-NOT: -3.4
// CHECK: return
func.func @smallest(%q: tensor<1x4x8x8xf32>, %k: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %zero = lathe.constant dense<0.0> : tensor<1x1x8x8xf32>
  %small = lathe.constant dense<-3.40282347E+38> : tensor<1x1x8x8xf32>
  %i = lathe.iota 2 : tensor<1x1x8x8xi64>
  %j = lathe.iota 3 : tensor<1x1x8x8xi64>
  %causal = lathe.compare le %j, %i : tensor<1x1x8x8xi64>, tensor<1x1x8x8xi64> -> tensor<1x1x8x8xi1>
  %mask = lathe.select %causal, %zero, %small : tensor<1x1x8x8xi1>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %0 = lathe.attention %q, %k, %k extras(%mask : tensor<1x1x8x8xf32>) : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
  ^bb0(%s: f32, %m: f32, %b: i64, %h: i64, %qi: i64, %ki: i64):
    %c = arith.constant 0.5 : f32
    %1 = arith.mulf %s, %c : f32
    %2 = arith.addf %1, %m : f32
    lathe.yield %2 : f32
  }
  return %0 : tensor<1x4x8x8xf32>
}

// -----

// A padding mask may hide a whole row: the number stays. So it does where fewer keys than queries exist.
// CHECK-LABEL: func @padding
// CHECK: -3.40282347E+38
// CHECK: -3.40282347E+38
func.func @padding(%q: tensor<1x4x8x8xf32>, %k: tensor<1x4x8x8xf32>, %k2: tensor<1x4x7x8xf32>, %pad: tensor<8xi1>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %p = lathe.reshape %pad : tensor<8xi1> -> tensor<1x1x1x8xi1>
  %0 = lathe.attention %q, %k, %k extras(%p : tensor<1x1x1x8xi1>) : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
  ^bb0(%s: f32, %m: i1, %b: i64, %h: i64, %qi: i64, %ki: i64):
    %small = arith.constant -3.40282347E+38 : f32
    %1 = arith.select %m, %s, %small : f32
    lathe.yield %1 : f32
  }
  %2 = lathe.attention %q, %k2, %k2 : tensor<1x4x8x8xf32>, tensor<1x4x7x8xf32>, tensor<1x4x7x8xf32> -> tensor<1x4x8x8xf32> {
  ^bb0(%s: f32, %b: i64, %h: i64, %qi: i64, %ki: i64):
    %small = arith.constant -3.40282347E+38 : f32
    %c = arith.cmpi sge, %ki, %qi : i64
    %1 = arith.select %c, %s, %small : f32
    lathe.yield %1 : f32
  }
  return %0, %2 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// -----

// Halves that were widened, and a result that is rounded to them again: products are of halves. Not where somebody sees all of the result.
// CHECK-LABEL: func @widened
// CHECK: lathe.attention %arg0, %arg1, %arg2 : tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16> -> tensor<1x2x8x64xf16>
// CHECK: lathe.attention %{{.*}} : tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32> -> tensor<1x2x8x64xf32>
func.func @widened(%q16: tensor<1x2x8x64xf16>, %k16: tensor<1x2x8x64xf16>, %v16: tensor<1x2x8x64xf16>) -> (tensor<1x2x8x64xf16>, tensor<1x2x8x64xf32>) {
  %q = lathe.cast %q16 : tensor<1x2x8x64xf16> -> tensor<1x2x8x64xf32>
  %k = lathe.cast %k16 : tensor<1x2x8x64xf16> -> tensor<1x2x8x64xf32>
  %v = lathe.cast %v16 : tensor<1x2x8x64xf16> -> tensor<1x2x8x64xf32>
  %0 = lathe.contract %q, %k batch [0, 1] x [0, 1] over [3] x [3] : tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32> -> tensor<1x2x8x8xf32>
  %m = lathe.reduce max %0 axes [3] : tensor<1x2x8x8xf32> -> tensor<1x2x8xf32>
  %m1 = lathe.reshape %m : tensor<1x2x8xf32> -> tensor<1x2x8x1xf32>
  %m2 = lathe.broadcast %m1 : tensor<1x2x8x1xf32> -> tensor<1x2x8x8xf32>
  %c = lathe.sub %0, %m2 : tensor<1x2x8x8xf32>
  %e = lathe.exp %c : tensor<1x2x8x8xf32>
  %s = lathe.reduce sum %e axes [3] : tensor<1x2x8x8xf32> -> tensor<1x2x8xf32>
  %s1 = lathe.reshape %s : tensor<1x2x8xf32> -> tensor<1x2x8x1xf32>
  %s2 = lathe.broadcast %s1 : tensor<1x2x8x1xf32> -> tensor<1x2x8x8xf32>
  %p = lathe.div %e, %s2 : tensor<1x2x8x8xf32>
  %o = lathe.contract %p, %v batch [0, 1] x [0, 1] over [3] x [2] : tensor<1x2x8x8xf32>, tensor<1x2x8x64xf32> -> tensor<1x2x8x64xf32>
  %o16 = lathe.cast %o : tensor<1x2x8x64xf32> -> tensor<1x2x8x64xf16>
  %1 = lathe.contract %k, %q batch [0, 1] x [0, 1] over [3] x [3] : tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32> -> tensor<1x2x8x8xf32>
  %n = lathe.reduce max %1 axes [3] : tensor<1x2x8x8xf32> -> tensor<1x2x8xf32>
  %n1 = lathe.reshape %n : tensor<1x2x8xf32> -> tensor<1x2x8x1xf32>
  %n2 = lathe.broadcast %n1 : tensor<1x2x8x1xf32> -> tensor<1x2x8x8xf32>
  %d = lathe.sub %1, %n2 : tensor<1x2x8x8xf32>
  %f = lathe.exp %d : tensor<1x2x8x8xf32>
  %t = lathe.reduce sum %f axes [3] : tensor<1x2x8x8xf32> -> tensor<1x2x8xf32>
  %t1 = lathe.reshape %t : tensor<1x2x8xf32> -> tensor<1x2x8x1xf32>
  %t2 = lathe.broadcast %t1 : tensor<1x2x8x1xf32> -> tensor<1x2x8x8xf32>
  %r = lathe.div %f, %t2 : tensor<1x2x8x8xf32>
  %u = lathe.contract %r, %v batch [0, 1] x [0, 1] over [3] x [2] : tensor<1x2x8x8xf32>, tensor<1x2x8x64xf32> -> tensor<1x2x8x64xf32>
  return %o16, %u : tensor<1x2x8x64xf16>, tensor<1x2x8x64xf32>
}

// -----

// A mask as ONNX's operator has it: rows of which the largest score is -inf become 0.
// CHECK-LABEL: func @guarded
// CHECK: lathe.attention %arg0, %arg1, %arg2 extras(%arg3 : tensor<2x1x5x7xi1>) {zero_masked}
// CHECK: arith.select
// CHECK: return
func.func @guarded(%q: tensor<2x4x5x64xf32>, %k: tensor<2x4x7x64xf32>, %v: tensor<2x4x7x64xf32>, %m: tensor<2x1x5x7xi1>) -> tensor<2x4x5x64xf32> {
  %zeros = lathe.constant dense<0.0> : tensor<2x4x5x7xf32>
  %rows = lathe.constant dense<0xFF800000> : tensor<2x4x5x1xf32>
  %inf = lathe.constant dense<0xFF800000> : tensor<2x4x5x7xf32>
  %s = lathe.contract %q, %k batch [0, 1] x [0, 1] over [3] x [3] : tensor<2x4x5x64xf32>, tensor<2x4x7x64xf32> -> tensor<2x4x5x7xf32>
  %m4 = lathe.broadcast %m : tensor<2x1x5x7xi1> -> tensor<2x4x5x7xi1>
  %x = lathe.select %m4, %s, %inf : tensor<2x4x5x7xi1>, tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32> -> tensor<2x4x5x7xf32>
  %max = lathe.reduce max %x axes [3] : tensor<2x4x5x7xf32> -> tensor<2x4x5xf32>
  %max1 = lathe.reshape %max : tensor<2x4x5xf32> -> tensor<2x4x5x1xf32>
  %max4 = lathe.broadcast %max1 : tensor<2x4x5x1xf32> -> tensor<2x4x5x7xf32>
  %c = lathe.sub %x, %max4 : tensor<2x4x5x7xf32>
  %e = lathe.exp %c : tensor<2x4x5x7xf32>
  %sum = lathe.reduce sum %e axes [3] : tensor<2x4x5x7xf32> -> tensor<2x4x5xf32>
  %sum1 = lathe.reshape %sum : tensor<2x4x5xf32> -> tensor<2x4x5x1xf32>
  %sum4 = lathe.broadcast %sum1 : tensor<2x4x5x1xf32> -> tensor<2x4x5x7xf32>
  %p = lathe.div %e, %sum4 : tensor<2x4x5x7xf32>
  %none = lathe.compare eq %max1, %rows : tensor<2x4x5x1xf32>, tensor<2x4x5x1xf32> -> tensor<2x4x5x1xi1>
  %none4 = lathe.broadcast %none : tensor<2x4x5x1xi1> -> tensor<2x4x5x7xi1>
  %w = lathe.select %none4, %zeros, %p : tensor<2x4x5x7xi1>, tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32> -> tensor<2x4x5x7xf32>
  %y = lathe.contract %w, %v batch [0, 1] x [0, 1] over [3] x [2] : tensor<2x4x5x7xf32>, tensor<2x4x7x64xf32> -> tensor<2x4x5x64xf32>
  return %y : tensor<2x4x5x64xf32>
}

// -----

// A test of other rows' largest score is no guard of these.
// CHECK-LABEL: func @other_guard
// CHECK-NOT: lathe.attention
// CHECK: return
func.func @other_guard(%q: tensor<1x1x5x8xf32>, %k: tensor<1x1x7x8xf32>, %v: tensor<1x1x7x8xf32>, %o: tensor<1x1x5x7xf32>) -> tensor<1x1x5x8xf32> {
  %zeros = lathe.constant dense<0.0> : tensor<1x1x5x7xf32>
  %rows = lathe.constant dense<0xFF800000> : tensor<1x1x5x1xf32>
  %x = lathe.contract %q, %k batch [0, 1] x [0, 1] over [3] x [3] : tensor<1x1x5x8xf32>, tensor<1x1x7x8xf32> -> tensor<1x1x5x7xf32>
  %max = lathe.reduce max %x axes [3] : tensor<1x1x5x7xf32> -> tensor<1x1x5xf32>
  %max1 = lathe.reshape %max : tensor<1x1x5xf32> -> tensor<1x1x5x1xf32>
  %max4 = lathe.broadcast %max1 : tensor<1x1x5x1xf32> -> tensor<1x1x5x7xf32>
  %c = lathe.sub %x, %max4 : tensor<1x1x5x7xf32>
  %e = lathe.exp %c : tensor<1x1x5x7xf32>
  %sum = lathe.reduce sum %e axes [3] : tensor<1x1x5x7xf32> -> tensor<1x1x5xf32>
  %sum1 = lathe.reshape %sum : tensor<1x1x5xf32> -> tensor<1x1x5x1xf32>
  %sum4 = lathe.broadcast %sum1 : tensor<1x1x5x1xf32> -> tensor<1x1x5x7xf32>
  %p = lathe.div %e, %sum4 : tensor<1x1x5x7xf32>
  %most = lathe.reduce max %o axes [3] : tensor<1x1x5x7xf32> -> tensor<1x1x5xf32>
  %most1 = lathe.reshape %most : tensor<1x1x5xf32> -> tensor<1x1x5x1xf32>
  %none = lathe.compare eq %most1, %rows : tensor<1x1x5x1xf32>, tensor<1x1x5x1xf32> -> tensor<1x1x5x1xi1>
  %none4 = lathe.broadcast %none : tensor<1x1x5x1xi1> -> tensor<1x1x5x7xi1>
  %w = lathe.select %none4, %zeros, %p : tensor<1x1x5x7xi1>, tensor<1x1x5x7xf32>, tensor<1x1x5x7xf32> -> tensor<1x1x5x7xf32>
  %y = lathe.contract %w, %v batch [0, 1] x [0, 1] over [3] x [2] : tensor<1x1x5x7xf32>, tensor<1x1x7x8xf32> -> tensor<1x1x5x8xf32>
  return %y : tensor<1x1x5x8xf32>
}
