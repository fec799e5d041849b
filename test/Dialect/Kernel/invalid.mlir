// RUN: lathe-opt %s -split-input-file -verify-diagnostics

// What the verifier says of each constraint that KernelOps.td numbers.

// K1: block arguments

func.func @k1_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{K1: expects one block argument per operand and result, has 1}}
  %y = kernel.generic loop @k axes(n = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>):
    %0 = kernel.load %in["n"] : !kernel.ref<f32> -> f32
  }
  return
}

// -----

func.func @k1_operand(%x: tensor<4xf32>) {
  // expected-error@+1 {{K1: block argument 0 does not match operand type 'tensor<4xf32>'}}
  %y = kernel.generic loop @k axes(n = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f64>, %out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k1_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{K1: block argument of result 0 does not match result type 'tensor<4xui8>'}}
  %y = kernel.generic loop @k axes(n = "4") ins(%x : tensor<4xf32>) outs(tensor<4xui8>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["n"] : !kernel.ref<f32> -> f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

// K2: axes

func.func @k2_text() {
  // expected-error@+1 {{K2: extent of axis 'n': column 4 of '4 +': expected a number, a name or '('}}
  %y = kernel.generic loop @k axes(n = "4 +") outs(tensor<4xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k2_name() {
  // expected-error@+1 {{K2: axis 'a b' is no identifier}}
  %y = kernel.generic loop @k axes("a b" = "4") outs(tensor<4xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["0"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k2_indirect() {
  // expected-error@+1 {{K2: axis '$0' is no identifier}}
  %y = kernel.generic loop @k axes("$0" = "4") outs(tensor<4xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["0"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k2_twice() {
  // expected-error@+1 {{K2: axis 'n' occurs twice}}
  %y = kernel.generic loop @k axes(n = "4", n = "5") outs(tensor<20xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k2_extent_of_axis() {
  // expected-error@+1 {{K2: extent of axis 'm' mentions axis 'n'}}
  %y = kernel.generic loop @k axes(n = "4", m = "n") outs(tensor<20xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["n + 4*m"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

lathe.symbol "batch" range [0, -1]
func.func @k2_size_is_axis() {
  // expected-error@+1 {{K2: 'batch' is an axis and a size symbol}}
  %y = kernel.generic loop @k axes(batch = "4") outs(tensor<4xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["batch"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

lathe.symbol "batch" range [0, -1]
func.func @k2_extent_undeclared() {
  // expected-error@+1 {{K2: extent of axis 'n' mentions 'seq', which is no size symbol}}
  %y = kernel.generic loop @k axes(n = "batch*seq") outs(tensor<?xf32, #lathe.dims<"batch*seq">>) {
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k2_extent_of_other_kind() {
  // expected-error@+1 {{K2: extent of axis 'n' mentions '$0', which is no size symbol}}
  %y = kernel.generic loop @k axes(n = "$0") outs(tensor<4xf32>) {
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

// K3: what expressions mention

func.func @k3_text(%x: tensor<4xf32>) {
  %y = kernel.generic loop @k axes(n = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    // expected-error@+1 {{K3: '<unknown>': column 1 of '<unknown>': expected a number, a name or '('}}
    %0 = kernel.load %in["<unknown>"] : !kernel.ref<f32> -> f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k3_indirect(%x: tensor<4xf32>, %at: tensor<4xi64>) {
  %y = kernel.generic loop @k axes(n = "4") ins(%x, %at : tensor<4xf32>, tensor<4xi64>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %index: !kernel.ref<i64>, %out: !kernel.ref<f32>):
    %i = kernel.load %index["n"] : !kernel.ref<i64> -> i64
    // expected-error@+1 {{K3: '$1' is not one of its 1 indirect indices}}
    %0 = kernel.load %in["$0 + $1"] indirect(%i) : !kernel.ref<f32> -> f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k3_huge_indirect() {
  %y = kernel.generic loop @k axes(n = "4") outs(tensor<4xi64>) {
  ^bb0(%out: !kernel.ref<i64>):
    // expected-error@+1 {{K3: '$4294967296' is not one of its 0 indirect indices}}
    %0 = kernel.index "$4294967296"
    kernel.store %0, %out["n"] : i64, !kernel.ref<i64>
  }
  return
}

// -----

lathe.symbol "batch" range [0, -1]
func.func @k3_undeclared(%x: tensor<4xf32>) {
  %y = kernel.generic loop @k axes(n = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    // expected-error@+1 {{K3: 'seq' is neither an axis nor a size symbol}}
    %0 = kernel.load %in["n + seq"] : !kernel.ref<f32> -> f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k3_axis_of_nobody(%x: tensor<4xf32>) {
  %y = kernel.generic loop @k axes(i0 = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    // expected-error@+1 {{K3: 'i1' is neither an axis nor a size symbol}}
    %0 = kernel.load %in["i1"] : !kernel.ref<f32> -> f32
    kernel.store %0, %out["i0"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k3_reduced_axis_of_nobody(%x: tensor<4xf32>) {
  %y = kernel.generic reduction @k axes(i0 = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["i0"] : !kernel.ref<f32> -> f32
    // expected-error@+1 {{K3: 'i1' is no axis of the kernel}}
    %1 = kernel.reduce add %0 over ["i1"] : f32
    kernel.store %1, %out["i0"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

// A size may have the name that an axis has: it is written in another way.

lathe.symbol "'i0'" range [0, -1]
func.func @k2_same_name(%x: tensor<?xf32, #lathe.dims<"'i0'">>) -> tensor<?xf32, #lathe.dims<"'i0'">> {
  %y = kernel.generic loop @k axes(i0 = "'i0'") ins(%x : tensor<?xf32, #lathe.dims<"'i0'">>) outs(tensor<?xf32, #lathe.dims<"'i0'">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["'i0' - i0 - 1"] : !kernel.ref<f32> -> f32
    kernel.store %0, %out["i0"] : f32, !kernel.ref<f32>
  }
  return %y : tensor<?xf32, #lathe.dims<"'i0'">>
}

// -----

// K4: every result is written

func.func @k4() {
  // expected-error@+1 {{K4: result 1 is never stored to}}
  %y:2 = kernel.generic loop @k axes(n = "4") outs(tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%out: !kernel.ref<f32>, %other: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

// K5: classes

func.func @k5_loop(%x: tensor<4xf32>) {
  // expected-error@+1 {{K5: the body does not fit class 'loop'}}
  %y = kernel.generic loop @k axes(n = "4") ins(%x : tensor<4xf32>) outs(tensor<f32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["n"] : !kernel.ref<f32> -> f32
    %1 = kernel.reduce add %0 over ["n"] : f32
    kernel.store %1, %out["0"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k5_contraction(%x: tensor<4xf32>) {
  // expected-error@+1 {{K5: the body does not fit class 'contraction'}}
  %y = kernel.generic contraction @k axes(n = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["n"] : !kernel.ref<f32> -> f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k5_attention(%x: tensor<4xf32>) {
  // expected-error@+1 {{K5: the body does not fit class 'attention'}}
  %y = kernel.generic attention @k axes(n = "4") ins(%x : tensor<4xf32>) outs(tensor<4xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %0 = kernel.load %in["n"] : !kernel.ref<f32> -> f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }
  return
}

// -----

func.func @k2_extents() {
  // expected-error@+1 {{K2: one extent per axis expected}}
  %y = "kernel.generic"() <{kernelClass = 0 : i32, name = "k", axisNames = ["n"], axisExtents = []}> ({
  ^bb0(%out: !kernel.ref<f32>):
    %0 = arith.constant 0.0 : f32
    kernel.store %0, %out["n"] : f32, !kernel.ref<f32>
  }) : () -> tensor<4xf32>
  return
}
