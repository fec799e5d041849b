//===- Cluster.h - Blocks that read one another's shared memory ------------===//
//
// Blocks of a cluster run at the same time on neighbouring multiprocessors (compute capability 9.0; "Thread Block Clusters" in the CUDA programming
// guide). How many there are is the launch's business (LATHE_CUDA_CLUSTER).
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_CLUSTER_H
#define LATHE_LIB_TARGET_CUDA_CLUSTER_H

#include "../DeviceBuilder.h"

namespace lathe::cuda {

/// i32: the blocks of the cluster, and the number of this one among them.
Value clusterSize(DeviceBuilder &d);
Value rankInCluster(DeviceBuilder &d);
/// All threads of all blocks of the cluster, converged; what was stored in shared memory before is seen behind it.
void clusterBarrier(DeviceBuilder &d);
/// A value of at most 64 bits as a word (i64), and back.
Value wordOf(DeviceBuilder &d, Value value);
Value ofWord(DeviceBuilder &d, Value word, Type type);
/// The word (i64) that the cluster's block `rank` (i32) has where this block has `place` in its shared memory.
Value readOfBlock(DeviceBuilder &d, Value place, Value rank);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CLUSTER_H
