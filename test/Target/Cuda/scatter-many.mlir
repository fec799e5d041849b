// RUN: lathe-cuda %s --kernel=last --emit=entries | FileCheck %s --check-prefix=ENTRIES
// RUN: lathe-cuda %s --kernel=last --emit=plan --size=N=4294967294 | FileCheck %s --check-prefix=PHASES
// RUN: lathe-cuda %s --kernel=last --emit=plan --size=N=4294967295 | FileCheck %s --check-prefix=ORDER
// RUN: lathe-cuda %s --kernel=last --emit=plan --size=N=17 | FileCheck %s --check-prefix=PHASES
// RUN: lathe-cuda %s --kernel=last --emit=plan --size=N=16 | FileCheck %s --check-prefix=ORDER
// REQUIRES: ptxas

// Of more updates than there are numbers of 32 bits the order is kept, and so it is of a few.
// ENTRIES: scatter_clear
// ENTRIES: scatter_in_order
// PHASES: {{^}}3 1 1 1 128 0 0 1 0 0 416 2 
// ORDER: {{^}}5 
func.func @f(%i: tensor<?xi64, #lathe.dims<"N">>, %y: tensor<50xf32>, %v: tensor<?xf32, #lathe.dims<"N">>) {
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
