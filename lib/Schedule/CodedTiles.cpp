//===- CodedTiles.cpp - Tiles of products with codes on a GPU ----------------===//

#include "lathe/Schedule/CodedTiles.h"

using namespace lathe::schedule;

// With few rows a block's warps share the depth of one panel, so that the panels of a small matrix are blocks for all multiprocessors. Of more panels
// two blocks go together: one reads while the other adds up its warps' sums.
static constexpr CodedTile tiles[] = {{"coded_8", 8, 16, 1, 4, 1}, {"coded_8_pairs", 8, 8, 1, 4, 2}, {"coded_16", 16, 16, 1, 4, 1}, {"coded_16_pairs", 16, 8, 1, 4, 2}, {"coded_32", 32, 8, 1, 2, 1}, {"coded_64", 64, 4, 2, 2, 1}};

llvm::ArrayRef<CodedTile> lathe::schedule::codedTiles() { return tiles; }

int64_t lathe::schedule::costOfGroup(const CodedTile &tile, unsigned parts) {
  constexpr int64_t unpacking = 150, ofEightRows = 95, schedulers = 4; // measured: about twice as many clocks of a scheduler as instructions
  return tile.panels * (unpacking + tile.rows / 8 * ofEightRows * parts) / schedulers;
}
