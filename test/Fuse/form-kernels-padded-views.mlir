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

// A window of one line whose first place lies two lines apart from the image reads the border alone: nothing is left to ask, and no image to read.
// CHECK-LABEL: func.func @outside(
// CHECK: kernel.generic
// CHECK-NOT: kernel.load %arg1
// CHECK-NOT: arith.cmpi
// CHECK: kernel.store
func.func @outside(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %border = lathe.constant dense<3.0> : tensor<f32>
  %0 = lathe.pad %x, %border low ["1", "0"] high ["0", "0"] : tensor<1x8xf32>, tensor<f32> -> tensor<2x8xf32>
  %1 = lathe.slice %0 starts ["0", "0"] steps [2, 1] : tensor<2x8xf32> -> tensor<1x8xf32>
  %2 = lathe.exp %1 : tensor<1x8xf32>
  return %2 : tensor<1x8xf32>
}
