//===- RowGroups.h - Tiles whose results are written together ---------------===//
//
// Where rows lie side by side in the results, their vectors are along the rows, and a tile may have fewer rows than a vector has
// lanes: its vectors would be stored under masks. Several tiles then are one group, which the epilogue writes: all groups but the
// last are whole vectors, and the last takes what is left over, if it is less than a tile.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CPU_ROWGROUPS_H
#define LATHE_LIB_TARGET_CPU_ROWGROUPS_H

#include "../Contraction/TileHeights.h"
#include "../VectorBuilder.h"
#include <numeric>

namespace lathe::cpu {

class RowGroups {
public:
  /// `together`: rows side by side are stored in vectors.
  RowGroups(const Isa &target, unsigned maxRows, bool together) : maxRows(maxRows), rows(maxRows) {
    if (together && !target.maskedBytes)
      rows = std::lcm(maxRows, target.lanes());
  }

  /// Of the largest group.
  unsigned most() const { return rows + (several() ? maxRows - 1 : 0); }
  bool several() const { return rows > maxRows; }
  /// Of the largest tile.
  unsigned tileRows() const { return maxRows; }
  /// About as many tiles as `count` rows have.
  mlir::Value tilesOf(VectorBuilder &v, mlir::Value count) const { return v.ceilDiv(count, maxRows); }
  /// The heights of the tiles that `count` rows are made of.
  void addHeights(std::set<unsigned> &heights, int64_t count) const {
    if (!several())
      return addEvenHeights(heights, count, maxRows);
    int64_t groups = std::max<int64_t>(1, (count + rows - maxRows) / rows);
    if (groups > 1)
      heights.insert(maxRows);
    addEvenHeights(heights, count - (groups - 1) * rows, maxRows);
  }

  struct Part {
    mlir::Value number, first, count;
  };
  using Body = llvm::function_ref<void(const Part &)>;
  /// The groups of `count` rows. Where a group is a tile, they are as equal as can be.
  void each(VectorBuilder &v, mlir::Value count, Body body) const {
    if (!several())
      return tiles(v, count, body);
    mlir::Value groups = v.max(v.div(v.add(count, rows - maxRows), rows), v.i(1));
    v.loop(v.i(0), groups, 1, [&](mlir::Value number) {
      mlir::Value first = v.mul(number, rows), left = v.sub(count, first);
      body({number, first, v.select(v.less(number, v.sub(groups, 1)), v.i(rows), left)});
    });
  }
  /// The tiles of a group; their numbers go on from group to group.
  void eachTile(VectorBuilder &v, const Part &group, Body body) const {
    if (!several())
      return body({group.number, v.i(0), group.count});
    mlir::Value before = v.mul(group.number, rows / maxRows);
    tiles(v, group.count, [&](const Part &tile) { body({v.add(before, tile.number), tile.first, tile.count}); });
  }

private:
  /// The first tiles have one row more than the rest.
  void tiles(VectorBuilder &v, mlir::Value count, Body body) const {
    mlir::Value tiles = v.ceilDiv(count, maxRows), high = v.ceilDiv(count, v.max(tiles, v.i(1))), low = v.sub(high, 1);
    mlir::Value highTiles = v.sub(count, v.mul(tiles, low));
    v.loop(v.i(0), tiles, 1, [&](mlir::Value tile) {
      mlir::Value first = v.add(v.mul(tile, low), v.min(tile, highTiles));
      body({tile, first, v.select(v.less(tile, highTiles), high, low)});
    });
  }

  unsigned maxRows, rows;
};

} // namespace lathe::cpu

#endif // LATHE_LIB_TARGET_CPU_ROWGROUPS_H
