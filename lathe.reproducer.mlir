// lathe-opt --pass-pipeline='builtin.module(lathe-verify-accesses)'
module {
  lathe.symbol "N" range[1, -1]
  lathe.symbol "C" range[1, -1]
  lathe.relation "floordiv(C + 1, 2)" "eq" "C - floordiv(C + 1, 2)"
  lathe.relation "floordiv(C + 2, 4)" "eq" "C - floordiv(C + 1, 2) - floordiv(C + 2, 4)"
  lathe.relation "C - floordiv(C + 1, 2) - floordiv(C + 2, 4)" "eq" "128"
  func.func @main(%arg0: tensor<?x?xf32, #lathe.dims<"N", "C">> {lathe.name = "x"}) -> (tensor<?x17xf32, #lathe.dims<"N", "17">> {lathe.name = "t10"}) {
    %0 = lathe.constant dense_resource<c9> : tensor<128x17xf32>
    %1 = kernel.generic loop @sigmoid axes(i0 = "N", i1 = "C - floordiv(C + 1, 2)") ins(%arg0 : tensor<?x?xf32, #lathe.dims<"N", "C">>) outs(tensor<?x?xf32, #lathe.dims<"N", "C - floordiv(C + 1, 2)">>) attributes {nodes = ["Split_t1", "Mul_t4", "Sigmoid_t3"]} {
    ^bb0(%arg1: !kernel.ref<f32>, %arg2: !kernel.ref<f32>):
      %5 = kernel.load %arg1["C*i0 + i1"] : <f32> -> f32
      %cst = arith.constant 1.000000e+00 : f32
      %6 = kernel.load %arg1["C*i0 + floordiv(C + 1, 2) + i1"] : <f32> -> f32
      %7 = arith.negf %6 : f32
      %8 = math.exp %7 : f32
      %9 = arith.addf %cst, %8 : f32
      %10 = arith.divf %cst, %9 : f32
      %11 = arith.mulf %5, %10 : f32
      kernel.store %11, %arg2["C*i0 - floordiv(C + 1, 2)*i0 + i1"] : f32, <f32>
    }
    %2 = kernel.generic loop @sigmoid_1 axes(i0 = "N", i1 = "C - floordiv(C + 1, 2) - floordiv(C + 2, 4)") ins(%1 : tensor<?x?xf32, #lathe.dims<"N", "C - floordiv(C + 1, 2)">>) outs(tensor<?x?xf32, #lathe.dims<"N", "C - floordiv(C + 1, 2) - floordiv(C + 2, 4)">>) attributes {nodes = ["Split_t5", "Mul_t8", "Sigmoid_t7"], unfused = ["Mul_t4 -> Mul_t8: the iteration domains are not provably compatible"]} {
    ^bb0(%arg1: !kernel.ref<f32>, %arg2: !kernel.ref<f32>):
      %5 = kernel.load %arg1["C*i0 - floordiv(C + 1, 2)*i0 + i1"] : <f32> -> f32
      %cst = arith.constant 1.000000e+00 : f32
      %6 = kernel.load %arg1["C*i0 - floordiv(C + 1, 2)*i0 + floordiv(C + 2, 4) + i1"] : <f32> -> f32
      %7 = arith.negf %6 : f32
      %8 = math.exp %7 : f32
      %9 = arith.addf %cst, %8 : f32
      %10 = arith.divf %cst, %9 : f32
      %11 = arith.mulf %5, %10 : f32
      kernel.store %11, %arg2["C*i0 - floordiv(C + 1, 2)*i0 - floordiv(C + 2, 4)*i0 + i1"] : f32, <f32>
    }
    %3 = kernel.generic loop @matmul axes(i0 = "128", i1 = "17") ins(%0 : tensor<128x17xf32>) outs(tensor<128x17xf32>) attributes {nodes = ["MatMul_t10"]} {
    ^bb0(%arg1: !kernel.ref<f32>, %arg2: !kernel.ref<f32>):
      %5 = kernel.load %arg1["17*i0 + i1"] : <f32> -> f32
      kernel.store %5, %arg2["17*i0 + i1"] : f32, <f32>
    }
    %4 = kernel.generic contraction @matmul_1 axes(i0 = "N", i1 = "17", i2 = "C - floordiv(C + 1, 2) - floordiv(C + 2, 4)") ins(%2, %3 : tensor<?x?xf32, #lathe.dims<"N", "C - floordiv(C + 1, 2) - floordiv(C + 2, 4)">>, tensor<128x17xf32>) outs(tensor<?x17xf32, #lathe.dims<"N", "17">>) attributes {nodes = ["MatMul_t10"]} {
    ^bb0(%arg1: !kernel.ref<f32>, %arg2: !kernel.ref<f32>, %arg3: !kernel.ref<f32>):
      %5 = kernel.contract %arg1["C*i0 - floordiv(C + 1, 2)*i0 - floordiv(C + 2, 4)*i0 + i2"], %arg2["i1 + 17*i2"] over ["i2"] : (<f32>, <f32>) -> f32
      kernel.store %5, %arg3["17*i0 + i1"] : f32, <f32>
    }
    return %4 : tensor<?x17xf32, #lathe.dims<"N", "17">>
  }
}

{-#

#-}

