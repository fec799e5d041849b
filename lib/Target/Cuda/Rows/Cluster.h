//===- Cluster.h - Blocks that read one another's shared memory ------------===//
//
// Blocks of a cluster run at the same time on neighbouring multiprocessors (compute capability 9.0; "Thread Block Clusters" in the CUDA programming
// guide). How many there are is the launch's business (LATHE_CUDA_CLUSTER).
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_CLUSTER_H
#define LATHE_LIB_TARGET_CUDA_CLUSTER_H

#include "../KernelFrame.h"

namespace lathe::cuda {

/// i32: the blocks of the cluster, and the number of this one among them.
Value clusterSize(DeviceBuilder &d);
Value rankInCluster(DeviceBuilder &d);
/// All threads of all blocks of the cluster, converged; what was stored in shared memory before is seen behind it.
void clusterBarrier(DeviceBuilder &d);
/// Its two halves: what a thread does between them no other block waits for.
void arriveAtCluster(DeviceBuilder &d);
void awaitCluster(DeviceBuilder &d);
/// A value of at most 64 bits as a word (i64), and back.
Value wordOf(DeviceBuilder &d, Value value);
Value ofWord(DeviceBuilder &d, Value word, Type type);
/// The word (i64) that the cluster's block `rank` (i32) has where this block has `place` in its shared memory.
Value readOfBlock(DeviceBuilder &d, Value place, Value rank);

/// Words that all blocks of a cluster tell one another. They come by themselves (st.async, PTX ISA), and whom they reach is told by a barrier of its own. A
/// barrier of the cluster would also wait until memory has what the block stored in it, which nobody wants to know.
///
/// There are two rooms for words, taken in turn: who sends the words after the next ones has got the next ones of all others, who have read these by then.
class ClusterExchange {
public:
  /// `blocks` (i32) of the cluster. By all threads, converged.
  ClusterExchange(KernelFrame &frame, Value blocks);
  /// Behind it others' words may come. All threads, once, converged.
  void ready() { awaitCluster(d); }
  /// The block's word (i64, the same in all threads) for each block; a lane gets the one of block number lane mod 8, of the last one where there are fewer.
  Value tell(Value word);
  Value turn; ///< i32: the number of this word, from 1 on

private:
  DeviceBuilder &d;
  Value blocks, wordsPointer;
  Value words, barriers; ///< i32, addresses in shared memory
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CLUSTER_H
