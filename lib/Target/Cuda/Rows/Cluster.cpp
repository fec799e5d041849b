//===- Cluster.cpp - Blocks that read one another's shared memory ----------===//

#include "Cluster.h"

using namespace mlir;
using namespace lathe::cuda;

Value lathe::cuda::clusterSize(DeviceBuilder &d) { return d.intrinsic("llvm.nvvm.read.ptx.sreg.cluster.nctarank", {}, d.i32Type()); }

Value lathe::cuda::rankInCluster(DeviceBuilder &d) { return d.intrinsic("llvm.nvvm.read.ptx.sreg.cluster.ctarank", {}, d.i32Type()); }

void lathe::cuda::clusterBarrier(DeviceBuilder &d) {
  // Intrinsics, which LLVM knows to be convergent: assembly it would copy into both branches around it, and threads of a warp would wait apart.
  d.intrinsic("llvm.nvvm.barrier.cluster.arrive.aligned", {}, {});
  d.intrinsic("llvm.nvvm.barrier.cluster.wait.aligned", {}, {});
}

Value lathe::cuda::wordOf(DeviceBuilder &d, Value value) {
  Type bits = d.b.getIntegerType(value.getType().getIntOrFloatBitWidth());
  Value word = d.bitcast(value, bits);
  return bits.isInteger(64) ? word : d.b.create<mlir::arith::ExtUIOp>(d.loc, d.i64Type(), word);
}

Value lathe::cuda::ofWord(DeviceBuilder &d, Value word, Type type) {
  Type bits = d.b.getIntegerType(type.getIntOrFloatBitWidth());
  return d.bitcast(bits.isInteger(64) ? word : d.b.create<mlir::arith::TruncIOp>(d.loc, bits, word), type);
}

Value lathe::cuda::readOfBlock(DeviceBuilder &d, Value place, Value rank) {
  Value address = d.b.create<LLVM::PtrToIntOp>(d.loc, d.i32Type(), place);
  return d.ptx("{ .reg .u32 there; mapa.shared::cluster.u32 there, $1, $2; ld.shared::cluster.u64 $0, [there]; }", "=l,r,r,~{memory}",
               {address, rank}, {d.i64Type()}, true)[0];
}
