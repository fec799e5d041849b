// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s
// RUN: lathe-opt %s '--lathe-form-kernels=extends-rows=false' | FileCheck %s --check-prefix=APART

module {

// A row program makes the sum once and goes along the 196 elements that need it. Where each element is a thread's, which would make
// the sum of 64 again, they have a kernel of their own.
// CHECK-LABEL: func.func @many
// CHECK: kernel.generic reduction @{{.*}} axes({{.*}}) {{.*}} outs(tensor<8x196xf32>)
// CHECK-NOT: kernel.generic
// CHECK: return
// APART-LABEL: func.func @many
// APART: %[[sum:[0-9]+]] = kernel.generic reduction @{{.*}} outs(tensor<8xf32>)
// APART: kernel.generic loop @{{.*}} ins(%[[sum]], {{.*}} outs(tensor<8x196xf32>)
// APART-SAME: each of its elements would make the sum again
func.func @many(%x: tensor<8x64xf32>, %y: tensor<8x196xf32>) -> tensor<8x196xf32> {
  %0 = lathe.reduce sum %x axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %1 = lathe.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = lathe.broadcast %1 : tensor<8x1xf32> -> tensor<8x196xf32>
  %3 = lathe.mul %2, %y : tensor<8x196xf32>
  return %3 : tensor<8x196xf32>
}

// A few elements, or a sum of few, stay.
// APART-LABEL: func.func @few_elements
// APART: kernel.generic reduction @{{.*}} outs(tensor<8x4xf32>)
// APART-NOT: kernel.generic
// APART: return
func.func @few_elements(%x: tensor<8x64xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = lathe.reduce sum %x axes [1] : tensor<8x64xf32> -> tensor<8xf32>
  %1 = lathe.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = lathe.broadcast %1 : tensor<8x1xf32> -> tensor<8x4xf32>
  %3 = lathe.mul %2, %y : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// What a row's own elements need of their sum is no further axis.
// APART-LABEL: func.func @own
// APART: kernel.generic reduction @{{.*}} outs(tensor<8x196xf32>)
// APART-NOT: kernel.generic
// APART: return
func.func @own(%y: tensor<8x196xf32>) -> tensor<8x196xf32> {
  %0 = lathe.reduce sum %y axes [1] : tensor<8x196xf32> -> tensor<8xf32>
  %1 = lathe.reshape %0 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = lathe.broadcast %1 : tensor<8x1xf32> -> tensor<8x196xf32>
  %3 = lathe.mul %2, %y : tensor<8x196xf32>
  return %3 : tensor<8x196xf32>
}
}
