// RUN: lathe-opt %s --split-input-file --lathe-verify-accesses --verify-diagnostics

// What every kernel is proven to keep to: K6, K7 and K8 of kernel.generic, right and wrong.

// K6: strides in any order, sizes that are symbols, two levels of one row program.
!x = tensor<?x?x64xf32, #lathe.dims<"b", "s", "64">>
!r = tensor<?x?xf32, #lathe.dims<"b", "s">>
module {
  lathe.symbol "b" range [1, -1]
  lathe.symbol "s" range [0, -1]
  func.func @main(%x: !x) -> (!x, !r) {
    %0:2 = kernel.generic reduction @rows axes(j = "s", i = "b", d = "64") ins(%x : !x) outs(!x, !r) {
    ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>, %sums: !kernel.ref<f32>):
      %1 = kernel.load %in["64*i*s + 64*j + d"] : !kernel.ref<f32> -> f32
      %2 = kernel.reduce add %1 over ["d"] : f32
      %3 = arith.subf %1, %2 : f32
      kernel.store %3, %out["64*i*s + 64*j + d"] : f32, !kernel.ref<f32>
      kernel.store %2, %sums["i*s + j"] : f32, !kernel.ref<f32>
    }
    return %0#0, %0#1 : !x, !r
  }
}

// -----

// K6: two stores that partition a result.
func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = kernel.generic loop @both axes(i = "4") ins(%x : tensor<4xf32>) outs(tensor<8xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["i + 4"] : f32, !kernel.ref<f32>
    kernel.store %1, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{K6: 'half': result 0 has 8 elements, its stores write [0, 4)}}
  %0 = kernel.generic loop @half axes(i = "4") ins(%x : tensor<4xf32>) outs(tensor<8xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<8xf32>
}

// -----

