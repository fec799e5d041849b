// RUN: lathe-opt %s --lathe-limit-first | FileCheck %s

// Limits less the zero point come before the rounding, which is a sum with 3 2^22 (0x4B400000 as an integer): of 127 the offset is 127 - 0x4B400000.
// CHECK-LABEL: @quantize
// CHECK: %[[Q:.*]] = arith.divf
// CHECK-NOT: math.roundeven
// CHECK: arith.constant -1.270000e+02 : f32
// CHECK: arith.constant 1.280000e+02 : f32
// CHECK: arith.cmpf ogt, %[[Q]]
// CHECK: %[[L:.*]] = arith.select
// CHECK: arith.cmpf olt, %[[L]]
// CHECK: %[[H:.*]] = arith.select
// CHECK: %[[M:.*]] = arith.constant 0x4B400000 : f32
// CHECK: %[[S:.*]] = arith.addf %[[H]], %[[M]]
// CHECK: %[[B:.*]] = arith.bitcast %[[S]] : f32 to i32
// CHECK: %[[O:.*]] = arith.constant -1262485377 : i32
// CHECK: %[[I:.*]] = arith.addi %[[B]], %[[O]]
// CHECK: arith.trunci %[[I]] : i32 to i8
// CHECK-NOT: arith.fptosi
func.func @quantize(%x: tensor<64xf32>) -> tensor<64xui8> {
  %0 = kernel.generic loop @quantize axes(i = "64") ins(%x : tensor<64xf32>) outs(tensor<64xui8>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<i8>):
    %1 = kernel.load %a["i"] : !kernel.ref<f32> -> f32
    %scale = arith.constant 0.031 : f32
    %2 = arith.divf %1, %scale : f32
    %3 = math.roundeven %2 : f32
    %z = arith.constant 127 : i8
    %zero = arith.uitofp %z : i8 to f32
    %4 = arith.addf %3, %zero : f32
    %low = arith.constant 0.0 : f32
    %5 = arith.cmpf ogt, %4, %low : f32
    %6 = arith.select %5, %4, %low : f32
    %high = arith.constant 255.0 : f32
    %7 = arith.cmpf olt, %6, %high : f32
    %8 = arith.select %7, %6, %high : f32
    %9 = arith.fptosi %8 : f32 to i32
    %10 = arith.trunci %9 : i32 to i8
    kernel.store %10, %o["i"] : i8, !kernel.ref<i8>
  }
  return %0 : tensor<64xui8>
}

// A Dequantize asks for the rounded number, without its zero point and not as a byte; the zero point of a byte from memory is taken off before it is
// a float; a maximum with 0 is left to a limit of 0. NaN, which is 0 as a signed byte, stays 0 beside the zero point; what is divided is asked for it.
// CHECK-LABEL: @between
// CHECK: %[[X:.*]] = kernel.load
// CHECK: arith.cmpf uno, %[[X]], %[[X]]
// CHECK: arith.constant 3.000000e+00 : f32
// CHECK: arith.constant -1.250000e+02 : f32
// CHECK: arith.constant 1.300000e+02 : f32
// CHECK: %[[W:.*]] = math.roundeven
// CHECK-NOT: arith.fptosi
// CHECK: arith.mulf %[[W]]
// CHECK: %[[E:.*]] = arith.extui
// CHECK: %[[T:.*]] = arith.constant 3 : i32
// CHECK: %[[D:.*]] = arith.subi %[[E]], %[[T]]
// CHECK: arith.sitofp %[[D]]
// CHECK: %[[A:.*]] = arith.addf
// CHECK-NOT: arith.maximumf
// CHECK: arith.divf %[[A]]
// CHECK-NOT: arith.addi
// CHECK: arith.addf
// CHECK: arith.bitcast
// CHECK: return
func.func @between(%x: tensor<64xf32>, %r: tensor<64xui8>) -> tensor<64xui8> {
  %0 = kernel.generic loop @between axes(i = "64") ins(%x, %r : tensor<64xf32>, tensor<64xui8>) outs(tensor<64xui8>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<i8>, %o: !kernel.ref<i8>):
    %1 = kernel.load %a["i"] : !kernel.ref<f32> -> f32
    %scale = arith.constant 0.031 : f32
    %2 = arith.divf %1, %scale : f32
    %3 = math.roundeven %2 : f32
    %z = arith.constant -3 : i8
    %zero = arith.sitofp %z : i8 to f32
    %4 = arith.addf %3, %zero : f32
    %isnan = arith.cmpf uno, %4, %4 : f32
    %c0 = arith.constant 0.0 : f32
    %n = arith.select %isnan, %c0, %4 : f32
    %low = arith.constant -128.0 : f32
    %5 = arith.cmpf ogt, %n, %low : f32
    %6 = arith.select %5, %n, %low : f32
    %high = arith.constant 127.0 : f32
    %7 = arith.cmpf olt, %6, %high : f32
    %8 = arith.select %7, %6, %high : f32
    %9 = arith.fptosi %8 : f32 to i32
    %10 = arith.trunci %9 : i32 to i8
    %11 = arith.sitofp %10 : i8 to f32
    %12 = arith.subf %11, %zero : f32
    %13 = arith.mulf %12, %scale : f32
    %14 = kernel.load %b["i"] : !kernel.ref<i8> -> i8
    %15 = arith.uitofp %14 : i8 to f32
    %t = arith.constant 3 : i8
    %three = arith.uitofp %t : i8 to f32
    %16 = arith.subf %15, %three : f32
    %17 = arith.addf %13, %16 : f32
    %18 = arith.maximumf %17, %c0 : f32
    %19 = arith.divf %18, %scale : f32
    %20 = math.roundeven %19 : f32
    %21 = arith.cmpf ogt, %20, %c0 : f32
    %22 = arith.select %21, %20, %c0 : f32
    %c255 = arith.constant 255.0 : f32
    %23 = arith.cmpf olt, %22, %c255 : f32
    %24 = arith.select %23, %22, %c255 : f32
    %25 = arith.fptosi %24 : f32 to i32
    %26 = arith.trunci %25 : i32 to i8
    kernel.store %26, %o["i"] : i8, !kernel.ref<i8>
  }
  return %0 : tensor<64xui8>
}
