// What a norm along the channels or a product writes for a depthwise convolution has its channels last, as has what is added to it. An image that has them
// last already looks like planes of its lines: a product says that these are no channels, and the image holds back no other one.
// RUN: lathe-opt %s --lathe-channels-last | FileCheck %s

// CHECK: @norm {{.*}} outs(tensor<2x8x8x16xf32>)
// CHECK: kernel.store %{{.*}}["1024*i0 + 128*i1 + 16*i2 + i3"]
// CHECK: @depthwise axes(i0 = "2", i2 = "8", i3 = "8", i1 = "16", i4 = "3", i5 = "3")
// CHECK: kernel.load %{{.*}}["1024*i0 + i1 + 128*i2 + 16*i3 + 128*i4 + 16*i5 - 144"] if
// CHECK: @product axes(i0 = "2", i1 = "8", i2 = "8", i3 = "16", i4 = "16") {{.*}} outs(tensor<2x8x8x16xf32>)
// CHECK: kernel.load %{{.*}}["1024*i0 + 128*i1 + 16*i2 + i3"]
// CHECK: kernel.store %{{.*}}["1024*i0 + 128*i1 + 16*i2 + i3"]
// CHECK: @again axes(i0 = "2", i2 = "8", i3 = "8", i1 = "16", i4 = "3", i5 = "3")
// CHECK: kernel.load %{{.*}}["1024*i0 + i1 + 128*i2 + 16*i3 + 128*i4 + 16*i5 - 144"] if
!last = tensor<2x8x8x16xf32>
!planes = tensor<2x16x8x8xf32>
func.func @block(%x: !last) -> !last {
  %w = lathe.constant dense_resource<w> : tensor<16x1x3x3xf32>
  %m = lathe.constant dense_resource<m> : tensor<16x16xf32>
  %0 = kernel.generic reduction @norm axes(i0 = "2", i1 = "8", i2 = "8", i3 = "16") ins(%x : !last) outs(!planes) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["1024*i0 + 128*i1 + 16*i2 + i3"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["i3"] : f32
    %3 = arith.subf %1, %2 : f32
    kernel.store %3, %o["1024*i0 + 8*i1 + i2 + 64*i3"] : f32, <f32>
  }
  %4 = kernel.generic reduction @depthwise axes(i0 = "2", i1 = "16", i2 = "8", i3 = "8", i4 = "3", i5 = "3") ins(%0, %w : !planes, tensor<16x1x3x3xf32>) outs(!last) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %y = kernel.index "i2 + i4 - 1"
    %z = kernel.index "i3 + i5 - 1"
    %zero = arith.constant 0 : i64
    %eight = arith.constant 8 : i64
    %p = arith.cmpi sge, %y, %zero : i64
    %q = arith.cmpi slt, %y, %eight : i64
    %r = arith.cmpi sge, %z, %zero : i64
    %s = arith.cmpi slt, %z, %eight : i64
    %pq = arith.andi %p, %q : i1
    %rs = arith.andi %r, %s : i1
    %in = arith.andi %pq, %rs : i1
    %none = arith.constant 0.0 : f32
    %5 = kernel.load %a["1024*i0 + 64*i1 + 8*i2 + i3 + 8*i4 + i5 - 9"] if %in else %none : <f32> else f32 -> f32
    %6 = kernel.load %f["9*i1 + 3*i4 + i5"] : <f32> -> f32
    %7 = arith.mulf %5, %6 : f32
    %8 = kernel.reduce add %7 over ["i4", "i5"] : f32
    kernel.store %8, %o["1024*i0 + i1 + 128*i2 + 16*i3"] : f32, <f32>
  }
  %9 = kernel.generic contraction @product axes(i0 = "2", i1 = "8", i2 = "8", i3 = "16", i4 = "16") ins(%4, %m, %0 : !last, tensor<16x16xf32>, !planes) outs(!planes) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %c: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %10 = kernel.contract %a["1024*i0 + 128*i1 + 16*i2 + i4"], %b["i3 + 16*i4"] over ["i4"] : (<f32>, <f32>) -> f32
    %11 = kernel.load %c["1024*i0 + 8*i1 + i2 + 64*i3"] : <f32> -> f32
    %12 = arith.addf %10, %11 : f32
    kernel.store %12, %o["1024*i0 + 8*i1 + i2 + 64*i3"] : f32, <f32>
  }
  %13 = kernel.generic reduction @again axes(i0 = "2", i1 = "16", i2 = "8", i3 = "8", i4 = "3", i5 = "3") ins(%9, %w : !planes, tensor<16x1x3x3xf32>) outs(!last) {
  ^bb0(%a: !kernel.ref<f32>, %f: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %y = kernel.index "i2 + i4 - 1"
    %z = kernel.index "i3 + i5 - 1"
    %zero = arith.constant 0 : i64
    %eight = arith.constant 8 : i64
    %p = arith.cmpi sge, %y, %zero : i64
    %q = arith.cmpi slt, %y, %eight : i64
    %r = arith.cmpi sge, %z, %zero : i64
    %s = arith.cmpi slt, %z, %eight : i64
    %pq = arith.andi %p, %q : i1
    %rs = arith.andi %r, %s : i1
    %in = arith.andi %pq, %rs : i1
    %none = arith.constant 0.0 : f32
    %14 = kernel.load %a["1024*i0 + 64*i1 + 8*i2 + i3 + 8*i4 + i5 - 9"] if %in else %none : <f32> else f32 -> f32
    %15 = kernel.load %f["9*i1 + 3*i4 + i5"] : <f32> -> f32
    %16 = arith.mulf %14, %15 : f32
    %17 = kernel.reduce add %16 over ["i4", "i5"] : f32
    kernel.store %17, %o["1024*i0 + i1 + 128*i2 + 16*i3"] : f32, <f32>
  }
  return %13 : !last
}
