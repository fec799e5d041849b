// What a module of either dialect computes; numbers by hand.
// RUN: lathe-opt %s -split-input-file --lathe-interpret -o /dev/null | FileCheck %s

// Views, padding and a gather with an index from the end and one out of range.
// CHECK: turned: tensor<3x2xf32> [1, 4, 2, 5, 3, 6]
// CHECK: part: tensor<2x2xf32> [6, 4, 3, 1]
// CHECK: border: tensor<4xi32> [-1, 7, 8, -1]
// CHECK: picked: tensor<2x2xf32> [3, 3, 6, 6]
func.func @main() -> (tensor<3x2xf32> {lathe.name = "turned"}, tensor<2x2xf32> {lathe.name = "part"}, tensor<4xi32> {lathe.name = "border"}, tensor<2x2xf32> {lathe.name = "picked"}) {
  %x = lathe.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %t = lathe.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %s = lathe.slice %x starts ["1", "2"] steps [-1, -2] : tensor<2x3xf32> -> tensor<2x2xf32>
  %i = lathe.constant dense<[7, 8]> : tensor<2xi32>
  %v = lathe.constant dense<-1> : tensor<i32>
  %p = lathe.pad %i, %v low ["1"] high ["1"] : tensor<2xi32>, tensor<i32> -> tensor<4xi32>
  %at = lathe.constant dense<[-1, 9]> : tensor<2xi64>
  %g = lathe.gather %x, %at axis 1 : tensor<2x3xf32>, tensor<2xi64> -> tensor<2x2xf32>
  return %t, %s, %p, %g : tensor<3x2xf32>, tensor<2x2xf32>, tensor<4xi32>, tensor<2x2xf32>
}

// -----

// Each type at its edges: half rounds, bytes wrap and saturate, division by zero is 0, the remainder has the sign of either side.
// CHECK: half: tensor<2xf16> [2048, 2052]
// CHECK: brain: tensor<1xbf16> [1.0078125]
// CHECK: byte: tensor<2xui8> [4, 255]
// CHECK: over: tensor<2xi8> [-127, 0]
// CHECK: rest: tensor<2xi32> [-1, 1]
// CHECK: modulus: tensor<2xi32> [2, -2]
// CHECK: lessOrNaN: tensor<2xi1> [true, false]
func.func @main() -> (tensor<2xf16> {lathe.name = "half"}, tensor<1xbf16> {lathe.name = "brain"}, tensor<2xui8> {lathe.name = "byte"}, tensor<2xi8> {lathe.name = "over"}, tensor<2xi32> {lathe.name = "rest"}, tensor<2xi32> {lathe.name = "modulus"}, tensor<2xi1> {lathe.name = "lessOrNaN"}) {
  %h = lathe.constant dense<[2048.0, 2050.0]> : tensor<2xf16>
  %one = lathe.constant dense<1.0> : tensor<2xf16>
  %half = lathe.add %h, %one : tensor<2xf16>
  %f = lathe.constant dense<1.006> : tensor<1xf32>
  %brain = lathe.cast %f : tensor<1xf32> -> tensor<1xbf16>
  %big = lathe.constant dense<[4.9, 300.0]> : tensor<2xf32>
  %byte = lathe.cast %big : tensor<2xf32> -> tensor<2xui8>
  %a = lathe.constant dense<[127, 5]> : tensor<2xi8>
  %b = lathe.constant dense<[2, 0]> : tensor<2xi8>
  %sum = lathe.add %a, %b : tensor<2xi8>
  %quotient = lathe.div %a, %b : tensor<2xi8>
  %zero = lathe.constant dense<[false, true]> : tensor<2xi1>
  %over = lathe.select %zero, %quotient, %sum : tensor<2xi1>, tensor<2xi8>, tensor<2xi8> -> tensor<2xi8>
  %x = lathe.constant dense<[-7, 7]> : tensor<2xi32>
  %y = lathe.constant dense<[3, -3]> : tensor<2xi32>
  %rest = lathe.rem %x, %y : tensor<2xi32>
  %modulus = lathe.mod %x, %y : tensor<2xi32>
  %n = lathe.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %less = lathe.compare lt %n, %big : tensor<2xf32>, tensor<2xf32> -> tensor<2xi1>
  return %half, %brain, %byte, %over, %rest, %modulus, %less : tensor<2xf16>, tensor<1xbf16>, tensor<2xui8>, tensor<2xi8>, tensor<2xi32>, tensor<2xi32>, tensor<2xi1>
}

// -----

