//===- TiledWords.cpp - Packed rows of integer products, tile by tile ------===//

#include "TiledWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe::cpu;

/// Bytes 0 and 2 of a word.
constexpr int32_t evenBytes = 0x00ff00ff;

static Value constantLike(VectorBuilder &v, Value like, int32_t bits) {
  TypedAttr number = v.b.getI32IntegerAttr(bits);
  auto type = dyn_cast<VectorType>(like.getType());
  return v.b.create<arith::ConstantOp>(v.loc, type ? TypedAttr(DenseElementsAttr::get(type, Attribute(number))) : number);
}

lathe::shape::Expr TiledWords::size(const shape::Expr &wordsOfRow, int64_t rows) const {
  return wordsOfRow * shape::Expr(rows * parts()) + shape::Expr((rows / groups.tileRows() + 2) * int64_t(v.lanes * parts()));
}

void TiledWords::eachTile(Value count, function_ref<void(const Part &)> body) const {
  groups.each(v, count, [&](const Part &group) {
    groups.eachTile(v, group, [&](const Part &tile) { body({tile.number, v.add(group.first, tile.first), tile.count}); });
  });
}

void TiledWords::eachVector(const Part &tile, function_ref<void(Value)> body) const {
  if (groups.tileRows() <= v.lanes)
    return body(v.i(0));
  Value last = v.sub(v.ceilDiv(tile.count, v.lanes), 1);
  v.loop(v.i(0), v.add(last, 1), 1, [&](Value vector) { body(v.mul(v.sub(last, vector), v.lanes)); });
}

Value TiledWords::partAt(const Part &tile, Value number, unsigned part, Value row) const {
  Value at = v.add(v.mul(number, tile.count), row);
  return word(tileAt(tile.number, tile.first), v.add(at, partStart(v, words, tile.count, part)));
}

void TiledWords::store(Value value, const Part &tile, Value number, Value row) const {
  auto put = [&](Value words, unsigned part) { v.b.create<LLVM::StoreOp>(v.loc, words, partAt(tile, number, part, row), 4); };
  if (!split)
    return put(value, 0);
  Value mask = constantLike(v, value, evenBytes), odd = v.b.create<arith::ShRUIOp>(v.loc, value, constantLike(v, value, 8));
  put(v.b.create<arith::AndIOp>(v.loc, value, mask), 0);
  put(v.b.create<arith::AndIOp>(v.loc, odd, mask), 1);
}

Value TiledWords::load(const Part &tile, Value number, Value row) const {
  auto get = [&](unsigned part) { return v.b.create<LLVM::LoadOp>(v.loc, v.intVec, partAt(tile, number, part, row), 4).getResult(); };
  if (!split)
    return get(0);
  return v.b.create<arith::OrIOp>(v.loc, get(0), v.b.create<arith::ShLIOp>(v.loc, get(1), v.intSplat(8)));
}
