//===- ProductChoice.h - Which tiles schedules leave to a contraction ------===//
#ifndef LATHE_LIB_TARGET_CUDA_PRODUCTCHOICE_H
#define LATHE_LIB_TARGET_CUDA_PRODUCTCHOICE_H

#include "../Generator.h"
#include "lathe/Schedule/ProductTiles.h"

namespace lathe::cuda {

/// The cases of a contraction: a plan picks the cheapest of the tiles that the case which holds leaves it. Without cases, of all.
class ProductChoice {
public:
  explicit ProductChoice(Generator &g);

  /// Those of a unit that some case leaves; where a case leaves none of them, all.
  std::vector<const schedule::ProductTile *> tilesOf(schedule::ProductUnit unit) const;
  /// Where the case that holds leaves some of the unit's tiles (i1); null: always.
  Value hasTiles(schedule::ProductUnit unit) const;
  /// What the tile is reckoned to take (i64), a prohibitive time where the case that holds does not leave it.
  Value costOf(const schedule::ProductTile &tile, Value cost) const;
  /// Whether the depth is cut (i1): where that pays, or wherever it can be.
  Value inParts(Value pays, Value possible) const;
  bool mayCut() const;
  /// Says of each case that the entry points so far serve it.
  void tell() const;

private:
  struct Case {
    schedule::Predicate when;
    schedule::ProductsAttr asked;
    bool leaves(schedule::ProductUnit unit) const;
  };
  /// What is said for the case that holds. The last one always does.
  Value select(llvm::function_ref<Value(const Case &)> of) const;
  Generator &g;
  std::vector<Case> cases;
};

/// Whether a schedule writes a tile down, which then no other form replaces.
bool namesTile(const lower::BodyInfo &info);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_PRODUCTCHOICE_H