// A strided convolution with a border: windows [0 1 2] and [2 3 0] of the first channel by [0 2 0], [0 4 5] and [5 6 0] of the second by
// [-1 -1 0]. Attention of one query to scores -2 and 0: weights 1/(1+e^2) and e^2/(1+e^2), values 1 and 3.
// CHECK: image: tensor<1x1x2xf32> [-2, -5]
// CHECK: attended: tensor<1x1x1x1xf32> [2.76159406]
func.func @main() -> (tensor<1x1x2xf32> {lathe.name = "image"}, tensor<1x1x1x1xf32> {lathe.name = "attended"}) {
  %x = lathe.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %w = lathe.constant dense<[[[0.0, 2.0, 0.0], [-1.0, -1.0, 0.0]]]> : tensor<1x2x3xf32>
  %c = lathe.conv %x, %w strides [2] dilations [1] pads ["1", "1"] groups 1 : tensor<1x2x3xf32>, tensor<1x2x3xf32> -> tensor<1x1x2xf32>
  %q = lathe.constant dense<2.0> : tensor<1x1x1x1xf32>
  %k = lathe.constant dense<[[[[-1.0], [0.0]]]]> : tensor<1x1x2x1xf32>
  %v = lathe.constant dense<[[[[1.0], [3.0]]]]> : tensor<1x1x2x1xf32>
  %o = lathe.attention %q, %k, %v : tensor<1x1x1x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32> -> tensor<1x1x1x1xf32> {
  ^bb0(%score: f32, %b: i64, %h: i64, %qi: i64, %ki: i64):
    lathe.yield %score : f32
  }
  return %c, %o : tensor<1x1x2xf32>, tensor<1x1x1x1xf32>
}

// -----

