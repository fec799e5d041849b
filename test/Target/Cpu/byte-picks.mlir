// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=AVX2

// The low bytes of a table of 256 words are four registers: what is read at a computed place, all of which are in the table, is picked from them. Words of
// which more is used are gathered, as is what another limit says of the table.
// CHECK-LABEL: bytes_avx512.body:
// CHECK-NOT: vpgather
// CHECK: vperm{{[it]}}2d {{.*}}%zmm
// CHECK: vpsrlvd
// CHECK-LABEL: words_avx512.body:
// CHECK: vpgather
// CHECK-LABEL: short_avx512.body:
// CHECK: vpgather
// AVX2-LABEL: bytes_avx2.body:
// AVX2: vpinsrb
func.func @main(%x: tensor<512xui8>, %t: tensor<256xi32>, %s: tensor<200xi32>) {
  %0 = kernel.generic loop @bytes axes(i = "512") ins(%x, %t : tensor<512xui8>, tensor<256xi32>) outs(tensor<512xui8>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i32>, %o: !kernel.ref<i8>):
    %1 = kernel.load %a["i"] : !kernel.ref<i8> -> i8
    %2 = arith.extui %1 : i8 to i64
    %last = arith.constant 255 : i64
    %zero = arith.constant 0 : i64
    %3 = arith.minsi %2, %last : i64
    %4 = arith.maxsi %3, %zero : i64
    %5 = kernel.load %b["$0"] indirect(%4) : !kernel.ref<i32> -> i32
    %6 = arith.trunci %5 : i32 to i8
    kernel.store %6, %o["i"] : i8, !kernel.ref<i8>
  }
  %10 = kernel.generic loop @words axes(i = "512") ins(%x, %t : tensor<512xui8>, tensor<256xi32>) outs(tensor<512xi32>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i32>, %o: !kernel.ref<i32>):
    %1 = kernel.load %a["i"] : !kernel.ref<i8> -> i8
    %2 = arith.extui %1 : i8 to i64
    %last = arith.constant 255 : i64
    %zero = arith.constant 0 : i64
    %3 = arith.minsi %2, %last : i64
    %4 = arith.maxsi %3, %zero : i64
    %5 = kernel.load %b["$0"] indirect(%4) : !kernel.ref<i32> -> i32
    kernel.store %5, %o["i"] : i32, !kernel.ref<i32>
  }
  %20 = kernel.generic loop @short axes(i = "512") ins(%x, %s : tensor<512xui8>, tensor<200xi32>) outs(tensor<512xui8>) {
  ^bb0(%a: !kernel.ref<i8>, %b: !kernel.ref<i32>, %o: !kernel.ref<i8>):
    %1 = kernel.load %a["i"] : !kernel.ref<i8> -> i8
    %2 = arith.extui %1 : i8 to i64
    %last = arith.constant 199 : i64
    %zero = arith.constant 0 : i64
    %3 = arith.minsi %2, %last : i64
    %4 = arith.maxsi %3, %zero : i64
    %5 = kernel.load %b["$0"] indirect(%4) : !kernel.ref<i32> -> i32
    %6 = arith.trunci %5 : i32 to i8
    kernel.store %6, %o["i"] : i8, !kernel.ref<i8>
  }
  return
}