// The stores overlap.
func.func @main(%x: tensor<4xf32>) -> tensor<6xf32> {
  // expected-error @below {{K6: 'overlap': result 0 has 6 elements, its stores write [}}
  %0 = kernel.generic loop @overlap axes(i = "4") ins(%x : tensor<4xf32>) outs(tensor<6xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["i"] : f32, !kernel.ref<f32>
    kernel.store %1, %out["i + 2"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<6xf32>
}

// -----

// An element is written at each point of an axis that its offset does not mention.
func.func @main(%x: tensor<4x3xf32>) -> tensor<4xf32> {
  %0 = kernel.generic loop @again axes(i = "4", j = "3") ins(%x : tensor<4x3xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["3*i + j"] : !kernel.ref<f32> -> f32
    // expected-error @below {{K6: 'again': not proven to write each element of a block once: i}}
    kernel.store %1, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<4xf32>
}

// -----

// Strides that are no mixed radix: some elements twice, others never.
func.func @main(%x: tensor<4x3xf32>) -> tensor<12xf32> {
  %0 = kernel.generic loop @strides axes(i = "4", j = "3") ins(%x : tensor<4x3xf32>) outs(tensor<12xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["3*i + j"] : !kernel.ref<f32> -> f32
    // expected-error @below {{K6: 'strides': not proven}}
    kernel.store %1, %out["2*i + j"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<12xf32>
}

// -----

// A store that a predicate skips.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kernel.generic loop @skips axes(i = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    %c = arith.constant 2 : i64
    %i = kernel.index "i"
    %p = arith.cmpi slt, %i, %c : i64
    // expected-error @below {{K6: 'skips': not proven}}
    kernel.store %1, %out["i"] if %p : f32, !kernel.ref<f32>
  }
  return %0 : tensor<4xf32>
}

// -----

// An axis as residues, the last of which are shorter: as many points as it had.
func.func @main(%x: tensor<40x4xf32>) -> tensor<40x4xf32> {
  %0 = kernel.generic loop @residues axes(r = "3", i = "14", c = "4") ins(%x : tensor<40x4xf32>) outs(tensor<40x4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %at = kernel.index "3*i + r"
    %end = kernel.index "40"
    %p = arith.cmpi slt, %at, %end : i64
    %1 = kernel.load %in["12*i + 4*r + c"] if %p : !kernel.ref<f32> -> f32
    kernel.store %1, %out["12*i + 4*r + c"] if %p : f32, !kernel.ref<f32>
  }
  return %0 : tensor<40x4xf32>
}

// -----

!lines = tensor<?x4xf32, #lathe.dims<"h", "4">>
module {
lathe.symbol "h" range [0, -1]
func.func @main(%x: !lines) -> !lines {
  %0 = kernel.generic loop @open axes(r = "3", i = "floordiv(h + 2, 3)", c = "4") ins(%x : !lines) outs(!lines) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %at = kernel.index "3*i + r"
    %end = kernel.index "h"
    %p = arith.cmpi slt, %at, %end : i64
    %1 = kernel.load %in["12*i + 4*r + c"] if %p : !kernel.ref<f32> -> f32
    kernel.store %1, %out["12*i + 4*r + c"] if %p : f32, !kernel.ref<f32>
  }
  return %0 : !lines
}
}

// -----

// The last line is left out.
func.func @main(%x: tensor<40x4xf32>) -> tensor<40x4xf32> {
  %0 = kernel.generic loop @short axes(r = "3", i = "14", c = "4") ins(%x : tensor<40x4xf32>) outs(tensor<40x4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %at = kernel.index "3*i + r"
    %end = kernel.index "39"
    %p = arith.cmpi slt, %at, %end : i64
    %1 = kernel.load %in["12*i + 4*r + c"] if %p : !kernel.ref<f32> -> f32
    // expected-error @below {{K6: 'short': not proven}}
    kernel.store %1, %out["12*i + 4*r + c"] if %p : f32, !kernel.ref<f32>
  }
  return %0 : tensor<40x4xf32>
}

// -----

// A list of chosen elements counts those in front of each, of two conditions as of one.
!k = tensor<?xf32, #lathe.dims<"k">>
module {
lathe.symbol "k" range [0, -1]
func.func @main(%x: tensor<9xf32>, %m: tensor<9xi1>, %o: tensor<9xi1>) -> !k {
  %0 = kernel.generic scan @both axes(i = "9") ins(%x, %m, %o : tensor<9xf32>, tensor<9xi1>, tensor<9xi1>) outs(!k) {
  ^bb0(%in: !kernel.ref<f32>, %mask: !kernel.ref<i1>, %other: !kernel.ref<i1>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    %a = kernel.load %mask["i"] : !kernel.ref<i1> -> i1
    %b = kernel.load %other["i"] : !kernel.ref<i1> -> i1
    %p = arith.andi %a, %b : i1
    %one = arith.extui %p : i1 to i64
    %s = kernel.scan add %one along "i" {exclusive} : i64
    %k = kernel.index "k"
    %low = arith.cmpi slt, %s, %k : i64
    %q = arith.andi %p, %low : i1
    %last = kernel.index "k - 1"
    %zero = arith.constant 0 : i64
    %most = arith.minsi %s, %last : i64
    %at = arith.maxsi %most, %zero : i64
    kernel.store %1, %out["$0"] indirect(%at) if %q : f32, !kernel.ref<f32>
  }
  return %0 : !k
}
}

// -----

// One that counts others leaves elements out.
!k = tensor<?xf32, #lathe.dims<"k">>
module {
lathe.symbol "k" range [0, -1]
func.func @main(%x: tensor<9xf32>, %m: tensor<9xi1>, %o: tensor<9xi1>) -> (!k, !k) {
  %0 = kernel.generic scan @chosen axes(i = "9") ins(%x, %m : tensor<9xf32>, tensor<9xi1>) outs(!k) {
  ^bb0(%in: !kernel.ref<f32>, %mask: !kernel.ref<i1>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    %p = kernel.load %mask["i"] : !kernel.ref<i1> -> i1
    %one = arith.extui %p : i1 to i64
    %s = kernel.scan add %one along "i" {exclusive} : i64
    %k = kernel.index "k"
    %low = arith.cmpi slt, %s, %k : i64
    %q = arith.andi %p, %low : i1
    %last = kernel.index "k - 1"
    %zero = arith.constant 0 : i64
    %most = arith.minsi %s, %last : i64
    %at = arith.maxsi %most, %zero : i64
    kernel.store %1, %out["$0"] indirect(%at) if %q : f32, !kernel.ref<f32>
  }
  // expected-error @below {{K6: 'others': result 0 has k elements, its stores write none}}
  %1 = kernel.generic scan @others axes(i = "9") ins(%x, %m, %o : tensor<9xf32>, tensor<9xi1>, tensor<9xi1>) outs(!k) {
  ^bb0(%in: !kernel.ref<f32>, %mask: !kernel.ref<i1>, %other: !kernel.ref<i1>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    %p = kernel.load %mask["i"] : !kernel.ref<i1> -> i1
    %w = kernel.load %other["i"] : !kernel.ref<i1> -> i1
    %one = arith.extui %w : i1 to i64
    %s = kernel.scan add %one along "i" {exclusive} : i64
    %k = kernel.index "k"
    %low = arith.cmpi slt, %s, %k : i64
    %q = arith.andi %p, %low : i1
    %last = kernel.index "k - 1"
    %zero = arith.constant 0 : i64
    %most = arith.minsi %s, %last : i64
    %at = arith.maxsi %most, %zero : i64
    kernel.store %1, %out["$0"] indirect(%at) if %q : f32, !kernel.ref<f32>
  }
  return %0, %1 : !k, !k
}
}

// -----

// K7: a slice that a relation keeps inside, and one of which nothing is known.
!n = tensor<?xf32, #lathe.dims<"n">>
!k = tensor<?xf32, #lathe.dims<"k">>
module {
  lathe.symbol "n" range [1, -1]
  lathe.symbol "k" range [1, -1]
  lathe.relation "k + 2" "le" "n"
  func.func @main(%x: !n) -> (!k, !k) {
    %0 = kernel.generic loop @inside axes(i = "k") ins(%x : !n) outs(!k) {
    ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      %1 = kernel.load %in["i + 2"] : !kernel.ref<f32> -> f32
      kernel.store %1, %out["i"] : f32, !kernel.ref<f32>
    }
    %2 = kernel.generic loop @outside axes(i = "k") ins(%x : !n) outs(!k) {
    ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      // expected-error @below {{K7: 'outside': offset i + 3 is not proven to stay inside of n elements}}
      %1 = kernel.load %in["i + 3"] : !kernel.ref<f32> -> f32
      kernel.store %1, %out["i"] : f32, !kernel.ref<f32>
    }
    return %0, %2 : !k, !k
  }
}

// -----

// K7 and K8: a border of one pixel around an image, read under its conditions, filled behind what computes with it.
!image = tensor<?x?xf32, #lathe.dims<"h", "w">>
!wider = tensor<?x?xf32, #lathe.dims<"h + 2", "w + 2">>
module {
  lathe.symbol "h" range [1, -1]
  lathe.symbol "w" range [1, -1]
  func.func @main(%x: !image) -> !wider {
    %0 = kernel.generic loop @border axes(i = "h + 2", j = "w + 2") ins(%x : !image) outs(!wider) {
    ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      %zero = arith.constant 0 : i64
      %y = kernel.index "i - 1"
      %h = kernel.index "h"
      %0 = arith.cmpi sge, %y, %zero : i64
      %1 = arith.cmpi slt, %y, %h : i64
      %2 = arith.andi %0, %1 : i1
      %x0 = kernel.index "j - 1"
      %w = kernel.index "w"
      %3 = arith.cmpi sge, %x0, %zero : i64
      %4 = arith.cmpi slt, %x0, %w : i64
      %5 = arith.andi %3, %4 : i1
      %p = arith.andi %2, %5 : i1
      %v = kernel.load %in["i*w + j - w - 1"] if %p : !kernel.ref<f32> -> f32
      %e = math.exp %v : f32
      %fill = arith.constant 0.0 : f32
      %r = arith.select %p, %e, %fill : f32
      kernel.store %r, %out["i*w + 2*i + j"] : f32, !kernel.ref<f32>
    }
    return %0 : !wider
  }
}

// -----

// K7: one of the four conditions is missing.
!image = tensor<?x?xf32, #lathe.dims<"h", "w">>
!wider = tensor<?x?xf32, #lathe.dims<"h", "w + 1">>
module {
  lathe.symbol "h" range [1, -1]
  lathe.symbol "w" range [1, -1]
  func.func @main(%x: !image) -> !wider {
    %0 = kernel.generic loop @border axes(i = "h", j = "w + 1") ins(%x : !image) outs(!wider) {
    ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      %zero = arith.constant 0 : i64
      %x0 = kernel.index "j - 1"
      %p = arith.cmpi sle, %x0, %zero : i64
      %fill = arith.constant 0.0 : f32
      // expected-error @below {{K7: 'border': offset i*w + j - 1 where 0 <= -j + 1 is not proven to stay inside of h*w elements}}
      %v = kernel.load %in["i*w + j - 1"] if %p else %fill : !kernel.ref<f32> else f32 -> f32
      kernel.store %v, %out["i*w + i + j"] : f32, !kernel.ref<f32>
    }
    return %0 : !wider
  }
}

// -----

// K7: indices read at run time are brought into range first, and conditions may speak of them.
func.func @main(%x: tensor<8xf32>, %at: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = kernel.generic loop @clamped axes(i = "4") ins(%x, %at : tensor<8xf32>, tensor<4xi64>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %indices: !kernel.ref<i64>, %out: !kernel.ref<f32>):
    %a = kernel.load %indices["i"] : !kernel.ref<i64> -> i64
    %zero = arith.constant 0 : i64
    %last = arith.constant 9 : i64
    %b = arith.minsi %a, %last : i64
    %c = arith.maxsi %b, %zero : i64
    %d = kernel.index "$0 - 2" indirect(%c)
    %p = arith.cmpi sge, %d, %zero : i64
    %fill = arith.constant 1.0 : f32
    %v = kernel.load %in["$0 - 2"] indirect(%c) if %p else %fill : !kernel.ref<f32> else f32 -> f32
    kernel.store %v, %out["i"] : f32, !kernel.ref<f32>
  }
  %1 = kernel.generic loop @raw axes(i = "4") ins(%x, %at : tensor<8xf32>, tensor<4xi64>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %indices: !kernel.ref<i64>, %out: !kernel.ref<f32>):
    %a = kernel.load %indices["i"] : !kernel.ref<i64> -> i64
    // expected-error @below {{K7: 'raw': offset $0 is not proven to stay inside of 8 elements}}
    %v = kernel.load %in["$0"] indirect(%a) : !kernel.ref<f32> -> f32
    kernel.store %v, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// K8: the value of the border is not the one of exp(0), it is none.
func.func @main(%x: tensor<4xf32>) -> tensor<6xf32> {
  %0 = kernel.generic loop @border axes(i = "6") ins(%x : tensor<4xf32>) outs(tensor<6xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %c = arith.constant 4 : i64
    %i = kernel.index "i"
    %p = arith.cmpi slt, %i, %c : i64
    %v = kernel.load %in["i"] if %p : !kernel.ref<f32> -> f32
    %e = math.exp %v : f32
    // expected-error @below {{K8: 'border': uses a value where its predicate is false}}
    kernel.store %e, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<6xf32>
}

// -----

// K8: sums, too; and a select by another condition does not help.
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %0 = kernel.generic reduction @sum axes(i = "6") ins(%x : tensor<4xf32>) outs(tensor<f32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %c = arith.constant 4 : i64
    %d = arith.constant 5 : i64
    %i = kernel.index "i"
    %p = arith.cmpi slt, %i, %c : i64
    %q = arith.cmpi slt, %i, %d : i64
    %v = kernel.load %in["i"] if %p : !kernel.ref<f32> -> f32
    %zero = arith.constant 0.0 : f32
    %w = arith.select %q, %v, %zero : f32
    // expected-error @below {{K8: 'sum': uses a value where its predicate is false}}
    %s = kernel.reduce add %w over ["i"] : f32
    kernel.store %s, %out["0"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<f32>
}

// -----

// K8: a concatenation of three: each part where its conditions hold.
func.func @main(%x: tensor<2xf32>) -> tensor<6xf32> {
  %0 = kernel.generic loop @concat axes(i = "6") ins(%x : tensor<2xf32>) outs(tensor<6xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %two = arith.constant 2 : i64
    %four = arith.constant 4 : i64
    %i = kernel.index "i"
    %until0 = arith.cmpi slt, %i, %two : i64
    %a = kernel.load %in["i"] if %until0 : !kernel.ref<f32> -> f32
    %from1 = arith.cmpi sge, %i, %two : i64
    %until1 = arith.cmpi slt, %i, %four : i64
    %in1 = arith.andi %from1, %until1 : i1
    %b = kernel.load %in["i - 2"] if %in1 : !kernel.ref<f32> -> f32
    %ab = arith.select %from1, %b, %a : f32
    %from2 = arith.cmpi sge, %i, %four : i64
    %c = kernel.load %in["i - 4"] if %from2 : !kernel.ref<f32> -> f32
    %abc = arith.select %from2, %c, %ab : f32
    kernel.store %abc, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<6xf32>
}

// -----

module {
  lathe.symbol "n" range[1, -1]
  func.func @main(%x: tensor<?xf32, #lathe.dims<"2*n">>) -> tensor<?xf32, #lathe.dims<"n">> {
    // expected-error @+1 {{K7: a buffer of 2*n elements is taken for one of n}}
    %0 = lathe.reshape %x : tensor<?xf32, #lathe.dims<"2*n">> -> tensor<?xf32, #lathe.dims<"n">>
    return %0 : tensor<?xf32, #lathe.dims<"n">>
  }
}

// -----

// K6: an axis of no more than one place is always zero, whatever its stride says.
!x = tensor<?x3xf32, #lathe.dims<"max(-max(0, n - 3) + 1, 0)", "3">>
module {
  lathe.symbol "n" range [1, -1]
  func.func @main(%x: !x) -> !x {
    %0 = kernel.generic loop @last axes(i = "max(-max(0, n - 3) + 1, 0)", j = "3") ins(%x : !x) outs(!x) {
    ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      %1 = kernel.load %in["3*i + j"] : !kernel.ref<f32> -> f32
      kernel.store %1, %out["5*i + j"] : f32, !kernel.ref<f32>
    }
    return %0 : !x
  }
}

// -----

// K6: one of two places is not.
!y = tensor<?x3xf32, #lathe.dims<"min(n, 2)", "3">>
module {
  lathe.symbol "n" range [1, -1]
  func.func @main(%x: !y) -> !y {
    %0 = kernel.generic loop @last axes(i = "min(n, 2)", j = "3") ins(%x : !y) outs(!y) {
    ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      %1 = kernel.load %in["3*i + j"] : !kernel.ref<f32> -> f32
      // expected-error @below {{K6: 'last': not proven to write each element of a block once: 5*i + j}}
      kernel.store %1, %out["5*i + j"] : f32, !kernel.ref<f32>
    }
    return %0 : !y
  }
}
