//===- Positions.cpp - Where a mask is true ---------------------------------===//

#include "lathe/Dialect/Lathe/Positions.h"

using namespace lathe;
using namespace lathe::ir;
using mlir::Value;
using shape::Expr;

Value ir::positionsOfTrue(GraphBuilder &g, Value mask, const Expr &count, const Expr &size, bool onHost) {
  if (!onHost)
    return g.compact(g.iota(dimsOf(mask), 0, g.b.getI64Type()), mask, size);
  mlir::Type type = tensorType({size}, g.b.getI64Type());
  return g.b.create<CallOp>(g.loc, type, "compact", mlir::ValueRange{mask}, exprArray(g.b, {dimsOf(mask)[0], count})).getResult(0);
}

Value ir::elementsWhereTrue(GraphBuilder &g, Value x, Value mask, const Expr &count, const Expr &size, bool onHost) {
  return onHost ? g.gather(x, positionsOfTrue(g, mask, count, size, onHost), 0) : g.compact(x, mask, size);
}

/// Along each dimension, of positions in row-major order.
static Value separated(GraphBuilder &g, Value positions, llvm::ArrayRef<Expr> dims) {
  Dims list = dimsOf(positions);
  auto whole = [&](const Expr &size) { return g.broadcastTo(g.size(size), list); };
  llvm::SmallVector<Value> rows;
  Value left = positions;
  for (size_t d = dims.size(); d-- > 1;) {
    Value size = whole(dims[d]), above = g.div(left, size);
    rows.push_back(g.unsqueeze(g.sub(left, g.mul(above, size)), {0}));
    left = above;
  }
  rows.push_back(g.unsqueeze(left, {0}));
  std::reverse(rows.begin(), rows.end());
  return g.concat(rows, 0);
}

Value ir::coordinatesOfTrue(GraphBuilder &g, Value mask, const Expr &count, const Expr &size, bool onHost) {
  Dims dims = dimsOf(mask);
  Expr rank(int64_t(dims.size()));
  if (!onHost) {
    Value positions = positionsOfTrue(g, g.reshape(mask, {g.facts.simplify(shape::product(dims))}), count, size, onHost);
    return dims.size() == 1 ? g.reshape(positions, {rank, size}) : separated(g, positions, dims);
  }
  Dims sizes{rank, count};
  sizes.append(dims.begin(), dims.end());
  return g.b.create<CallOp>(g.loc, tensorType({rank, size}, g.b.getI64Type()), "coordinates", mlir::ValueRange{mask}, exprArray(g.b, sizes)).getResult(0);
}
