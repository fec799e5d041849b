//===- CodedTiles.h - Tiles of products with codes on a GPU ------------------===//
//
// A product with weights of a few bits: a plan reckons, from the sizes of a call, which tile takes the least time.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_CODEDTILES_H
#define LATHE_SCHEDULE_CODEDTILES_H

#include "llvm/ADT/ArrayRef.h"

namespace lathe::schedule {

/// Warps of a block take a panel of 32 columns each, and parts of its depth.
struct CodedTile {
  const char *name;   ///< of the entry point
  unsigned rows;      ///< of the result, a multiple of 8
  unsigned depthWarps, panels;
  unsigned ahead;     ///< groups of words that a warp has on their way while it multiplies as many
  unsigned blocksOfProcessor; ///< that registers leave room for
  unsigned warps() const { return depthWarps * panels; }
  unsigned threads() const { return 32 * warps(); }
};

/// The smallest first.
llvm::ArrayRef<CodedTile> codedTiles();
/// Clocks of a multiprocessor for a group of words of all of the tile's panels; `parts`: halves that an element of the first factor is
/// multiplied as.
int64_t costOfGroup(const CodedTile &tile, unsigned parts);
/// Clocks beside the groups: what a block waits for at its beginning and its end.
constexpr int64_t costOfCodedBlock = 2500;

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_CODEDTILES_H
