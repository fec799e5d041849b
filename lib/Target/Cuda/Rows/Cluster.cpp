//===- Cluster.cpp - Blocks that read one another's shared memory ----------===//

#include "Cluster.h"
#include "../HopperOps.h"
#include "lathe/Schedule/ThreadRows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

Value lathe::cuda::clusterSize(DeviceBuilder &d) { return d.intrinsic("llvm.nvvm.read.ptx.sreg.cluster.nctarank", {}, d.i32Type()); }

Value lathe::cuda::rankInCluster(DeviceBuilder &d) { return d.intrinsic("llvm.nvvm.read.ptx.sreg.cluster.ctarank", {}, d.i32Type()); }

// Intrinsics, which LLVM knows to be convergent: assembly it would copy into both branches around it, and threads of a warp would wait apart.
void lathe::cuda::arriveAtCluster(DeviceBuilder &d) { d.intrinsic("llvm.nvvm.barrier.cluster.arrive.aligned", {}, {}); }

void lathe::cuda::awaitCluster(DeviceBuilder &d) { d.intrinsic("llvm.nvvm.barrier.cluster.wait.aligned", {}, {}); }

void lathe::cuda::clusterBarrier(DeviceBuilder &d) {
  arriveAtCluster(d);
  awaitCluster(d);
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
  Value address = d.sharedAddress(place);
  return d.ptx("{ .reg .u32 there; mapa.shared::cluster.u32 there, $1, $2; ld.shared::cluster.u64 $0, [there]; }", "=l,r,r,~{memory}",
               {address, rank}, {d.i64Type()}, true)[0];
}

//===----------------------------------------------------------------------===//
// Words for all blocks
//===----------------------------------------------------------------------===//

constexpr int64_t wordBytes = 8, rooms = 2;
static int64_t mostBlocks() { return schedule::rowTuning.mostOfCluster; }

ClusterExchange::ClusterExchange(KernelFrame &frame, Value blocks) : d(frame.d), blocks(blocks) {
  wordsPointer = frame.sharedArray("told", d.i64Type(), rooms * mostBlocks());
  words = d.sharedAddress(wordsPointer);
  barriers = d.sharedAddress(frame.sharedArray("tell", d.i64Type(), rooms));
  d.when(d.equal(d.threadId(), 0), [&] {
    for (int64_t i = 0; i < rooms; ++i)
      initBarrier(d, d.add(barriers, i * wordBytes), d.i32(1));
    fenceBarrierInit(d);
  });
  arriveAtCluster(d);
  turn = d.i32(0);
}

Value ClusterExchange::tell(Value word) {
  Value tid = d.threadId(), room = d.rem(turn, rooms), first = d.mul(room, mostBlocks());
  Value barrier = d.add(barriers, d.mul(room, wordBytes));
  d.when(d.equal(tid, 0), [&] { arriveExpecting(d, barrier, d.mul(blocks, wordBytes)); });
  d.when(d.less(tid, blocks), [&] {
    Value place = d.add(words, d.mul(d.add(rankInCluster(d), first), wordBytes));
    sendWord(d, place, word, barrier, tid);
  });
  // Turns 1 and 2 are the first phases of the two barriers, 3 and 4 the second ones.
  waitFor(d, barrier, d.rem(d.div(d.sub(turn, d.i32(1)), rooms), 2));
  Value rank = d.minU(d.rem(tid, mostBlocks()), d.sub(blocks, d.i32(1)));
  return d.load(d.i64Type(), d.at(wordsPointer, d.add(rank, first), d.i64Type()), wordBytes);
}
