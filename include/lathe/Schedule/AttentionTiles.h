//===- AttentionTiles.h - How many queries and keys are worked on together -===//
#ifndef LATHE_SCHEDULE_ATTENTIONTILES_H
#define LATHE_SCHEDULE_ATTENTIONTILES_H

#include "lathe/Schedule/Choose.h"

namespace lathe::schedule {

/// On a CPU: how a block of queries is worked on.
struct AttentionTile {
  unsigned queryVectors; ///< of lanes each
  unsigned keyRows;      ///< of a tile of scores
  unsigned valueRows, valueVectors; ///< of a tile of the product with the values
  unsigned keyBlock;
  bool masked; ///< fewer queries than lanes are possible
};

/// Of many queries, and of fewer than a vector has lanes. `asked`: may be null.
AttentionTile wideTile(const Machine &machine, AttentionAttr asked = {});
AttentionTile narrowTile(const Machine &machine);

/// On a CPU: whether each query is to be computed alone, with keys in the lanes.
bool asksForRows(mlir::Attribute schedule);

/// On a GPU: tiles of groups of warps, tiles of threads.
constexpr unsigned groupQueries = 128, threadQueries = 64, threadKeys = 64;
/// The widest head that groups' registers and shared memory have room for.
constexpr int64_t mostGroupDepth = 256;
/// Keys of a group's step; wide heads leave room for fewer. `padded`: elements of the wider head in shared memory.
unsigned groupKeys(unsigned padded, AttentionAttr asked = {});

/// The ways of an attention.
void proposeAttention(const lower::BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_ATTENTIONTILES_H