// A host program: the places where a mask is set, then a loop that doubles so often, then a branch.
// CHECK: places: tensor<2xi64> [1, 2]
// CHECK: doubled: tensor<1xf32> [12]
// CHECK: steps: tensor<2x1xf32> [6, 12]
// CHECK: chosen: tensor<1xf32> [-12]
lathe.symbol "n" range [0, 3]
lathe.symbol "step" range [0, -1]
lathe.symbol "late" range [0, -1] is "2*n"
func.func @main() -> (tensor<?xi64, #lathe.dims<"n">> {lathe.name = "places"}, tensor<1xf32> {lathe.name = "doubled"}, tensor<?x1xf32, #lathe.dims<"n", "1">> {lathe.name = "steps"}, tensor<1xf32> {lathe.name = "chosen"}) {
  %mask = lathe.constant dense<[false, true, true]> : tensor<3xi1>
  // Waits for the read behind it.
  %where = lathe.call "compact"(%mask) sizes ["3", "n"] : (tensor<3xi1>) -> tensor<?xi64, #lathe.dims<"n">>
  %ones = lathe.cast %mask : tensor<3xi1> -> tensor<3xi64>
  %count = lathe.reduce sum %ones axes [0] : tensor<3xi64> -> tensor<i64>
  lathe.read %count as ["n"] : tensor<i64>
  %start = lathe.constant dense<3.0> : tensor<1xf32>
  %l:2 = lathe.loop @body carried(%start) captured() {limit = "n", counter = "step", count = "", symbols = [], initial = [], next = [], finals = []} : (tensor<1xf32>) -> (tensor<1xf32>, tensor<?x1xf32, #lathe.dims<"n", "1">>)
  %no = lathe.constant dense<false> : tensor<i1>
  %r = lathe.if %no then @same else @negative(%l#0) {symbols = [], thenSizes = [], elseSizes = []} : (tensor<i1>, tensor<1xf32>) -> tensor<1xf32>
  return %where, %l#0, %l#1, %r : tensor<?xi64, #lathe.dims<"n">>, tensor<1xf32>, tensor<?x1xf32, #lathe.dims<"n", "1">>, tensor<1xf32>
}
func.func @body(%x: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %y = lathe.add %x, %x : tensor<1xf32>
  return %y, %y : tensor<1xf32>, tensor<1xf32>
}
func.func @same(%x: tensor<1xf32>) -> tensor<1xf32> {
  return %x : tensor<1xf32>
}
func.func @negative(%x: tensor<1xf32>) -> tensor<1xf32> {
  %y = lathe.neg %x : tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

// A row program: each row of three less its mean; beside it the rows' sums of their even columns, under a predicate.
// CHECK: centered: tensor<2x3xf32> [-1, 0, 1, -2, 0, 2]
// CHECK: even: tensor<2xf32> [4, 12]
func.func @main() -> (tensor<2x3xf32> {lathe.name = "centered"}, tensor<2xf32> {lathe.name = "even"}) {
  %x = lathe.constant dense<[[1.0, 2.0, 3.0], [4.0, 6.0, 8.0]]> : tensor<2x3xf32>
  %0:2 = kernel.generic reduction @rows axes(n = "2", d = "3") ins(%x : tensor<2x3xf32>) outs(tensor<2x3xf32>, tensor<2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>, %sums: !kernel.ref<f32>):
    %1 = kernel.load %in["3*n + d"] : !kernel.ref<f32> -> f32
    %2 = kernel.reduce add %1 over ["d"] : f32
    %three = arith.constant 3.0 : f32
    %3 = arith.divf %2, %three : f32
    %4 = arith.subf %1, %3 : f32
    kernel.store %4, %out["3*n + d"] : f32, !kernel.ref<f32>
    %rest = kernel.index "mod(d, 2)"
    %none = arith.constant 0 : i64
    %even = arith.cmpi eq, %rest, %none : i64
    %zero = arith.constant 0.0 : f32
    // Where the predicate is false the place does not matter.
    %5 = kernel.load %in["3*n + d + 100*mod(d, 2)"] if %even else %zero : !kernel.ref<f32> else f32 -> f32
    %6 = kernel.reduce add %5 over ["d"] : f32
    kernel.store %6, %sums["n"] : f32, !kernel.ref<f32>
  }
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2xf32>
}

// -----

// A contraction with its epilogue, a gather through an index that is read, unsigned numbers.
// CHECK: product: tensor<2x2xf32> [20, 23, 44, 51]
// CHECK: row: tensor<2xui8> [250, 200]
func.func @main() -> (tensor<2x2xf32> {lathe.name = "product"}, tensor<2xui8> {lathe.name = "row"}) {
  %a = lathe.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = lathe.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %0 = kernel.generic contraction @product axes(m = "2", n = "2", k = "2") ins(%a, %b : tensor<2x2xf32>, tensor<2x2xf32>) outs(tensor<2x2xf32>) {
  ^bb0(%x: !kernel.ref<f32>, %y: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.contract %x["2*m + k"], %y["2*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    %2 = kernel.load %x["0"] : !kernel.ref<f32> -> f32
    %3 = arith.addf %1, %2 : f32
    kernel.store %3, %out["2*m + n"] : f32, !kernel.ref<f32>
  }
  %at = lathe.constant dense<[1, 0]> : tensor<2xi64>
  %table = lathe.constant dense<[200, 250]> : tensor<2xui8>
  %4 = kernel.generic loop @pick axes(i = "2") ins(%at, %table : tensor<2xi64>, tensor<2xui8>) outs(tensor<2xui8>) {
  ^bb0(%i: !kernel.ref<i64>, %t: !kernel.ref<i8>, %out: !kernel.ref<i8>):
    %5 = kernel.load %i["i"] : !kernel.ref<i64> -> i64
    %6 = kernel.load %t["$0"] indirect(%5) : !kernel.ref<i8> -> i8
    kernel.store %6, %out["i"] : i8, !kernel.ref<i8>
  }
  return %0, %4 : tensor<2x2xf32>, tensor<2xui8>
}

// -----

// Attention as a kernel: scores -2 and 0 of the one query, as above.
// CHECK: attended: tensor<1xf32> [2.76159406]
func.func @main() -> (tensor<1xf32> {lathe.name = "attended"}) {
  %q = lathe.constant dense<2.0> : tensor<1xf32>
  %k = lathe.constant dense<[-1.0, 0.0]> : tensor<2xf32>
  %v = lathe.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %0 = kernel.generic attention @attend axes(q = "1", e = "1", k = "2", d = "1") ins(%q, %k, %v : tensor<1xf32>, tensor<2xf32>, tensor<2xf32>) outs(tensor<1xf32>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %c: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.attention %a["q + d"], %b["k + d"], %c["k + e"] query "q" key "k" depth "d" value "e" : (!kernel.ref<f32>, !kernel.ref<f32>, !kernel.ref<f32>) -> f32 {
    ^bb0(%s: f32):
      kernel.yield %s : f32
    }
    kernel.store %1, %out["q + e"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<1xf32>
}

// -----

// What a predicate hides may be computed with, but must not be chosen; an index that is read, in an expression.
// CHECK: chosen: tensor<2xf32> [6, 0]
// CHECK: at: tensor<2xi64> [21, 10]
func.func @main() -> (tensor<2xf32> {lathe.name = "chosen"}, tensor<2xi64> {lathe.name = "at"}) {
  %x = lathe.constant dense<3.0> : tensor<1xf32>
  %n = lathe.constant dense<[2, 1]> : tensor<2xi64>
  %0:2 = kernel.generic loop @choose axes(i = "2") ins(%x, %n : tensor<1xf32>, tensor<2xi64>) outs(tensor<2xf32>, tensor<2xi64>) {
  ^bb0(%in: !kernel.ref<f32>, %numbers: !kernel.ref<i64>, %out: !kernel.ref<f32>, %places: !kernel.ref<i64>):
    %1 = kernel.index "i"
    %one = arith.constant 1 : i64
    %first = arith.cmpi slt, %1, %one : i64
    %2 = kernel.load %in["i"] if %first : !kernel.ref<f32> -> f32
    %3 = arith.addf %2, %2 : f32
    %zero = arith.constant 0.0 : f32
    %4 = arith.select %first, %3, %zero : f32
    kernel.store %4, %out["i"] : f32, !kernel.ref<f32>
    %5 = kernel.load %numbers["i"] : !kernel.ref<i64> -> i64
    %6 = kernel.index "10*$0 - i + 1" indirect(%5)
    kernel.store %6, %places["i"] : i64, !kernel.ref<i64>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi64>
}

// -----

// Updates apply in their order: the last of two stays, and sums take both. What is outside of the data is left out, -1 is the last row.
// The kernel covers its result, then adds 1, -2, 4 and 8 at 0, 2, 0 and 7.
// CHECK: last: tensor<3x2xf32> [5, 6, 0, 0, 3, 4]
// CHECK: sums: tensor<3x2xi32> [16, 18, 10, 10, 13, 14]
// CHECK: kernel: tensor<3xf32> [-5, 20, 28]
func.func @main() -> (tensor<3x2xf32> {lathe.name = "last"}, tensor<3x2xi32> {lathe.name = "sums"}, tensor<3xf32> {lathe.name = "kernel"}) {
  %zero = lathe.constant dense<0.0> : tensor<3x2xf32>
  %rows = lathe.constant dense<[[0, 0], [-1, -1], [0, 0], [3, -4]]> : tensor<4x2xi64>
  %u = lathe.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %0 = lathe.scatter set %zero, %u at (%rows) places [-1, 1] : tensor<3x2xf32>, tensor<4x2xf32>, tensor<4x2xi64> -> tensor<3x2xf32>
  %ten = lathe.constant dense<10> : tensor<3x2xi32>
  %v = lathe.cast %u : tensor<4x2xf32> -> tensor<4x2xi32>
  %1 = lathe.scatter add %ten, %v at (%rows) places [-1, 1] : tensor<3x2xi32>, tensor<4x2xi32>, tensor<4x2xi64> -> tensor<3x2xi32>
  %x = lathe.constant dense<[-10.0, 20.0, 30.0]> : tensor<3xf32>
  %at = lathe.constant dense<[0, 2, 0, 7]> : tensor<4xi64>
  %w = lathe.constant dense<[1.0, -2.0, 4.0, 8.0]> : tensor<4xf32>
  %2 = kernel.generic scatter @scatter axes(i = "3", n = "4") ins(%x, %at, %w : tensor<3xf32>, tensor<4xi64>, tensor<4xf32>) outs(tensor<3xf32>) {
  ^bb0(%data: !kernel.ref<f32>, %places: !kernel.ref<i64>, %updates: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %3 = kernel.load %data["i"] : <f32> -> f32
    kernel.store %3, %out["i"] : f32, <f32>
    %4 = kernel.load %places["n"] : <i64> -> i64
    %end = arith.constant 3 : i64
    %inside = arith.cmpi slt, %4, %end : i64
    %5 = kernel.load %updates["n"] : <f32> -> f32
    kernel.store %5, %out["$0"] indirect(%4) if %inside combine add : f32, <f32>
  }
  return %0, %1, %2 : tensor<3x2xf32>, tensor<3x2xi32>, tensor<3xf32>
}

// -----

// A condition holds where it is at most 0.
// CHECK: holds: tensor<i64> [5]
lathe.symbol "n" range [1, -1]
lathe.relation "n - 3" "holds" "0"
func.func @main(%x: tensor<?xf32, #lathe.dims<"n">>) -> (tensor<i64> {lathe.name = "holds"}) {
  %0 = lathe.constant dense<5> : tensor<i64>
  return %0 : tensor<i64>
}
