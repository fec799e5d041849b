//===- TileHeights.h - Rows shared out among tiles --------------------------===//
#ifndef LATHE_TARGET_CPU_TILEHEIGHTS_H
#define LATHE_TARGET_CPU_TILEHEIGHTS_H

#include <cstdint>
#include <set>

namespace lathe::cpu {

/// The heights, as equal as can be, of the fewest tiles of at most `most` rows that make `count`: one, or two neighbours.
inline void addEvenHeights(std::set<unsigned> &heights, int64_t count, int64_t most) {
  int64_t tiles = (count + most - 1) / most;
  if (!tiles)
    return;
  heights.insert(unsigned((count + tiles - 1) / tiles));
  if (count % tiles)
    heights.insert(unsigned(count / tiles));
}

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_TILEHEIGHTS_H
