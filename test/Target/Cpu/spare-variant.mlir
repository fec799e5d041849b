// Beside code for machines with AVX2 the one for those from before has the general way alone, and LLVM spends little on it: a short list of passes, of
// which none changes how bodies are called. Where it is all there is, it has the ways and the passes of any other.
// RUN: lathe-kernel %s --variant=baseline --variant=avx2 --emit=llvm | FileCheck %s --check-prefix=SPARE
// RUN: lathe-kernel %s --variant=baseline --emit=llvm | FileCheck %s --check-prefix=ALONE

// SPARE: define internal void @lathe_k0_sums_baseline.body(
// SPARE-NOT: baseline.way1.body
// SPARE: define internal fastcc void @lathe_k0_sums_avx2.body(
// SPARE: define internal fastcc void @lathe_k0_sums_avx2.way1.body(
// ALONE: define internal fastcc void @lathe_k0_sums_baseline.body(
// ALONE: define internal fastcc void @lathe_k0_sums_baseline.way1.body(
lathe.symbol "m" range [1, -1]
lathe.symbol "n" range [1, -1]
func.func @f(%x: tensor<?x?xf32, #lathe.dims<"m", "n">>) -> tensor<?xf32, #lathe.dims<"m">> {
  %0 = kernel.generic reduction @sums axes(i = "m", j = "n") ins(%x : tensor<?x?xf32, #lathe.dims<"m", "n">>) outs(tensor<?xf32, #lathe.dims<"m">>) {
  ^bb0(%a: !kernel.ref<f32>, %o: !kernel.ref<f32>):
    %v = kernel.load %a["n*i + j"] : <f32> -> f32
    %s = kernel.reduce add %v over ["j"] : f32
    kernel.store %s, %o["i"] : f32, <f32>
  }
  return %0 : tensor<?xf32, #lathe.dims<"m">>
}
