//===- Index.cpp - Reads at computed positions ------------------------------===//

#include "Data.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value asIndex(OpContext &c, Value v) { return c.g.cast(v, c.g.b.getI64Type()); }

static llvm::Error take(OpContext &c, Value x, Value indices, int64_t axis) {
  if (!isIndex(indices))
    return c.wrong("the indices are {0}, not integers", indices.getType());
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  return c.give(c.g.gather(x, indices, axis));
}

static llvm::Error indexSelect(OpContext &c) {
  Value x = c.tensor("self"), indices = c.tensor("index");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() > 0)
    return take(c, x, atLeastOneDim(c, indices), axis);
  if (!c.g.facts.provablyEqual(shape::product(dimsOf(indices)), Expr(1)))
    return c.wrong("{0} positions in an input of rank 0", shape::product(dimsOf(indices)).str());
  return take(c, atLeastOneDim(c, x), c.g.reshape(indices, {}), 0);
}

static llvm::Error embedding(OpContext &c) { return take(c, c.tensor("weight"), c.tensor("indices"), 0); }

//===----------------------------------------------------------------------===//
// Advanced indexing
//===----------------------------------------------------------------------===//

/// The dimension along which v counts 0, 1, 2, ... when it is such a count of n, size 1 elsewhere.
static std::optional<int64_t> countsAlong(OpContext &c, Value v, const Expr &n) {
  std::optional<int64_t> along;
  Dims dims = dimsOf(v);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].isOne())
      continue;
    if (along || !c.g.facts.provablyEqual(dims[i], n))
      return std::nullopt;
    along = i;
  }
  while (auto reshape = v.getDefiningOp<ReshapeOp>())
    v = reshape.getX();
  auto iota = v.getDefiningOp<IotaOp>();
  if (!iota || !along || typeOf(v).getRank() != 1)
    return std::nullopt;
  return along;
}

/// x[arange(n)[:, None], arange(m)[None, :]] only permutes and inserts dimensions: torch's attention masks are written so.
/// x has the indexed dimensions first; the result has `shared` in their place. Null when the indices are something else.
static Value viewOfCounts(OpContext &c, Value x, llvm::ArrayRef<Value> indices, size_t sharedRank) {
  SmallVector<int64_t> perm;
  SmallVector<std::pair<int64_t, int64_t>> order; // place in the shared dimensions, dimension of x
  for (size_t k = 0; k < indices.size(); ++k) {
    auto along = countsAlong(c, indices[k], dimsOf(x)[k]);
    if (!along)
      return {};
    order.push_back({*along + int64_t(sharedRank) - typeOf(indices[k]).getRank(), k});
  }
  llvm::sort(order);
  for (size_t k = 1; k < order.size(); ++k)
    if (order[k].first == order[k - 1].first)
      return {};
  Dims from = dimsOf(x), dims(sharedRank, Expr(1));
  for (auto [place, k] : order) {
    perm.push_back(k);
    dims[place] = from[k];
  }
  for (size_t i = indices.size(); i < from.size(); ++i) {
    perm.push_back(i);
    dims.push_back(from[i]);
  }
  return c.g.reshape(c.g.transpose(x, perm), dims);
}

/// Several index tensors over the first dimensions of x: their common shape, then x's other dimensions.
static llvm::Expected<Value> takeMany(OpContext &c, Value x, SmallVector<Value> indices) {
  size_t sharedRank = 0;
  for (Value v : indices)
    sharedRank = std::max<size_t>(sharedRank, typeOf(v).getRank());
  if (Value view = viewOfCounts(c, x, indices, sharedRank))
    return view;
  for (Value &v : indices)
    v = asIndex(c, v);
  if (llvm::Error e = c.broadcast(indices))
    return e;
  Dims from = dimsOf(x), shared = dimsOf(indices[0]), dims = shared;
  for (Value &v : indices)
    v = c.g.unsqueeze(v, {int64_t(shared.size())});
  Value coordinates = c.g.concat(indices, shared.size());
  dims.append(from.begin() + indices.size(), from.end());
  mlir::OpBuilder &b = c.g.b;
  return Value(b.create<GatherNdOp>(c.g.loc, tensorType(dims, elementOf(x)), x, coordinates, b.getI64IntegerAttr(0)));
}

