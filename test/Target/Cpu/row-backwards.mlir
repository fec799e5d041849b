// Elements that lie one behind the other from the last lane to the first: a vector from the last one on, turned around.
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s

// CHECK-LABEL: func.func private @lathe_k0_backwards_{{.*}}.body(
// CHECK: llvm.getelementptr %{{.*}}[-{{7|15}}]
// CHECK: llvm.load %{{.*}} -> vector<[[N:8|16]]xf32>
// CHECK: vector.shuffle %{{.*}} [{{7|15}}, {{.*}}, 1, 0] : vector<[[N]]xf32>
// What a row leaves over: under masks where these have registers of their own.
// WIDE-NOT: gather
// WIDE: llvm.intr.masked.load
// WIDE: vector.shuffle %{{.*}} [15, {{.*}}, 1, 0] : vector<16xf32>
// WIDE-NOT: gather
// CHECK-LABEL: func.func @lathe_k0_backwards_{{.*}}_plan
lathe.symbol "m" range [1, 9223372036854775807]
lathe.symbol "n" range [1, 9223372036854775807]
func.func @f(%a0: tensor<?x?xf32, #lathe.dims<"m", "n">>) {
  %r0 = kernel.generic loop @backwards axes(i = "m", c = "n") ins(%a0 : tensor<?x?xf32, #lathe.dims<"m", "n">>) outs(tensor<?x?xf32, #lathe.dims<"m", "n">>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["n*i + n - c - 1"] : !kernel.ref<f32> -> f32
    kernel.store %x, %out0["n*i + c"] : f32, !kernel.ref<f32>
  }
  return
}
