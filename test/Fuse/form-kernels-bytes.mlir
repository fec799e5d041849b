// RUN: lathe-opt %s --lathe-form-kernels | FileCheck %s
// RUN: lathe-opt %s --lathe-form-kernels=packs-images=false | FileCheck %s --check-prefix=COPIED

// A product of bytes is a reduction of widened products, with what follows the sum behind it. Between convolutions bytes are
// stored: what makes them belongs to the kernel of the sum, not to where the next convolution reads them. Where windows read the image
// is on the sum.
// CHECK-LABEL: @main
// CHECK: %[[B:.*]] = kernel.generic reduction @cast {{.*}} outs(tensor<1x4x8xui8>)
// CHECK: %[[S:.*]] = kernel.reduce add %{{.*}} over ["i2", "i3"] {slides = ["i1 + i3"]} : i32
// CHECK: arith.sitofp %[[S]]
// CHECK: kernel.store %{{.*}} : i8, <i8>
// CHECK: kernel.generic reduction @conv {{.*}} ins(%[[B]], %{{.*}} : tensor<1x4x8xui8>, tensor<3x4x3xi8>) outs(tensor<1x3x8xi32>)
// CHECK: %[[IN:.*]] = arith.andi
// CHECK: %[[X:.*]] = kernel.load %{{.*}} if %[[IN]] : <i8> -> i8
// CHECK: %[[A:.*]] = arith.select %[[IN]], %[[X]]
// CHECK-DAG: %[[AW:.*]] = arith.extui %[[A]] : i8 to i32
// CHECK-DAG: %[[WW:.*]] = arith.extsi %{{.*}} : i8 to i32
// CHECK: arith.muli %[[AW]], %[[WW]] : i32
func.func @main(%x: tensor<1x2x10xui8>, %v: tensor<4x2x3xi8>, %w: tensor<3x4x3xi8>) -> tensor<1x3x8xi32> {
  %0 = lathe.conv %x, %v strides [1] dilations [1] pads ["0", "0"] groups 1 : tensor<1x2x10xui8>, tensor<4x2x3xi8> -> tensor<1x4x8xi32>
  %1 = lathe.cast %0 : tensor<1x4x8xi32> -> tensor<1x4x8xf32>
  %2 = lathe.round %1 : tensor<1x4x8xf32>
  %3 = lathe.cast %2 : tensor<1x4x8xf32> -> tensor<1x4x8xui8>
  %7 = lathe.constant dense<7> : tensor<ui8>
  %4 = lathe.pad %3, %7 low ["0", "0", "1"] high ["0", "0", "1"] : tensor<1x4x8xui8>, tensor<ui8> -> tensor<1x4x10xui8>
  %5 = lathe.conv %4, %w strides [1] dilations [1] pads ["0", "0"] groups 1 : tensor<1x4x10xui8>, tensor<3x4x3xi8> -> tensor<1x3x8xi32>
  return %5 : tensor<1x3x8xi32>
}

// A window of one place is a product of matrices: it slides over nothing. A function of a byte that is read from a table belongs to the
// product's kernel.
// CHECK-LABEL: @table
// CHECK: kernel.generic reduction @cast_1 {{.*}} outs(tensor<1x3x8xui8>)
// CHECK: %[[S:.*]] = kernel.reduce add %{{.*}} over ["i2"] : i32
// CHECK: %[[W:.*]] = kernel.load %{{.*}}["$0"] indirect(%{{.*}}) : <i32> -> i32
// CHECK: %[[B:.*]] = arith.trunci %[[W]] : i32 to i8
// CHECK: kernel.store %[[B]]
// CHECK-NOT: kernel.generic
func.func @table(%x: tensor<1x4x8xui8>, %w: tensor<3x4x1xi8>) -> tensor<1x3x8xui8> {
  %table = lathe.constant dense<[1, 2, 3, 5]> : tensor<4xi32>
  %0 = lathe.conv %x, %w strides [1] dilations [1] pads ["0", "0"] groups 1 : tensor<1x4x8xui8>, tensor<3x4x1xi8> -> tensor<1x3x8xi32>
  %1 = lathe.cast %0 : tensor<1x3x8xi32> -> tensor<1x3x8xui8>
  %2 = lathe.cast %1 : tensor<1x3x8xui8> -> tensor<1x3x8xi64>
  %3 = lathe.gather %table, %2 axis 0 : tensor<4xi32>, tensor<1x3x8xi64> -> tensor<1x3x8xi32>
  %4 = lathe.cast %3 : tensor<1x3x8xi32> -> tensor<1x3x8xui8>
  return %4 : tensor<1x3x8xui8>
}

// What a window reads behind a padding is quantised where the image is packed, once; where tiles are copied, in front: a tile would make it
// again at every place of the window.
// CHECK-LABEL: @quantised
// CHECK-NOT: kernel.generic loop
// CHECK: kernel.generic reduction @conv_1 {{.*}} ins(%arg0, %arg1 :
// COPIED-LABEL: @quantised
// COPIED: %[[Q:.*]] = kernel.generic loop @cast_2 {{.*}} outs(tensor<1x4x8x8xui8>)
// COPIED: kernel.generic reduction @conv{{.*}} ins(%[[Q]],
func.func @quantised(%x: tensor<1x4x8x8xf32>, %w: tensor<3x4x3x3xi8>) -> tensor<1x3x8x8xi32> {
  %0 = lathe.round %x : tensor<1x4x8x8xf32>
  %1 = lathe.cast %0 : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xui8>
  %7 = lathe.constant dense<7> : tensor<ui8>
  %2 = lathe.pad %1, %7 low ["0", "0", "1", "1"] high ["0", "0", "1", "1"] : tensor<1x4x8x8xui8>, tensor<ui8> -> tensor<1x4x10x10xui8>
  %3 = lathe.conv %2, %w strides [1, 1] dilations [1, 1] pads ["0", "0", "0", "0"] groups 1 : tensor<1x4x10x10xui8>, tensor<3x4x3x3xi8> -> tensor<1x3x8x8xi32>
  return %3 : tensor<1x3x8x8xi32>
}
