//===- Stack.cpp - Several tensors brought into one shape -------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// With `rank` dimensions at least, where torch.atleast_1d and the like put them.
static Value withRank(OpContext &c, Value x, int64_t rank) {
  while (typeOf(x).getRank() < rank)
    x = c.g.unsqueeze(x, {rank == 3 && typeOf(x).getRank() == 2 ? 2 : 0});
  return x;
}

template <int64_t rank> static llvm::Error atLeast(OpContext &c) { return c.give(withRank(c, c.tensor("self"), rank)); }

template <int64_t rank> static llvm::Error atLeastEach(OpContext &c) {
  for (Value x : c.tensors("tensors"))
    (void)c.give(withRank(c, x, rank));
  return llvm::Error::success();
}

static llvm::Error join(OpContext &c, SmallVector<Value> parts, int64_t axis) {
  if (parts.empty())
    return c.wrong("there is nothing to stack");
  Dims dims = dimsOf(parts[0]);
  for (Value &v : parts) {
    Dims own = dimsOf(v);
    v = c.g.cast(v, c.resultElement());
    if (own.size() != dims.size())
      return c.wrong("{0} and {1} differ in rank", parts[0].getType(), v.getType());
    for (int64_t i = 0; i < int64_t(dims.size()); ++i)
      if (i != axis && !c.fits(dims[i], own[i]))
        return c.wrong("{0} and {1} differ outside dimension {2}", parts[0].getType(), v.getType(), axis);
    Dims want = dims;
    want[axis] = own[axis];
    v = c.g.reshape(v, want);
  }
  return c.give(joinParts(c, parts, axis));
}

static llvm::Error hstack(OpContext &c) {
  SmallVector<Value> parts = c.tensors("tensors");
  for (Value &v : parts)
    v = withRank(c, v, 1);
  return join(c, parts, parts.empty() || typeOf(parts[0]).getRank() == 1 ? 0 : 1);
}

template <int64_t rank, int64_t axis> static llvm::Error stackAlong(OpContext &c) {
  SmallVector<Value> parts = c.tensors("tensors");
  for (Value &v : parts)
    v = withRank(c, v, rank);
  return join(c, parts, axis);
}

static llvm::Error columnStack(OpContext &c) {
  SmallVector<Value> parts = c.tensors("tensors");
  for (Value &v : parts)
    if (typeOf(v).getRank() < 2)
      v = c.g.unsqueeze(withRank(c, v, 1), {1});
  return join(c, parts, 1);
}

/// Matrices along the diagonal of one.
static llvm::Error blockDiagonal(OpContext &c) {
  SmallVector<Value> parts = c.tensors("tensors"), bands;
  Expr before(0), width(0);
  for (Value &v : parts) {
    v = withRank(c, c.g.cast(v, c.resultElement()), 2);
    if (typeOf(v).getRank() != 2)
      return c.wrong("a block of {0}", v.getType());
    width = width + dimsOf(v)[1];
  }
  Value zero = c.g.scalar(0, c.resultElement());
  for (Value v : parts) {
    Expr after = c.g.facts.simplify(width - before - dimsOf(v)[1]);
    Dims dims{dimsOf(v)[0], c.g.facts.simplify(width)}, low{Expr(0), before}, high{Expr(0), after};
    bands.push_back(c.g.b.create<PadOp>(c.g.loc, tensorType(dims, c.resultElement()), v, zero, exprArray(c.g.b, low), exprArray(c.g.b, high)));
    before = c.g.facts.simplify(before + dimsOf(v)[1]);
  }
  return join(c, bands, 0);
}

static llvm::Error broadcastTensors(OpContext &c) {
  SmallVector<Value> all = c.tensors("tensors");
  if (llvm::Error e = c.broadcast(all))
    return e;
  for (Value v : all)
    (void)c.give(v);
  return llvm::Error::success();
}

/// Each tensor along a dimension of its own; "xy" exchanges the first two.
static llvm::Expected<SmallVector<Value>> grid(OpContext &c, llvm::StringRef indexing) {
  SmallVector<Value> lists = c.tensors("tensors");
  Dims dims;
  for (Value &v : lists) {
    if (typeOf(v).getRank() > 1)
      return c.wrong("a grid of {0}", v.getType());
    v = withRank(c, v, 1);
    dims.push_back(dimsOf(v)[0]);
  }
  if (indexing != "ij" && indexing != "xy")
    return c.wrong("the indexing '{0}'", indexing);
  bool swaps = indexing == "xy" && lists.size() >= 2;
  if (swaps)
    std::swap(dims[0], dims[1]);
  for (auto [i, v] : llvm::enumerate(lists)) {
    Dims along(dims.size(), Expr(1));
    along[swaps && i < 2 ? 1 - i : i] = dimsOf(v)[0];
    v = c.g.broadcastTo(c.g.reshape(v, along), dims);
  }
  return lists;
}

static llvm::Error meshgrid(OpContext &c) {
  LATHE_TRY(parts, grid(c, c.text("indexing")));
  for (Value v : parts)
    (void)c.give(v);
  return llvm::Error::success();
}

static llvm::Error cartesianProduct(OpContext &c) {
  LATHE_TRY(parts, grid(c, "ij"));
  if (parts.size() == 1)
    return c.give(parts[0]);
  SmallVector<Value> columns;
  for (Value v : parts)
    columns.push_back(c.g.reshape(v, {c.g.facts.simplify(shape::product(dimsOf(v))), Expr(1)}));
  return join(c, columns, 1);
}

llvm::ArrayRef<OpEntry> fx::stackOps() {
  static const OpEntry table[] = {
      {"atleast_1d.default", "self:T", atLeast<1>, IsView},
      {"atleast_2d.default", "self:T", atLeast<2>, IsView},
      {"atleast_3d.default", "self:T", atLeast<3>, IsView},
      {"atleast_1d.Sequence", "tensors:T*", atLeastEach<1>, SharesEach},
      {"atleast_2d.Sequence", "tensors:T*", atLeastEach<2>, SharesEach},
      {"atleast_3d.Sequence", "tensors:T*", atLeastEach<3>, SharesEach},
      {"hstack.default", "tensors:T*", hstack},
      {"vstack.default", "tensors:T*", stackAlong<2, 0>},
      {"row_stack.default", "tensors:T*", stackAlong<2, 0>},
      {"dstack.default", "tensors:T*", stackAlong<3, 2>},
      {"column_stack.default", "tensors:T*", columnStack},
      {"block_diag.default", "tensors:T*", blockDiagonal},
      {"broadcast_tensors.default", "tensors:T*", broadcastTensors, SharesEach},
      {"meshgrid.default", "tensors:T* indexing:X=ij", meshgrid, SharesEach},
      {"meshgrid.indexing", "tensors:T* indexing:X", meshgrid, SharesEach},
      {"cartesian_prod.default", "tensors:T*", cartesianProduct},
  };
  return table;
}
