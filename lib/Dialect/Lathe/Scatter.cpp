//===- Scatter.cpp - Scatters as model formats have them -------------------===//

#include "lathe/Dialect/Lathe/Scatter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;

/// i32 and i64 as they are.
static Value asIndex(GraphBuilder &g, Value v) {
  Type t = elementOf(v);
  return t.isSignlessInteger(32) || t.isSignlessInteger(64) ? v : g.cast(v, g.b.getI64Type());
}

Value ir::scatter(GraphBuilder &g, ScatterKind kind, Value data, Value updates, ValueRange indices,
                  ArrayRef<int64_t> places) {
  for (Value v : {data, updates})
    if (g.facts.simplify(shape::product(dimsOf(v))).isZero())
      return data;
  SmallVector<Value> cast;
  for (Value v : indices)
    cast.push_back(asIndex(g, v));
  return g.b.create<ScatterOp>(g.loc, data.getType(), kind, data, updates, cast, places);
}

Value ir::scatterAlong(GraphBuilder &g, ScatterKind kind, Value data, Value indices, Value updates, int64_t axis) {
  SmallVector<int64_t> places;
  for (int64_t d = 0; d < typeOf(data).getRank(); ++d)
    places.push_back(d == axis ? -1 : d);
  return scatter(g, kind, data, updates, {indices}, places);
}

Value ir::scatterSlices(GraphBuilder &g, ScatterKind kind, Value data, ArrayRef<Value> indices,
                        ArrayRef<int64_t> indexed, Value updates) {
  Dims dims = dimsOf(updates);
  int64_t shared = typeOf(indices[0]).getRank(), next = shared;
  SmallVector<int64_t> places, added;
  for (int64_t d = 0; d < typeOf(data).getRank(); ++d)
    places.push_back(llvm::is_contained(indexed, d) ? -1 : next++);
  for (int64_t d = shared; d < int64_t(dims.size()); ++d)
    added.push_back(d);
  SmallVector<Value> spread;
  for (Value v : indices)
    spread.push_back(g.broadcastTo(g.unsqueeze(v, added), dims));
  return scatter(g, kind, data, updates, spread, places);
}
