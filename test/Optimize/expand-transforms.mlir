// RUN: lathe-opt %s --lathe-expand-transforms | FileCheck %s --check-prefix=STAGES --implicit-check-not=lathe.fft
// RUN: lathe-opt %s "--lathe-expand-transforms=whole=true" | FileCheck %s --check-prefix=WHOLE

// 1024 = 16 * 8 * 8: three products, of which the last one has a column for each part of a frequency, as they lie in the result. As one kernel it stays
// what it is.
// STAGES-LABEL: @short
// STAGES: lathe.contract {{.*}}tensor<2x16x2x16xf32> ->
// STAGES: lathe.contract {{.*}}tensor<2x8x2x8xf32>,
// STAGES: lathe.contract {{.*}}tensor<2x8x8x2xf32> ->
// STAGES-NOT: lathe.contract
// WHOLE-LABEL: @short
// WHOLE: lathe.fft %arg0 axis 1 parts 2 length 1024 : tensor<?x1024x2xf32
// WHOLE-NEXT: return
func.func @short(%x: tensor<?x1024x2xf32, #lathe.dims<"n", "1024", "2">>) -> tensor<?x1024x2xf32, #lathe.dims<"n", "1024", "2">> {
  %0 = lathe.fft %x axis 1 parts 2 length 1024 : tensor<?x1024x2xf32, #lathe.dims<"n", "1024", "2">> -> tensor<?x1024x2xf32, #lathe.dims<"n", "1024", "2">>
  return %0 : tensor<?x1024x2xf32, #lathe.dims<"n", "1024", "2">>
}

// Columns, turned, then rows; the transposition is a view, into which the last kernel writes.
// STAGES-LABEL: @long
// WHOLE-LABEL: @long
// WHOLE: %[[A:.*]] = lathe.reshape %{{.*}} : {{.*}} -> tensor<3x256x256x2xf32>
// WHOLE: %[[B:.*]] = lathe.fft %[[A]] axis 1 parts 3 length 256 {inverse, turnDim = 2 : i64, turns = 65536 : i64}
// WHOLE: %[[C:.*]] = lathe.fft %[[B]] axis 2 parts 3 length 256 {inverse, scale = 5.000000e-01 : f64}
// WHOLE: lathe.transpose %[[C]]
// WHOLE-NOT: lathe.fft
func.func @long(%x: tensor<3x65536x2xf32>) -> tensor<3x65536x2xf32> {
  %0 = lathe.fft %x axis 1 parts 2 length 65536 {inverse, scale = 0.5 : f64} : tensor<3x65536x2xf32> -> tensor<3x65536x2xf32>
  return %0 : tensor<3x65536x2xf32>
}

// A prime above the largest radix is a convolution, whose transforms are kernels.
// STAGES-LABEL: @prime
// WHOLE-LABEL: @prime
// WHOLE: lathe.pad
// WHOLE: lathe.fft %{{.*}} axis 2 parts 1 length 256 :
// WHOLE: lathe.fft %{{.*}} axis 2 parts 1 length 256 {inverse, scale
// WHOLE-NOT: lathe.contract
func.func @prime(%x: tensor<3x101x2xf32>) -> tensor<3x101x2xf32> {
  %0 = lathe.fft %x axis 1 parts 2 length 101 : tensor<3x101x2xf32> -> tensor<3x101x2xf32>
  return %0 : tensor<3x101x2xf32>
}

// Of real numbers along the first dimension.
// STAGES-LABEL: @real
// WHOLE-LABEL: @real
// WHOLE: lathe.fft %arg0 axis 0 parts 2 length 1000 : tensor<1000x7x1xf64> -> tensor<501x7x2xf64>
// WHOLE-NEXT: return
func.func @real(%x: tensor<1000x7x1xf64>) -> tensor<501x7x2xf64> {
  %0 = lathe.fft %x axis 0 parts 2 length 1000 : tensor<1000x7x1xf64> -> tensor<501x7x2xf64>
  return %0 : tensor<501x7x2xf64>
}

// More real numbers than a block holds: half as many complex ones, in two kernels, and what becomes of these.
// STAGES-LABEL: @longReal
// WHOLE-LABEL: @longReal
// WHOLE: lathe.fft %{{.*}} axis 1 parts 3 length 128 {turnDim = 2 : i64, turns = 16384 : i64}
// WHOLE: lathe.fft %{{.*}} axis 2 parts 3 length 128 :
// WHOLE-NOT: lathe.fft
// WHOLE: lathe.concat
func.func @longReal(%x: tensor<3x32768x1xf32>) -> tensor<3x16385x2xf32> {
  %0 = lathe.fft %x axis 1 parts 2 length 32768 : tensor<3x32768x1xf32> -> tensor<3x16385x2xf32>
  return %0 : tensor<3x16385x2xf32>
}

// Short and of a large prime: one product on either target.
// STAGES-LABEL: @few
// WHOLE-LABEL: @few
// WHOLE: lathe.contract
// WHOLE-NOT: lathe.contract
func.func @few(%x: tensor<3x34x2xf32>) -> tensor<3x34x2xf32> {
  %0 = lathe.fft %x axis 1 parts 2 length 34 : tensor<3x34x2xf32> -> tensor<3x34x2xf32>
  return %0 : tensor<3x34x2xf32>
}
