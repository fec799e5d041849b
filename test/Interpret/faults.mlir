// What a kernel must not do, and inputs that do not fit.
// RUN: not lathe-opt %s -split-input-file --lathe-interpret -o /dev/null 2>&1 | FileCheck %s

// CHECK: kernel.generic @half: element 1 of result 0 was never written, nor 1 others
func.func @main() -> tensor<4xf32> {
  %0 = kernel.generic loop @half axes(i = "2") outs(tensor<4xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %one = arith.constant 1.0 : f32
    kernel.store %one, %out["2*i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK: kernel.generic @beyond: operand 0 has 3 elements, element 3 is accessed at i = 3
func.func @main() -> tensor<4xf32> {
  %x = lathe.constant dense<1.0> : tensor<3xf32>
  %0 = kernel.generic loop @beyond axes(i = "4") ins(%x : tensor<3xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK: kernel.generic @twice: element 0 of result 0 is written twice, 0 and at i = 1 1
func.func @main() -> tensor<1xi64> {
  %0 = kernel.generic loop @twice axes(i = "2") outs(tensor<1xi64>) {
  ^bb0(%out: !kernel.ref<i64>):
    %1 = kernel.index "i"
    kernel.store %1, %out["0"] : i64, !kernel.ref<i64>
  }
  return %0 : tensor<1xi64>
}

// -----

// CHECK: kernel.generic @outside: result 0 has 2 elements, element -1 is accessed at i = 0
func.func @main() -> tensor<2xi64> {
  %0 = kernel.generic loop @outside axes(i = "3") outs(tensor<2xi64>) {
  ^bb0(%out: !kernel.ref<i64>):
    %1 = kernel.index "i"
    kernel.store %1, %out["i - 1"] : i64, !kernel.ref<i64>
  }
  return %0 : tensor<2xi64>
}

// -----

// CHECK: kernel.generic @undefined: arith.divsi: an operand for which the result is undefined
func.func @main() -> tensor<2xi64> {
  %0 = kernel.generic loop @undefined axes(i = "2") outs(tensor<2xi64>) {
  ^bb0(%out: !kernel.ref<i64>):
    %1 = kernel.index "i"
    %2 = arith.divsi %1, %1 : i64
    kernel.store %2, %out["i"] : i64, !kernel.ref<i64>
  }
  return %0 : tensor<2xi64>
}

// -----

// CHECK: kernel.generic @hidden: a store to result 0 uses what a predicate hides, at i = 1
func.func @main() -> tensor<2xf32> {
  %x = lathe.constant dense<1.0> : tensor<1xf32>
  %0 = kernel.generic loop @hidden axes(i = "2") ins(%x : tensor<1xf32>) outs(tensor<2xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.index "i"
    %one = arith.constant 1 : i64
    %first = arith.cmpi slt, %1, %one : i64
    %2 = kernel.load %in["i"] if %first : !kernel.ref<f32> -> f32
    %3 = arith.addf %2, %2 : f32
    kernel.store %3, %out["i"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<2xf32>
}

// -----

// CHECK: the model needs n eq m; it is 2 and 3
lathe.symbol "n" range [1, -1]
lathe.symbol "m" range [3, -1]
lathe.relation "n" "eq" "m"
func.func @main(%x: tensor<?xf32, #lathe.dims<"n">>, %y: tensor<?xf32, #lathe.dims<"m">>) -> tensor<?xf32, #lathe.dims<"n">> {
  return %x : tensor<?xf32, #lathe.dims<"n">>
}

// -----

// CHECK: the model needs -n + 3 holds 0; it is 1 and 0
lathe.symbol "n" range [1, -1]
lathe.relation "-n + 3" "holds" "0"
func.func @main(%x: tensor<?xf32, #lathe.dims<"n">>) -> tensor<?xf32, #lathe.dims<"n">> {
  return %x : tensor<?xf32, #lathe.dims<"n">>
}

// -----

// RUN: not lathe-opt %s -split-input-file --lathe-interpret="dims=n" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DIMS
// DIMS: dims: 'n' is not NAME=N
lathe.symbol "n" range [1, -1]
func.func @main(%x: tensor<?xf32, #lathe.dims<"n">>) -> tensor<?xf32, #lathe.dims<"n">> {
  return %x : tensor<?xf32, #lathe.dims<"n">>
}

// -----

// A size that a branch gives is checked where it is known.
// CHECK: the model needs s eq 2; it is 3 and 2
module {
  lathe.symbol "s" range [0, -1]
  lathe.relation "s" "eq" "2"
  func.func @main() -> tensor<2xf32> {
    %yes = lathe.constant dense<true> : tensor<i1>
    %x = lathe.constant dense<1.0> : tensor<3xf32>
    %y = lathe.constant dense<2.0> : tensor<2xf32>
    %0 = lathe.if %yes then @first else @second(%x, %y) {symbols = ["s"], thenSizes = ["3"], elseSizes = ["2"]} : (tensor<i1>, tensor<3xf32>, tensor<2xf32>) -> tensor<?xf32, #lathe.dims<"s">>
    return %y : tensor<2xf32>
  }
  func.func @first(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<3xf32> {
    return %x : tensor<3xf32>
  }
  func.func @second(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
    return %y : tensor<2xf32>
  }
}
