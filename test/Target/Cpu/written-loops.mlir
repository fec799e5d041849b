// RUN: lathe-kernel %s --variant=avx512 --emit=llvm | FileCheck %s
// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=ASM
// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s --check-prefix=MLIR

// Loops over rows that are summed up say that LLVM leaves their trips as they are: of 768 columns, whose length it knows, and of open ones alike.
// What writes along a row says nothing. The loop over an open number of rows says it, too: LLVM need not find out how long it is.
// MLIR: as_written
// MLIR: as_written
// MLIR: llvm.store
// MLIR-NOT: as_written
// CHECK-COUNT-3: br i1 {{.*}}, !llvm.loop ![[ID:[0-9]+]]
// CHECK-NOT: !llvm.loop
// CHECK: ![[ID]] = distinct !{![[ID]], ![[NONE:[0-9]+]]}
// CHECK: ![[NONE]] = !{!"llvm.loop.unroll.disable"}

// ASM-LABEL: lathe_k0_norms_avx512.body:
// ASM-COUNT-4: vaddps {{.*}}({{.*}}), %zmm
// ASM-NOT: vaddps {{.*}}({{.*}}), %zmm
// ASM: jb
func.func @f(%a0: tensor<?x768xf32>) {
  %r0 = kernel.generic reduction @norms axes(i = "m", j = "768") ins(%a0 : tensor<?x768xf32>) outs(tensor<?x768xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x = kernel.load %in0["768*i + j"] : <f32> -> f32
    %sum = kernel.reduce add %x over ["j"] : f32
    %d = arith.subf %x, %sum : f32
    %s = arith.mulf %d, %d : f32
    %square = kernel.reduce add %s over ["j"] : f32
    %y = arith.mulf %d, %square : f32
    kernel.store %y, %out0["768*i + j"] : f32, <f32>
  }
  return
}
