// RUN: lathe-kernel %s --variant=avx512 --emit=mlir | FileCheck %s
// RUN: lathe-kernel %s --variant=avx512 --emit=asm | FileCheck %s --check-prefix=ASM
// RUN: lathe-kernel %s --variant=avx2 --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: lathe-kernel %s --variant=avx2 --emit=mlir | FileCheck %s --check-prefix=SIXTEEN
// RUN: lathe-kernel %s --variant=avx2 --emit=asm | FileCheck %s --check-prefix=ONE

// Softmax: three passes over the row, each an unrolled main loop and a masked rest. The maximum passes over NaNs: one instruction. The
// exponentials of the second pass are kept in scratch memory for the third, and the results' lines are asked for. The row has one
// division.

// CHECK-LABEL: func.func private @lathe_k0_softmax_avx512.body(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias}
// CHECK: scf.for %{{.*}} = %[[BEGIN:.*]] to %{{.*}} step %{{.*}} iter_args(%[[ROW:.*]] = %[[BEGIN]]) -> (i64)
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: arith.cmpf uno
// CHECK: scf.for
// CHECK: llvm.intr.masked.load
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: math.exp {{.*}} : vector<16xf32>
// CHECK-COUNT-4: llvm.store
// CHECK: "llvm.intr.prefetch"({{.*}}) <{{.*}}rw = 1
// CHECK: llvm.intr.masked.store
// CHECK: arith.divf {{.*}} : f32
// CHECK: scf.for
// CHECK-NOT: math.exp
// CHECK-NOT: arith.divf
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK-LABEL: func.func @lathe_k0_softmax_avx512_plan

// ASM-LABEL: lathe_k0_softmax_avx512.body:
// ASM: vmaxps {{.*}}%zmm
// ASM: vfmadd{{.*}}%zmm
// ASM: vscalefps {{.*}}%zmm
// ASM: vdivss
// ASM: vfnmadd{{.*}}%zmm

// Among sixteen registers an exponential and its constants are all there is place for; whole vectors that the main loop leaves over take
// no mask, which would be a vector there. An exponential of at most 1 is scaled by one factor. (The eighth way is for rows of one element, of which no
// maximum says that.)
// SIXTEEN-LABEL: @lathe_k0_softmax_avx2.body
// SIXTEEN: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// SIXTEEN: scf.for
// SIXTEEN-NOT: masked
// SIXTEEN: scf.yield
// SIXTEEN: llvm.intr.masked.load
// SIXTEEN: math.exp {{.*}} : vector<8xf32>
// SIXTEEN-NOT: math.exp
// SIXTEEN: llvm.intr.masked.load
// SIXTEEN: math.exp {{.*}} : vector<8xf32>
// SIXTEEN-NOT: math.exp
// ONE-LABEL: lathe_k0_softmax_avx2.body:
// ONE-NOT: vpslld $22
// ONE-NOT: vpsubd
// ONE: vpslld $23
// ONE-NOT: vpslld $22
// ONE-NOT: vpsubd
// ONE-LABEL: lathe_k0_softmax_avx2.way7.body:
// ONE-LABEL: lathe_k0_softmax_avx2.way8.body:
// ONE-NOT: vpslld $22
// ONE-NOT: vpsubd
// ONE-LABEL: lathe_k0_softmax_avx2:

// The functions of the runtime's interface are hidden; nothing is called that the artifact does not have.
// LLVM: define internal fastcc void @lathe_k0_softmax_avx2.body(
// LLVM-NOT: call {{.*}}@{{exp|fma|floor}}
// LLVM: define hidden void @lathe_k0_softmax_avx2(
func.func @f(%a0: tensor<?xf32>) {
  %r0 = kernel.generic reduction @softmax axes(n = "N", c = "C") ins(%a0 : tensor<?xf32>) outs(tensor<?xf32>) {
  ^bb0(%in0: !kernel.ref<f32>, %out0: !kernel.ref<f32>):
    %x0 = kernel.load %in0["C*n + c"] : !kernel.ref<f32> -> f32
    %m = kernel.reduce max %x0 over ["c"] : f32
    %d = arith.subf %x0, %m : f32
    %e = math.exp %d : f32
    %s = kernel.reduce add %e over ["c"] : f32
    %y = arith.divf %e, %s : f32
    kernel.store %y, %out0["C*n + c"] : f32, !kernel.ref<f32>
  }
  return
}
