// RUN: lathe-opt %s --split-input-file --verify-diagnostics

// What can be written is read and printed alike.
// expected-error @below {{S1: expected schedule.cases with an array of cases, at a kernel.generic}}
module attributes {schedule.cases = [#schedule.case<#schedule.plain>]} {}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @below {{S1: the last case, and no other, has no condition}}
  %0 = kernel.generic loop @copy axes(i = "N") ins(%x : tensor<?xf32>) outs(tensor<?xf32>)
      attributes {schedule.cases = [#schedule.case<"N < 4", #schedule.plain>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    kernel.store %1, %out["i"] : f32, <f32>
  }
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @below {{S1: the last case, and no other, has no condition}}
  %0 = kernel.generic loop @copy axes(i = "N") ins(%x : tensor<?xf32>) outs(tensor<?xf32>)
      attributes {schedule.cases = [#schedule.case<#schedule.plain>, #schedule.case<#schedule.plain>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    kernel.store %1, %out["i"] : f32, <f32>
  }
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @below {{S2: condition 'M <= 4' mentions 'M', which is no size of the kernel}}
  %0 = kernel.generic loop @copy axes(i = "N") ins(%x : tensor<?xf32>) outs(tensor<?xf32>)
      attributes {schedule.cases = [#schedule.case<"M <= 4", #schedule.plain>, #schedule.case<#schedule.plain>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    kernel.store %1, %out["i"] : f32, <f32>
  }
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @below {{S3: #schedule.tiles<height = 4> is not for kernels of class loop}}
  %0 = kernel.generic loop @copy axes(i = "N") ins(%x : tensor<?xf32>) outs(tensor<?xf32>)
      attributes {schedule.cases = [#schedule.case<#schedule.tiles<height = 4>>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    kernel.store %1, %out["i"] : f32, <f32>
  }
  return
}

// -----

// expected-error @below {{condition 'N': expected a comparison by <, <=, =, >= or >}}
module attributes {x = #schedule.case<"N", #schedule.plain>} {}

// -----

// expected-error @below {{S3: expected #schedule.rows, #schedule.tiles, #schedule.winograd, #schedule.threads, #schedule.products, #schedule.attention or #schedule.plain}}
module attributes {x = #schedule.case<"N < 2", 4 : i64>} {}

// -----

// expected-error @below {{unknown parameter 'width'}}
module attributes {x = #schedule.rows<width = 4>} {}

// -----

// expected-error @below {{persist: at most 16 vectors stay in registers}}
module attributes {x = #schedule.rows<persist = 17>} {}

// -----

// expected-error @below {{narrow: expected 16 or 32}}
module attributes {x = #schedule.tiles<narrow = 8>} {}

// -----

// expected-error @below {{panels: expected 1 to 64}}
module attributes {x = #schedule.tiles<panels = 65>} {}

// -----

// expected-error @below {{wide: expected 1, 2 or 4}}
module attributes {x = #schedule.winograd<high = 4, wide = 3>} {}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @below {{S3: #schedule.winograd<high = 4, wide = 4> is not for kernels of class loop}}
  %0 = kernel.generic loop @copy axes(i = "N") ins(%x : tensor<?xf32>) outs(tensor<?xf32>)
      attributes {schedule.cases = [#schedule.case<#schedule.winograd<high = 4, wide = 4>>]} {
  ^bb0(%a: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %a["i"] : <f32> -> f32
    kernel.store %1, %out["i"] : f32, <f32>
  }
  return
}
