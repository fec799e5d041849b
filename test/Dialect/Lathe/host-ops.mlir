// The ops of the host program, and what their verifiers say of texts and bodies that do not fit.
// RUN: lathe-opt %s --split-input-file --verify-diagnostics | FileCheck %s

!x = tensor<?xf32, #lathe.dims<"n">>
lathe.symbol "n" range [0, -1]
lathe.symbol "c[]" range [0, -1]
lathe.symbol "i" range [0, -1]
lathe.symbol "total" range [0, -1]
lathe.symbol "m" range [0, -1]
lathe.symbol "m.last" range [0, -1]
// CHECK: lathe.relation "i" "le" "m" in @step says "few"
lathe.relation "i" "le" "m" in @step says "few"
// CHECK-LABEL: func.func @main
func.func @main(%x: !x, %c: tensor<i64>, %mask: tensor<?xi1, #lathe.dims<"n">>, %yes: tensor<i1>) -> (tensor<?xf32, #lathe.dims<"m.last">>, tensor<?xi64, #lathe.dims<"c[]">>) {
  // CHECK: lathe.read %{{.*}} as ["c[]"] : tensor<i64>
  lathe.read %c as ["c[]"] : tensor<i64>
  // CHECK: lathe.call "compact"(%{{.*}}) sizes ["n"]
  %at = lathe.call "compact"(%mask) sizes ["n"] : (tensor<?xi1, #lathe.dims<"n">>) -> tensor<?xi64, #lathe.dims<"c[]">>
  // CHECK: lathe.loop @step while %{{.*}} carried(%{{.*}}) captured()
  %r = lathe.loop @step while %yes carried(%x) captured() {limit = "8", conditional, counter = "i", count = "total", symbols = ["m"], initial = ["n"], next = ["m + 1"], finals = ["m.last"]} : (tensor<i1>, !x) -> tensor<?xf32, #lathe.dims<"m.last">>
  // CHECK: lathe.if %{{.*}} then @same else @same(%{{.*}})
  %s = lathe.if %yes then @same else @same(%r) {symbols = [], thenSizes = [], elseSizes = []} : (tensor<i1>, tensor<?xf32, #lathe.dims<"m.last">>) -> tensor<?xf32, #lathe.dims<"m.last">>
  return %s, %at : tensor<?xf32, #lathe.dims<"m.last">>, tensor<?xi64, #lathe.dims<"c[]">>
}
func.func @step(%v: tensor<?xf32, #lathe.dims<"m">>) -> (tensor<i1>, tensor<?xf32, #lathe.dims<"m + 1">>) {
  %one = lathe.constant dense<1.0> : tensor<1xf32>
  %w = lathe.concat %v, %one axis 0 : tensor<?xf32, #lathe.dims<"m">>, tensor<1xf32> -> tensor<?xf32, #lathe.dims<"m + 1">>
  %yes = lathe.constant dense<true> : tensor<i1>
  return %yes, %w : tensor<i1>, tensor<?xf32, #lathe.dims<"m + 1">>
}
func.func @same(%v: tensor<?xf32, #lathe.dims<"m.last">>) -> tensor<?xf32, #lathe.dims<"m.last">> {
  return %v : tensor<?xf32, #lathe.dims<"m.last">>
}

// -----

// expected-error @+1 {{'n +':}}
lathe.relation "n +" "eq" "4"

// -----

func.func @main(%c: tensor<2xi64>) {
  // expected-error @+1 {{expects integers of rank 0 or 1 and a symbol for each}}
  lathe.read %c as ["a"] : tensor<2xi64>
  return
}

// -----

func.func @main(%m: tensor<4xi1>) -> tensor<?xi64, #lathe.dims<"k">> {
  // expected-error @+1 {{"4 *":}}
  %0 = lathe.call "compact"(%m) sizes ["4 *"] : (tensor<4xi1>) -> tensor<?xi64, #lathe.dims<"k">>
  return %0 : tensor<?xi64, #lathe.dims<"k">>
}

// -----

func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expects @gone to be a function with a body, behind the function that runs it}}
  %0 = lathe.if %c then @gone else @gone(%x) {symbols = [], thenSizes = [], elseSizes = []} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A function that runs itself.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expects @main to be a function with a body, behind the function that runs it}}
  %0 = lathe.loop @main carried(%x) captured() {limit = "3", counter = "i", count = "", symbols = [], initial = [], next = [], finals = []} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expects a size of either branch for each symbol}}
  %0 = lathe.if %c then @b else @b(%x) {symbols = ["s"], thenSizes = [], elseSizes = ["4"]} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xi64> {
  // expected-error @+1 {{expects results of a branch 0 to be like 'tensor<4xi64>', not 'tensor<4xf32>'}}
  %0 = lathe.if %c then @b else @b(%x) {symbols = [], thenSizes = [], elseSizes = []} : (tensor<i1>, tensor<4xf32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
func.func @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{never ends: it has neither a limit nor a condition that can fail}}
  %0 = lathe.loop @b carried(%x) captured() {limit = "", counter = "i", count = "", symbols = [], initial = [], next = [], finals = []} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{limit '3 +':}}
  %0 = lathe.loop @b carried(%x) captured() {limit = "3 +", counter = "i", count = "", symbols = [], initial = [], next = [], finals = []} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  // expected-error @+1 {{expects the body to have 2 results, not 1}}
  %0:2 = lathe.loop @b carried(%x) captured() {limit = "3", counter = "i", count = "", symbols = [], initial = [], next = [], finals = []} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<3x4xf32>
}
func.func @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
