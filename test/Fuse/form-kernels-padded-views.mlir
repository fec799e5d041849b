// A border is a predicate of the windows that read it also where what it goes around has been given other words for its sizes: no image with a border is
// written. Before, the border was a kernel of its own wherever a reshape stood in front of it.
// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s

lathe.symbol "n" range[1, -1]
lathe.symbol "n.div.2" range[1, -1] is "floordiv(n, 2)"
lathe.relation "2" "divides" "n"

// CHECK-LABEL: func.func @pool
// CHECK: kernel.generic loop
// CHECK: kernel.load %{{.*}} if %{{.*}} :
// CHECK: kernel.load %{{.*}} if %{{.*}} :
// CHECK: arith.maximumf
// CHECK-NOT: kernel.generic
// CHECK: return
func.func @pool(%x: tensor<3x?xf32, #lathe.dims<"3", "n">>) -> tensor<3x?xf32, #lathe.dims<"3", "n.div.2">> {
  %low = lathe.constant dense<0xFF800000> : tensor<f32>
  %0 = lathe.reshape %x : tensor<3x?xf32, #lathe.dims<"3", "n">> -> tensor<3x?xf32, #lathe.dims<"3", "2*n.div.2">>
  %1 = lathe.pad %0, %low low ["0", "1"] high ["0", "1"] : tensor<3x?xf32, #lathe.dims<"3", "2*n.div.2">>, tensor<f32> -> tensor<3x?xf32, #lathe.dims<"3", "2*n.div.2 + 2">>
  %2 = lathe.slice %1 starts ["0", "0"] steps [1, 2] : tensor<3x?xf32, #lathe.dims<"3", "2*n.div.2 + 2">> -> tensor<3x?xf32, #lathe.dims<"3", "n.div.2">>
  %3 = lathe.slice %1 starts ["0", "2"] steps [1, 2] : tensor<3x?xf32, #lathe.dims<"3", "2*n.div.2 + 2">> -> tensor<3x?xf32, #lathe.dims<"3", "n.div.2">>
  %4 = lathe.max %2, %3 : tensor<3x?xf32, #lathe.dims<"3", "n.div.2">>
  return %4 : tensor<3x?xf32, #lathe.dims<"3", "n.div.2">>
}
