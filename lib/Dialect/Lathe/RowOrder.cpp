//===- RowOrder.cpp - The order of rows -------------------------------------===//

#include "lathe/Dialect/Lathe/RowOrder.h"

using namespace lathe;
using namespace lathe::ir;
using mlir::Type;
using mlir::Value;

/// Numbers of 64 bits, ordered as the elements are and equal where those are, for comparisons on the host.
static Value comparable(GraphBuilder &g, Value x) {
  Type i64 = g.b.getI64Type();
  auto whole = [&](int64_t v) { return g.broadcastTo(g.reshape(g.integers({v}), {}), dimsOf(x)); };
  if (!llvm::isa<mlir::FloatType>(elementOf(x))) {
    bool unordered = elementOf(x).isUnsignedInteger(64);
    return unordered ? g.binary<XorOp>(g.bitcast(x, i64), whole(std::numeric_limits<int64_t>::min())) : g.cast(x, i64);
  }
  Value top = whole(std::numeric_limits<int64_t>::max());
  x = g.binary<AddOp>(g.cast(x, g.b.getF64Type()), 0.0); // -0 is 0
  Value bits = g.bitcast(x, i64);
  Value isNegative = g.compare(CompareKind::LT, bits, g.splatLike(0, bits));
  Value key = g.select(isNegative, g.binary<XorOp>(bits, top), bits);
  return g.select(g.compare(CompareKind::NE, x, x), top, key);
}

Value ir::orderOfRows(GraphBuilder &g, Value rows) {
  Dims dims = dimsOf(rows);
  Type list = tensorType({dims[0]}, g.b.getI64Type());
  llvm::SmallVector<Type> types{list, list}; // the order, and room for making it
  return g.b.create<CallOp>(g.loc, types, "order_rows", mlir::ValueRange{comparable(g, rows)}, exprArray(g.b, dims)).getResult(0);
}

Value ir::startsOfRows(GraphBuilder &g, Value rows) {
  Dims list{dimsOf(rows)[0]};
  Value place = g.iota(list, 0, g.b.getI64Type()), zero = g.splatLike(0, place);
  Value previous = g.gather(rows, g.binary<MaxOp>(g.binary<SubOp>(place, 1.0), zero), 0);
  Value differs = g.compare(CompareKind::NE, rows, previous);
  return g.binary<OrOp>(g.reduce(ReduceKind::Or, differs, {1}, false), g.compare(CompareKind::EQ, place, zero));
}
