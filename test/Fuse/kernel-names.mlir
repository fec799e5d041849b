// RUN: lathe-opt --lathe-form-kernels %s | FileCheck %s

// A kernel is called after the model's operators that it computes; the names of the nodes may be any.

!x = tensor<4x8xf32>

// CHECK-LABEL: @names
func.func @names(%x: !x, %w: tensor<8x8xf32>) -> (!x, !x, tensor<4xf32>) {
  // A product with what follows it; additions are in many kernels.
  // CHECK: kernel.generic contraction @matmul_gelu_sigmoid axes
  // CHECK-SAME: nodes = ["layer.0/%x", "a b", "g", "s"]
  %0 = lathe.contract %x, %w batch [] x [] over [1] x [0] : !x, tensor<8x8xf32> -> !x loc("layer.0/%x"("MatMul"))
  %1 = lathe.add %0, %x : !x loc("a b"("Add"))
  %2 = lathe.tanh %1 : !x loc("g"("Gelu"))
  %3 = lathe.neg %2 : !x loc("s"("Sigmoid"))
  // CHECK: kernel.generic reduction @reduce_max axes
  %4 = lathe.reduce max %3 axes [1] : !x -> tensor<4xf32> loc("m"("ReduceMax"))
  return %2, %3, %4 : !x, !x, tensor<4xf32>
}

// CHECK-LABEL: @exported
func.func @exported(%x: !x) -> (!x, !x) {
  // CHECK: kernel.generic reduction @layer_norm axes
  %0 = lathe.reduce sum %x axes [1] : !x -> tensor<4xf32> loc("native_layer_norm"("torch.ops.aten.native_layer_norm.default"))
  %1 = lathe.reshape %0 : tensor<4xf32> -> tensor<4x1xf32> loc("native_layer_norm"("torch.ops.aten.native_layer_norm.default"))
  %2 = lathe.broadcast %1 : tensor<4x1xf32> -> !x loc("native_layer_norm"("torch.ops.aten.native_layer_norm.default"))
  %3 = lathe.sub %x, %2 : !x loc("native_layer_norm"("torch.ops.aten.native_layer_norm.default"))
  // CHECK: kernel.generic reduction @softmax axes
  %4 = lathe.reduce max %3 axes [0] : !x -> tensor<8xf32> loc("s"("torch.ops.aten._softmax.default"))
  %5 = lathe.broadcast %4 : tensor<8xf32> -> !x loc("s"("torch.ops.aten._softmax.default"))
  %6 = lathe.sub %3, %5 : !x loc("s"("torch.ops.aten._softmax.default"))
  return %3, %6 : !x, !x
}

// What exporters write out has its usual name.
// CHECK-LABEL: @composed
func.func @composed(%x: !x) -> (!x, !x) {
  // CHECK: kernel.generic reduction @layer_norm_gelu axes
  %0 = lathe.reduce sum %x axes [1] : !x -> tensor<4xf32> loc("mean"("ReduceMean"))
  %1 = lathe.broadcast %0 : tensor<4xf32> -> tensor<8x4xf32> loc("mean"("ReduceMean"))
  %2 = lathe.transpose %1 [1, 0] : tensor<8x4xf32> -> !x loc("mean"("ReduceMean"))
  %3 = lathe.sub %x, %2 : !x loc("sub"("Sub"))
  %4 = lathe.sqrt %3 : !x loc("sqrt"("Sqrt"))
  %5 = lathe.div %3, %4 : !x loc("div"("Div"))
  %6 = lathe.erf %x : !x loc("erf"("Erf"))
  %7 = lathe.add %6, %x : !x loc("add"("Add"))
  %8 = lathe.mul %7, %x : !x loc("mul"("Mul"))
  return %5, %8 : !x, !x
}

// CHECK-LABEL: @root
func.func @root(%x: !x) -> !x {
  // CHECK: kernel.generic reduction @rms_norm axes
  %0 = lathe.mul %x, %x : !x loc("pow"("Pow"))
  %1 = lathe.reduce sum %0 axes [0] : !x -> tensor<8xf32> loc("mean"("ReduceMean"))
  %2 = lathe.broadcast %1 : tensor<8xf32> -> !x loc("mean"("ReduceMean"))
  %3 = lathe.div %x, %2 : !x loc("div"("Div"))
  return %3 : !x
}

// The second of a name has a number; what no model says the operators of is called after its own ops.
// CHECK-LABEL: @same
func.func @same(%x: !x, %y: !x) -> (!x, tensor<8x4xf32>, !x) {
  // CHECK: kernel.generic loop @relu axes
  %0 = lathe.exp %x : !x loc("a"("Relu"))
  // CHECK: kernel.generic loop @neg axes
  %3 = lathe.neg %y : !x
  // CHECK: kernel.generic loop @relu_1 axes
  %1 = lathe.exp %y : !x loc("b"("Relu"))
  %2 = lathe.transpose %1 [1, 0] : !x -> tensor<8x4xf32> loc("t"("Transpose"))
  return %0, %2, %3 : !x, tensor<8x4xf32>, !x
}
