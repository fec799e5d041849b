// RUN: lathe-cuda %s --kernel=sum --emit=entries | FileCheck %s --check-prefix=ENTRIES
// RUN: lathe-cuda %s --kernel=sum --emit=plan --size=N=268435456 | FileCheck %s --check-prefix=PHASES
// RUN: lathe-cuda %s --kernel=sum --emit=plan --size=N=268435457 | FileCheck %s --check-prefix=ORDER-SUM
// RUN: lathe-cuda %s --kernel=last --emit=plan --size=N=4294967294 | FileCheck %s --check-prefix=PHASES
// RUN: lathe-cuda %s --kernel=last --emit=plan --size=N=4294967295 | FileCheck %s --check-prefix=ORDER-LAST
// REQUIRES: ptxas

// Of more updates than a sum of 64 bits has room for, and than there are numbers of 32 bits, the order is kept.
// ENTRIES: scatter_clear
// ENTRIES: scatter_in_order
// PHASES: {{^}}0 
// ORDER-SUM: {{^}}4 
// ORDER-LAST: {{^}}3 
func.func @f(%x: tensor<50x4xf32>, %i: tensor<?xi64, #lathe.dims<"N">>, %u: tensor<?x4xf32, #lathe.dims<"N", "4">>, %y: tensor<50xf32>,
             %v: tensor<?xf32, #lathe.dims<"N">>) {
  %r = kernel.generic scatter @sum axes(r = "50", c = "4", n = "N")
      ins(%x, %i, %u : tensor<50x4xf32>, tensor<?xi64, #lathe.dims<"N">>, tensor<?x4xf32, #lathe.dims<"N", "4">>) outs(tensor<50x4xf32>)
      attributes {in_place = 0 : i64} {
  ^bb0(%i0: !kernel.ref<f32>, %i1: !kernel.ref<i64>, %i2: !kernel.ref<f32>, %o0: !kernel.ref<f32>):
    %a = kernel.load %i0["4*r + c"] : !kernel.ref<f32> -> f32
    kernel.store %a, %o0["4*r + c"] : f32, !kernel.ref<f32>
    %at = kernel.load %i1["n"] : !kernel.ref<i64> -> i64
    %b = kernel.load %i2["4*n + c"] : !kernel.ref<f32> -> f32
    kernel.store %b, %o0["4*$0 + c"] indirect(%at) combine add : f32, !kernel.ref<f32>
  }
  %s = kernel.generic scatter @last axes(r = "50", n = "N")
      ins(%y, %i, %v : tensor<50xf32>, tensor<?xi64, #lathe.dims<"N">>, tensor<?xf32, #lathe.dims<"N">>) outs(tensor<50xf32>)
      attributes {in_place = 0 : i64} {
  ^bb0(%i0: !kernel.ref<f32>, %i1: !kernel.ref<i64>, %i2: !kernel.ref<f32>, %o0: !kernel.ref<f32>):
    %a = kernel.load %i0["r"] : !kernel.ref<f32> -> f32
    kernel.store %a, %o0["r"] : f32, !kernel.ref<f32>
    %at = kernel.load %i1["n"] : !kernel.ref<i64> -> i64
    %b = kernel.load %i2["n"] : !kernel.ref<f32> -> f32
    kernel.store %b, %o0["$0"] indirect(%at) : f32, !kernel.ref<f32>
  }
  return
}
