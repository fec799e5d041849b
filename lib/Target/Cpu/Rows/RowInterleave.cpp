//===- RowInterleave.cpp - Results of which two axes are one run -------------===//
//
// Lanes run along one axis, and what is emitted together are all places of a shorter one, along which results lie side by side
// (lib/Schedule/Interleaving.cpp). Element e of the run is lane e / places of vector e % places.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using Values = VectorBuilder::Values;

/// An odd number of vectors: each result takes its elements from one after the other.
static Values interleavedOdd(OpBuilder &b, Location loc, ArrayRef<Value> vectors) {
  int64_t places = vectors.size(), width = cast<VectorType>(vectors[0].getType()).getNumElements();
  Values out;
  for (int64_t k = 0; k < places; ++k) {
    Value run = vectors[0];
    for (int64_t place = 1; place < places; ++place) {
      SmallVector<int64_t> take;
      for (int64_t lane = 0; lane < width; ++lane) {
        int64_t element = k * width + lane;
        bool mine = element % places == place, first = place == 1 && element % places == 0;
        take.push_back(mine ? width + element / places : first ? element / places : lane);
      }
      run = b.create<vector::ShuffleOp>(loc, run, vectors[place], take);
    }
    out.push_back(run);
  }
  return out;
}

/// An even number: those at even places, those at odd ones, and the two in turn.
static Values interleaved(OpBuilder &b, Location loc, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return Values(vectors);
  if (vectors.size() % 2)
    return interleavedOdd(b, loc, vectors);
  Values halves[2];
  for (auto [i, v] : llvm::enumerate(vectors))
    halves[i % 2].push_back(v);
  int64_t width = cast<VectorType>(vectors[0].getType()).getNumElements();
  Values out;
  for (auto [x, y] : llvm::zip(interleaved(b, loc, halves[0]), interleaved(b, loc, halves[1])))
    for (int64_t half : {0, 1}) {
      SmallVector<int64_t> take;
      for (int64_t lane = 0; lane < width; ++lane)
        take.push_back(half * width / 2 + lane / 2 + lane % 2 * width);
      out.push_back(b.create<vector::ShuffleOp>(loc, x, y, take));
    }
  return out;
}

/// What neighbours store, as vectors of the run that it is.
void RowEmitter::storeInterleaved(MutableArrayRef<BodyEmitter> neighbours, kernel::StoreOp store) {
  Values columns;
  for (BodyEmitter &point : neighbours)
    columns.push_back(point.emitLanes(store.getValue()));
  Value mask = neighbours[0].laneMask();
  Values runs = movedAsIntegers(b, loc, columns, [&](Values v) { return interleaved(b, loc, v); });
  Values masks = mask ? movedAsIntegers(b, loc, Values(columns.size(), mask), [&](Values v) { return interleaved(b, loc, v); }) : Values();
  unsigned width = neighbours[0].laneWidth();
  StringRef lane = info.axes[*schedule.lane], inner = info.axes[*schedule.jam];
  for (auto [i, run] : llvm::enumerate(runs)) {
    BodyEmitter point = neighbours[0];
    point.bindLane(inner, i64(i * width), width, mask ? masks[i] : Value());
    point.bindAxis(lane, neighbours[0].axisValue(lane));
    point.emitStoreOf(store, run);
  }
}
