// A filter that is packed for tiles of 4x4 serves smaller ones: few images take them where filters come from memory, many take 4x4.
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters --lathe-schedule=machine=avx512 | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels --lathe-channels-last --lathe-pack-filters --lathe-schedule="machine=avx512 most=1" | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: func.func @images
// CHECK: schedule.cases = [#schedule.case<"{{[^"]*}}n{{[^"]*}} <= {{[^"]*}}", #schedule.winograd<high = 2, wide = 2>>, #schedule.case<#schedule.winograd<high = 4, wide = 4>>]
// ONE: schedule.cases = [#schedule.case<#schedule.winograd<high = 4, wide = 4>>]
lathe.symbol "n" range [1, -1]
!images = tensor<?x512x7x7xf32, #lathe.dims<"n", "512", "7", "7">>
func.func @images(%x: !images) -> !images {
  %w = lathe.constant dense_resource<w> : tensor<512x512x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : !images, tensor<512x512x3x3xf32> -> !images
  return %1 : !images
}

// Of fixed sizes there is one way.
// CHECK-LABEL: func.func @two
// CHECK: schedule.cases = [#schedule.case<#schedule.winograd<high = {{[24]}}, wide = {{[24]}}>>]
func.func @two(%x: tensor<2x512x7x7xf32>) -> tensor<2x512x7x7xf32> {
  %w = lathe.constant dense_resource<w> : tensor<512x512x3x3xf32>
  %1 = lathe.conv %x, %w strides [1, 1] dilations [1, 1] pads ["1", "1", "1", "1"] groups 1 : tensor<2x512x7x7xf32>, tensor<512x512x3x3xf32> -> tensor<2x512x7x7xf32>
  return %1 : tensor<2x512x7x7xf32>
}
