// RUN: lathe-opt %s --lathe-pack-filters | lathe-kernel - --variant=avx2 --emit=llvm | FileCheck %s
// RUN: lathe-opt %s --lathe-pack-filters | lathe-kernel - --variant=avx2 --emit=asm | grep -oE "cmov|vfmadd" | uniq -c | FileCheck %s --check-prefix=ASM

// A tile of pixels of an open number of images begins at the smaller one of a place and the last image. What the loops over channels read from it
// stands behind a freeze, so that they take it from where it is computed: nothing is chosen between the first product of a tile and the last one.
// CHECK-LABEL: @lathe_{{.*}}pointwise_avx2.body(
// CHECK: %[[KEPT:[0-9]+]] = freeze ptr %
// CHECK: getelementptr {{.*}}, ptr %[[KEPT]], i64
// ASM: 192 vfmadd
// ASM-NOT: vfmadd
lathe.symbol "b" range[1, 4096]
func.func @main(%x: tensor<?x32x7x7xf32, #lathe.dims<"b", "32", "7", "7">>) {
  %w = lathe.constant dense<1.5> : tensor<32x32x1x1xf32>
  %0 = kernel.generic reduction @pointwise axes(i0 = "b", i1 = "32", i2 = "7", i3 = "7", i4 = "32")
      ins(%x, %w : tensor<?x32x7x7xf32, #lathe.dims<"b", "32", "7", "7">>, tensor<32x32x1x1xf32>) outs(tensor<?x32x7x7xf32, #lathe.dims<"b", "32", "7", "7">>) {
  ^bb0(%a: !kernel.ref<f32>, %b: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %1 = kernel.load %a["1568*i0 + 7*i2 + i3 + 49*i4"] : <f32> -> f32
    %2 = kernel.load %b["32*i1 + i4"] : <f32> -> f32
    %3 = arith.mulf %1, %2 : f32
    %4 = kernel.reduce add %3 over ["i4"] : f32
    kernel.store %4, %o["1568*i0 + 49*i1 + 7*i2 + i3"] : f32, <f32>
  }
  return
}
