//===- ProductTiles.h - Tiles of products on a GPU -------------------------===//
//
// A contraction's plan function reckons, from the sizes and the number of processors of a call, what each tile would take, and picks the
// cheapest: no size is expected, and all are served. A schedule may leave fewer to pick from.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_PRODUCTTILES_H
#define LATHE_SCHEDULE_PRODUCTTILES_H

#include "lathe/Schedule/ScheduleDialect.h"

namespace lathe::schedule {

/// Who multiplies: threads, one product at a time; warps, by mma.sync; groups of four warps, by wgmma.
enum class ProductUnit { Threads, Warps, Groups };

struct ProductTile {
  ProductUnit unit;
  const char *name;       ///< of the entry point
  unsigned rows, columns; ///< of the result
  unsigned depth;         ///< of a step; 0: 128 bytes
  unsigned blocks;        ///< Threads: rows of a thread, of which there are 256. Warps: blocks of 16 rows of a warp. Groups: of 64 rows of a group
  unsigned sharers;       ///< Warps: groups of them that divide a step's depth. Groups: how many divide the tile's rows
  unsigned stages;        ///< steps that shared memory holds
  unsigned across = 32;   ///< Warps: columns of a warp
  unsigned cluster = 1;   ///< Groups: blocks of neighbouring rows that may bring the right operand together
};

/// Smallest first for Groups, largest first for the others.
llvm::ArrayRef<ProductTile> tilesOf(ProductUnit unit);
/// Time for a step beside that of the unit's other tiles.
int64_t costOf(const ProductTile &tile);
/// Of a tile's results, which nothing else hides.
int64_t costOfResults(const ProductTile &tile);
/// Clocks of one multiprocessor for so many bytes of halves that are made of codes and written to memory.
int64_t costOfUnpacking(int64_t bytes);
/// Clocks that one more launch takes.
constexpr int64_t costOfLaunch = 4096;
/// Whether the schedule leaves the tile to pick.
bool admits(ProductsAttr asked, const ProductTile &tile);
/// What the schedule names that no unit has; nothing where there is a tile.
std::optional<std::string> missingTile(int64_t rows, int64_t columns);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_PRODUCTTILES_H
