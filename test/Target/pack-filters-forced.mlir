// How a filter is packed where a kernel comes with a schedule: as that says.
// RUN: lathe-opt %s --lathe-pack-filters | FileCheck %s

// CHECK-LABEL: func.func @forced
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 2, 4>}
// CHECK-LABEL: func.func @several
// CHECK: kernel.pack %{{.*}}winograd = array<i64: 4, 4>}
// CHECK: kernel.generic reduction @conv {{.*}}ins(%arg0, %{{[0-9]+}} :
// CHECK-LABEL: func.func @refused
// CHECK-NOT: winograd
func.func @forced(%x: tensor<?x18x6x6xf32, #lathe.dims<"N", "18", "6", "6">>) -> tensor<?x4x4x16xf32, #lathe.dims<"N", "4", "4", "16">> {
  %w = lathe.constant dense_resource<f> : tensor<16x18x3x3xf32>
  %y = kernel.generic reduction @conv axes(i = "N", y = "4", x = "4", o = "16", u = "3", v = "3", c = "18") ins(%x, %w : tensor<?x18x6x6xf32, #lathe.dims<"N", "18", "6", "6">>, tensor<16x18x3x3xf32>)
      outs(tensor<?x4x4x16xf32, #lathe.dims<"N", "4", "4", "16">>) attributes {schedule.cases = [#schedule.case<#schedule.winograd<high = 2, wide = 4>>]} {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["648*i + 36*c + 6*y + 6*u + x + v"] : <f32> -> f32
    %2 = kernel.load %b["162*o + 9*c + 3*u + v"] : <f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["u", "v", "c"] : f32
    kernel.store %4, %out["256*i + 64*y + 16*x + o"] : f32, <f32>
  }
  return %y : tensor<?x4x4x16xf32, #lathe.dims<"N", "4", "4", "16">>
}
// The filter for the largest tiles serves the others.
func.func @several(%x: tensor<?x18x6x6xf32, #lathe.dims<"N", "18", "6", "6">>) -> tensor<?x4x4x16xf32, #lathe.dims<"N", "4", "4", "16">> {
  %w = lathe.constant dense_resource<f> : tensor<16x18x3x3xf32>
  %y = kernel.generic reduction @conv axes(i = "N", y = "4", x = "4", o = "16", u = "3", v = "3", c = "18") ins(%x, %w : tensor<?x18x6x6xf32, #lathe.dims<"N", "18", "6", "6">>, tensor<16x18x3x3xf32>)
      outs(tensor<?x4x4x16xf32, #lathe.dims<"N", "4", "4", "16">>) attributes {schedule.cases = [#schedule.case<"N <= 2", #schedule.winograd<high = 2, wide = 4>>, #schedule.case<#schedule.winograd<high = 4, wide = 4>>]} {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["648*i + 36*c + 6*y + 6*u + x + v"] : <f32> -> f32
    %2 = kernel.load %b["162*o + 9*c + 3*u + v"] : <f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["u", "v", "c"] : f32
    kernel.store %4, %out["256*i + 64*y + 16*x + o"] : f32, <f32>
  }
  return %y : tensor<?x4x4x16xf32, #lathe.dims<"N", "4", "4", "16">>
}
func.func @refused(%x: tensor<1x64x58x58xf32>) -> tensor<1x56x56x64xf32> {
  %w = lathe.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %y = kernel.generic reduction @conv axes(y = "56", x = "56", o = "64", u = "3", v = "3", c = "64") ins(%x, %w : tensor<1x64x58x58xf32>, tensor<64x64x3x3xf32>)
      outs(tensor<1x56x56x64xf32>) attributes {schedule.cases = [#schedule.case<#schedule.plain>]} {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["3364*c + 58*y + 58*u + x + v"] : <f32> -> f32
    %2 = kernel.load %b["576*o + 9*c + 3*u + v"] : <f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["u", "v", "c"] : f32
    kernel.store %4, %out["3584*y + 64*x + o"] : f32, <f32>
  }
  return %y : tensor<1x56x56x64xf32>
}