/// How many elements a mask picks: the size of the result that no node has computed yet, or else, as of a mask that has been used before
/// or of a number that torch has found to be another size, the one where the indices' dimension is: at the first of them, or in front
/// where others are between them.
static std::optional<Expr> countOfPicked(OpContext &c, llvm::ArrayRef<Value> given) {
  Dims dims = c.resultDims();
  auto isUnbound = [&](const Expr &e) {
    auto symbol = e.asSymbol();
    return symbol && c.late->isLate(*symbol) && !c.late->bound.count(*symbol);
  };
  if (auto it = llvm::find_if(dims, isUnbound); it != dims.end())
    return *it;
  auto isGiven = [](Value v) { return bool(v); };
  size_t first = llvm::find_if(given, isGiven) - given.begin(), last = given.size();
  while (last > first && !given[last - 1])
    --last;
  bool between = !llvm::all_of(given.slice(first, last - first), isGiven);
  size_t place = between ? 0 : first;
  return place < dims.size() ? std::optional(dims[place]) : std::nullopt;
}

/// Whether one mask is all that picks, and of every dimension of x.
static bool isMaskOfAll(llvm::ArrayRef<Value> given, Value x) {
  return !given.empty() && given[0] && !isIndex(given[0]) && elementOf(given[0]).isInteger(1) && typeOf(x).getRank() > 0 &&
         typeOf(given[0]).getRank() == typeOf(x).getRank() && llvm::none_of(given.drop_front(), [](Value v) { return bool(v); });
}

static llvm::Error pickByMask(OpContext &c, Value x, Value mask) {
  std::optional<Expr> count = countOfPicked(c, mask);
  if (!count)
    return c.cannot("an index of {0}: the file has no symbol for how many it picks", mask.getType());
  for (auto [size, wanted] : llvm::zip(dimsOf(mask), dimsOf(x)))
    if (llvm::Error e = c.needEqual(size, wanted))
      return e;
  LATHE_TRY(taken, elementsOfTrue(c, x, mask, *count));
  return c.give(taken);
}

/// A mask stands for the coordinates of its true elements, one list for each of its dimensions.
static llvm::Expected<SmallVector<Value>> withoutMasks(OpContext &c, llvm::ArrayRef<Value> given) {
  SmallVector<Value> result;
  for (Value v : given) {
    if (!v || isIndex(v)) {
      result.push_back(v);
      continue;
    }
    std::optional<Expr> count = countOfPicked(c, given);
    if (!count || !elementOf(v).isInteger(1) || typeOf(v).getRank() == 0)
      return c.cannot("an index of {0}: the file has no symbol for how many it picks", v.getType());
    if (int64_t(result.size()) + typeOf(v).getRank() > typeOf(c.tensor("self")).getRank())
      return c.wrong("a mask of rank {0} behind {1} other indices, for rank {2}", typeOf(v).getRank(), result.size(), typeOf(c.tensor("self")).getRank());
    for (int64_t d = 0; d < typeOf(v).getRank(); ++d)
      if (llvm::Error e = c.needEqual(dimsOf(v)[d], dimsOf(c.tensor("self"))[result.size() + d]))
        return std::move(e);
    LATHE_TRY(columns, coordinatesOfTrue(c, v, *count));
    result.append(columns);
  }
  return result;
}

