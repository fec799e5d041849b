// Inputs from a file of arrays, results to one; the same numbers from the same seed, at sizes that are asked for.
// REQUIRES: numpy
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy, sys; numpy.savez('%t/in.npz', x=numpy.array([[1, 2], [3, 4]], numpy.float32))"
// RUN: lathe-opt %s --lathe-interpret="inputs=%t/in.npz outputs=%t/out.npz" -o /dev/null
// RUN: %python -c "import numpy; y = numpy.load('%t/out.npz')['y']; print(y.dtype, y.tolist())" | FileCheck %s
// CHECK: float32 [4.0, 6.0]
// RUN: lathe-opt %s --lathe-interpret="seed=5 dims=n=4" -o /dev/null > %t/a
// RUN: lathe-opt %s --lathe-interpret="seed=5 dims=n=4" -o /dev/null > %t/b
// RUN: cmp %t/a %t/b && FileCheck %s --check-prefix=SEED < %t/a
// SEED: y: tensor<2xf32> [
lathe.symbol "n" range [1, -1]
func.func @main(%x: tensor<?x2xf32, #lathe.dims<"n", "2">> {lathe.name = "x"}) -> (tensor<2xf32> {lathe.name = "y"}) {
  %0 = lathe.reduce sum %x axes [0] : tensor<?x2xf32, #lathe.dims<"n", "2">> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
