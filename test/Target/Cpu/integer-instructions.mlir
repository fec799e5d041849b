// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=AVX512
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=AVX2
// RUN: lathe-kernel %s --variant=baseline --emit=asm | FileCheck %s --check-prefix=SSE2

// Products of bytes: with each level the variant that has dot products comes along. Of weights that are not known nothing saturates, and
// rows are split into halves where they are packed, not in the loop over words.
// AVX512-LABEL: matmul_avx512.body:
// AVX512-NOT: vpmaddubsw
// AVX512: vpmaddwd {{.*}}%zmm
// AVX512-LABEL: matmul_avx512vnni.body:
// AVX512: vpdpbusd {{.*}}%zmm
// Two by two tiles of sums, whose signs are the instruction's matter; 64 rows are never few, and no dot products stand beside.
// AVX512-LABEL: matmul_avx512amx.body:
// AVX512-NOT: vpdpbusd
// AVX512: ldtilecfg
// AVX512: tilezero %tmm3
// AVX512: tileloadd {{.*}}%tmm6
// AVX512: tileloadd {{.*}}%tmm7
// AVX512: tdpbusd %tmm6, %tmm4, %tmm0
// AVX512: tdpbusd %tmm7, %tmm5, %tmm3
// AVX512: tilestored %tmm3
// AVX512: tilerelease
// AVX2-LABEL: matmul_avx2.body:
// AVX2-NOT: vpmaddubsw
// AVX2: vpmaddwd {{.*}}%ymm
// AVX2: vpbroadcastd
// AVX2-NEXT: vpmaddwd {{.*}}%ymm
// AVX2-LABEL: matmul_avx2vnni.body:
// AVX2: vpdpbusd {{.*}}%ymm
// SSE2-LABEL: matmul_baseline.body:
// SSE2: pmaddwd
func.func @main(%x: tensor<64x64xui8>, %w: tensor<64x64xi8>) {
  %0 = kernel.generic reduction @matmul axes(m = "64", n = "64", k = "64")
      ins(%x, %w : tensor<64x64xui8>, tensor<64x64xi8>) outs(tensor<64x64xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["64*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["64*k + n"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["64*m + n"] : i32, !kernel.ref<i32>
  }
  return
}

// Where weights are known to fit, pairs of products are added in 16 bits, where that is an instruction.
// AVX512-LABEL: pairs_avx512.body:
// AVX512: vpmaddubsw {{.*}}%zmm
// AVX512: vpmaddwd {{.*}}%zmm
// AVX512-LABEL: pairs_avx512vnni.body:
// AVX512-NOT: vpmaddubsw
// AVX512: vpdpbusd {{.*}}%zmm
// AVX2-LABEL: pairs_avx2.body:
// AVX2: vpmaddubsw {{.*}}%ymm
// AVX2: vpmaddwd {{.*}}%ymm
// SSE2-LABEL: pairs_baseline.body:
// SSE2-NOT: pmaddubsw
// SSE2: pmaddwd
func.func @other(%x: tensor<64x64xui8>, %w: tensor<64x64xi8>) {
  %0 = kernel.generic reduction @pairs axes(m = "64", n = "64", k = "64")
      ins(%x, %w : tensor<64x64xui8>, tensor<64x64xi8>) outs(tensor<64x64xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["64*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["64*k + n"] {packed, pairs = 0 : i64} : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["64*m + n"] : i32, !kernel.ref<i32>
  }
  return
}

// Lines of pixels that lie side by side are one: 104 are vectors of eight, and no byte is loaded by itself.
// AVX2-LABEL: pixels_avx2.body:
// AVX2-NOT: vpinsrb
// AVX2-LABEL: pixels_avx2vnni.body:
func.func @pixels(%x: tensor<64x8x13xui8>, %w: tensor<64x64xi8>) {
  %0 = kernel.generic reduction @pixels axes(n = "64", y = "8", x = "13", k = "64")
      ins(%x, %w : tensor<64x8x13xui8>, tensor<64x64xi8>) outs(tensor<64x8x13xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["104*k + 13*y + x"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["64*k + n"] {packed, pairs = 0 : i64} : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["104*n + 13*y + x"] : i32, !kernel.ref<i32>
  }
  return
}

// Signed rows and unsigned columns that come with a call; of an open number of rows a call decides, and few are multiplied with dot products.
// AVX512-LABEL: open_avx512amx.body:
// AVX512: vpdpbusd
// AVX512: tdpbsud
// What is known to have few rows is not made for the matrix unit.
// AVX512-NOT: few_avx512amx
// AVX512-LABEL: few_avx512vnni.body:
func.func @signs(%x: tensor<?x64xi8>, %y: tensor<3x64xi8>, %w: tensor<64x64xui8>) {
  %0 = kernel.generic reduction @open axes(m = "mm", n = "64", k = "64")
      ins(%x, %w : tensor<?x64xi8>, tensor<64x64xui8>) outs(tensor<?x64xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["64*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["64*k + n"] : !kernel.ref<i8> -> i8
    %3 = arith.extsi %1 : i8 to i32
    %4 = arith.extui %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["64*m + n"] : i32, !kernel.ref<i32>
  }
  %1 = kernel.generic reduction @few axes(m = "3", n = "64", k = "64")
      ins(%y, %w : tensor<3x64xi8>, tensor<64x64xui8>) outs(tensor<3x64xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["64*m + k"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["64*k + n"] : !kernel.ref<i8> -> i8
    %3 = arith.extsi %1 : i8 to i32
    %4 = arith.extui %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["64*m + n"] : i32, !kernel.ref<i32>
  }
  return
}

// A convolution whose channels lie side by side: rows of a tile are a window's step apart in the packed image, 24 words of a line of taps are
// two steps of twelve.
// AVX512-LABEL: image_avx512amx.body:
// AVX512: ldtilecfg
// AVX512: tdpbusd
// AVX512: tilerelease
func.func @image(%x: tensor<1x10x22x32xui8>, %w: tensor<64x32x3x3xi8>) {
  %0 = kernel.generic reduction @image axes(i = "8", j = "20", o = "64", p = "3", q = "3", c = "32")
      ins(%x, %w : tensor<1x10x22x32xui8>, tensor<64x32x3x3xi8>) outs(tensor<1x8x20x64xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %r: !kernel.ref<i32>):
    %1 = kernel.load %a["704*i + 704*p + 32*j + 32*q + c"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["288*o + 9*c + 3*p + q"] {packed} : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["p", "q", "c"] {slides = ["i + p", "j + q"]} : i32
    kernel.store %6, %r["1280*i + 64*j + o"] : i32, !kernel.ref<i32>
  }
  return
}

// Rows that lie side by side in the results are in the lanes from the beginning: nothing is transposed, and a column's word is in all lanes.
// AVX512-LABEL: side_by_side_avx512vnni.body:
// AVX512: vpbroadcastd {{.*}}%zmm
// AVX512-NEXT: vpdpbusd
// AVX512-NOT: {{vunpck|vshufps|vpermt2}}
// AVX512-LABEL: side_by_side_avx512vnni_plan:
func.func @lines(%x: tensor<8x96xui8>, %w: tensor<8x8xi8>) {
  %0 = kernel.generic reduction @side_by_side axes(m = "96", n = "8", k = "8")
      ins(%x, %w : tensor<8x96xui8>, tensor<8x8xi8>) outs(tensor<8x96xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["96*k + m"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %b["8*k + n"] {packed} : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["k"] : i32
    kernel.store %6, %o["96*n + m"] : i32, !kernel.ref<i32>
  }
  return
}