static llvm::Error index(OpContext &c) {
  Value x = c.tensor("self");
  SmallVector<Value> given = c.tensors("indices"), indices;
  SmallVector<int64_t> indexed, others;
  int64_t rank = typeOf(x).getRank();
  if (int64_t(given.size()) > rank)
    return c.wrong("{0} indices for rank {1}", given.size(), rank);
  if (isMaskOfAll(given, x))
    return pickByMask(c, x, given[0]);
  LATHE_TRY(positions, withoutMasks(c, given));
  given = positions;
  if (int64_t(given.size()) > rank)
    return c.wrong("{0} indices for rank {1}", given.size(), rank);
  for (int64_t i = 0; i < rank; ++i) {
    Value v = i < int64_t(given.size()) ? given[i] : Value();
    if (v && !isIndex(v))
      return c.wrong("index {0} is {1}", i, v.getType());
    (v ? indexed : others).push_back(i);
    if (v)
      indices.push_back(v);
  }
  if (indices.empty())
    return c.give(x);
  if (indices.size() == 1)
    return take(c, x, indices[0], indexed[0]);
  SmallVector<int64_t> perm = indexed;
  perm.append(others);
  LATHE_TRY(result, takeMany(c, c.g.transpose(x, perm), indices));
  // Neighbouring indices leave their dimensions in place; separated ones put them first.
  bool neighbours = indexed.back() - indexed.front() + 1 == int64_t(indexed.size());
  int64_t before = neighbours ? indexed.front() : 0, shared = typeOf(result).getRank() - int64_t(others.size());
  SmallVector<int64_t> back;
  for (int64_t i = 0; i < before; ++i)
    back.push_back(shared + i);
  for (int64_t i = 0; i < shared; ++i)
    back.push_back(i);
  for (int64_t i = shared + before; i < typeOf(result).getRank(); ++i)
    back.push_back(i);
  return c.give(c.g.transpose(result, back));
}

/// Where the mask is false the indices may be any, and the result is a value.
static llvm::Error maskedIndex(OpContext &c) {
  Value mask = c.tensor("mask"), x = c.tensor("self");
  if (c.g.facts.provablyEqual(shape::product(dimsOf(x)), Expr(0)))
    return c.give(c.g.broadcastTo(c.scalarOf(c.number("fill"), elementOf(x)), c.resultDims()));
  if (llvm::Error e = index(c))
    return e;
  Value taken = c.results.pop_back_val();
  LATHE_TRY(kept, c.broadcastTo(c.g.cast(mask, c.g.b.getI1Type()), dimsOf(taken)));
  Value fill = c.g.broadcastTo(c.scalarOf(c.number("fill"), elementOf(x)), dimsOf(taken));
  return c.give(c.g.select(kept, taken, fill));
}

/// result[i, j, k] = x[i, index[i, j, k], k] for dim 1.
static llvm::Error gather(OpContext &c) {
  Value x = c.tensor("self"), indices = c.tensor("index");
  LATHE_TRY(axis, c.axis("dim", x));
  Dims wanted = dimsOf(indices);
  if (shape::product(wanted).isZero()) // of any rank and type
    return c.give(c.g.broadcastTo(c.scalarOf({Number::Kind::Int, Expr(0), 0}, elementOf(x)), wanted));
  x = atLeastOneDim(c, x);
  indices = atLeastOneDim(c, indices);
  int64_t rank = typeOf(x).getRank();
  if (typeOf(indices).getRank() != rank || !isIndex(indices))
    return c.wrong("an index of {0} into {1}", indices.getType(), x.getType());
  Dims dims = dimsOf(indices);
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis && !c.g.facts.provablyLessEqual(dims[i], dimsOf(x)[i]))
      return c.wrong("the index is larger than the input in dimension {0}", i);
  SmallVector<Value> coordinates;
  for (int64_t i = 0; i < rank; ++i) {
    Value at = i == axis ? asIndex(c, indices) : c.g.iota(dims, i, c.g.b.getI64Type());
    coordinates.push_back(c.g.unsqueeze(at, {rank}));
  }
  mlir::OpBuilder &b = c.g.b;
  Value read = b.create<GatherNdOp>(c.g.loc, tensorType(dims, elementOf(x)), x, c.g.concat(coordinates, rank),
                                    b.getI64IntegerAttr(0));
  return c.give(c.g.reshape(read, wanted));
}

llvm::ArrayRef<OpEntry> fx::indexOps() {
  static const OpEntry table[] = {
      {"embedding.default", "weight:T indices:T padding_idx:I=-1 scale_grad_by_freq:B=false sparse:B=false", embedding},
      {"index_select.default", "self:T dim:I index:T", indexSelect},
      {"index.Tensor", "self:T indices:T*?", index},
      {"_unsafe_index.Tensor", "self:T indices:T*?", index},
      {"_unsafe_masked_index.default", "self:T mask:T indices:T*? fill:S", maskedIndex},
      {"gather.default", "self:T dim:I index:T sparse_grad:B=false", gather},
  };
  return table;
}
