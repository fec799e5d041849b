// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=AVX512
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=AVX2
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s --check-prefix=WORDS

// A channel by itself: two shuffles make words of the four taps that the windows of neighbouring places begin with, and four products and their sum are one
// instruction. Eight lines of results share the words of ten lines.
// AVX512-LABEL: lines_avx512vnni.body:
// AVX512: vpshufb {{.*}}%zmm
// AVX512: vpdpbusd {{.*}}%zmm
// AVX512-NOT: vpgather
// AVX512-LABEL: lines_avx512vnni:
// AVX2-LABEL: lines_avx2.body:
// AVX2: vpmaddwd {{.*}}%ymm
// AVX2-LABEL: lines_avx2vnni.body:
// AVX2: vpshufb {{.*}}%ymm
// AVX2: vpdpbusd {{.*}}%ymm
// WORDS-LABEL: func.func private @{{.*}}lines_avx512vnni.body(
// WORDS-COUNT-10: vector.shuffle {{.*}} [0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4] : vector<16xi32>

// Two lines of seven places lie in a vector: a word is from the one or from the other.
// WORDS-LABEL: func.func private @{{.*}}narrow_avx512vnni.body(
// WORDS: vector.shuffle {{.*}} [0, 1, 1, 1, 1, 2, 16, 16, 16, 17, 17, 17, 17, 18, 18, 18] : vector<16xi32>
func.func @main(%x: tensor<16x58x58xui8>, %w: tensor<16x3x3xi8>, %z: tensor<16x9x9xui8>) {
  %0 = kernel.generic reduction @lines axes(c = "16", y = "56", x = "56", i = "3", j = "3")
      ins(%x, %w : tensor<16x58x58xui8>, tensor<16x3x3xi8>) outs(tensor<16x56x56xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %f: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["3364*c + 58*y + 58*i + x + j"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %f["9*c + 3*i + j"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["i", "j"] {slides = ["y + i", "x + j"]} : i32
    kernel.store %6, %o["3136*c + 56*y + x"] : i32, !kernel.ref<i32>
  }
  %10 = kernel.generic reduction @narrow axes(c = "16", y = "7", x = "7", i = "3", j = "3")
      ins(%z, %w : tensor<16x9x9xui8>, tensor<16x3x3xi8>) outs(tensor<16x7x7xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %f: !kernel.ref<i8>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["81*c + 9*y + 9*i + x + j"] : !kernel.ref<i8> -> i8
    %2 = kernel.load %f["9*c + 3*i + j"] : !kernel.ref<i8> -> i8
    %3 = arith.extui %1 : i8 to i32
    %4 = arith.extsi %2 : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.reduce add %5 over ["i", "j"] {slides = ["y + i", "x + j"]} : i32
    kernel.store %6, %o["49*c + 7*y + x"] : i32, !kernel.ref<i32>
  }
  return
}
