//===- Diagonal.cpp - Diagonals of matrices ---------------------------------===//
//
// A diagonal of [.., n, m] is every (m + 1)-th of the n*m elements.
//
//===----------------------------------------------------------------------===//

#include "../Views.h"
#include "Families.h"
#include "lathe/Dialect/Lathe/Scatter.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
/// Matrices in the last two dimensions, seen as one.
struct Planes {
  SmallVector<int64_t> perm; ///< brings them there
  Dims lead;
  Expr rows, columns, start, length;
};
} // namespace

static llvm::Expected<Planes> planesOf(OpContext &c, Value x, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t rank = typeOf(x).getRank();
  LATHE_TRY(a, c.axisOf(dim1, rank));
  LATHE_TRY(b, c.axisOf(dim2, rank));
  if (rank < 2 || a == b)
    return c.wrong("a diagonal of the dimensions {0} and {1} of {2}", a, b, x.getType());
  Planes p;
  for (int64_t d = 0; d < rank; ++d)
    if (d != a && d != b) {
      p.perm.push_back(d);
      p.lead.push_back(dimsOf(x)[d]);
    }
  p.perm.append({a, b});
  p.rows = dimsOf(x)[a];
  p.columns = dimsOf(x)[b];
  Expr down = offset < 0 ? p.rows + Expr(offset) : p.rows, across = offset > 0 ? p.columns - Expr(offset) : p.columns;
  p.length = c.g.facts.simplify(Expr::max(Expr(0), Expr::min(down, across)));
  p.start = c.g.facts.simplify(offset < 0 ? Expr(-offset) * p.columns : Expr(offset));
  if (p.length.isZero())
    p.start = Expr(0);
  return p;
}

/// The places of the diagonal in the n*m elements.
static Value placesOf(OpContext &c, const Planes &p) {
  Value i = c.g.iota({p.length}, 0, c.g.b.getI64Type());
  Value step = c.g.broadcastTo(c.g.size(c.g.facts.simplify(p.columns + Expr(1))), {p.length});
  return c.g.add(c.g.mul(i, step), c.g.broadcastTo(c.g.size(p.start), {p.length}));
}

static Value flatPlanes(OpContext &c, Value x, const Planes &p) {
  Dims flat = p.lead;
  flat.push_back(c.g.facts.simplify(p.rows * p.columns));
  return c.g.reshape(c.g.transpose(x, p.perm), flat);
}

static llvm::Expected<Value> takeDiagonal(OpContext &c, Value x, int64_t offset, int64_t dim1, int64_t dim2) {
  LATHE_TRY(p, planesOf(c, x, offset, dim1, dim2));
  Value flat = flatPlanes(c, x, p);
  int64_t last = p.lead.size();
  if (auto columns = p.columns.constant(); columns && *columns < INT32_MAX)
    return c.g.slice(flat, last, p.start, p.length, *columns + 1);
  return c.g.gather(flat, placesOf(c, p), last);
}

static llvm::Error diagonal(OpContext &c) {
  LATHE_TRY(r, takeDiagonal(c, c.tensor(c.has("A") ? "A" : "self"), c.integer("offset"), c.integer("dim1"), c.integer("dim2")));
  return c.give(r);
}

/// Of equal sizes where there are more than two. `wrap`: tall matrices have the diagonal again, below a row without.
static llvm::Error fillDiagonal(OpContext &c) {
  Value x = c.tensor("self");
  Dims dims = dimsOf(x);
  if (dims.size() < 2)
    return c.wrong("a diagonal of {0}", x.getType());
  if (dims.size() > 2)
    for (const Expr &size : dims)
      if (llvm::Error e = c.needEqual(size, dims[0]))
        return e;
  Type i64 = c.g.b.getI64Type();
  Value row = c.g.iota(dims, 0, i64), on;
  if (c.flag("wrap") && dims.size() == 2)
    row = c.g.binary<RemOp>(row, c.g.broadcastTo(c.g.size(c.g.facts.simplify(dims[1] + Expr(1))), dims));
  for (size_t d = 1; d < dims.size(); ++d) {
    Value equal = c.g.compare(CompareKind::EQ, row, c.g.iota(dims, d, i64));
    on = on ? c.g.binary<AndOp>(on, equal) : equal;
  }
  return c.give(c.g.select(on, c.g.broadcastTo(c.scalarOf(c.number("fill_value"), elementOf(x)), dims), x));
}

static llvm::Error diagonalScatter(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(p, planesOf(c, x, c.integer("offset"), c.integer("dim1"), c.integer("dim2")));
  Dims dims = p.lead, planes = p.lead;
  dims.push_back(p.length);
  planes.append({p.rows, p.columns});
  LATHE_TRY(source, c.broadcastTo(c.g.cast(c.tensor("src"), elementOf(x)), dims));
  Dims along(dims.size(), Expr(1));
  along.back() = p.length;
  Value at = c.g.broadcastTo(c.g.reshape(placesOf(c, p), along), dims);
  Value r = scatterAlong(c.g, ScatterKind::Set, flatPlanes(c, x, p), at, source, p.lead.size());
  SmallVector<int64_t> back(p.perm.size());
  for (auto [i, d] : llvm::enumerate(p.perm))
    back[d] = i;
  return c.give(c.g.transpose(c.g.reshape(r, planes), back));
}

/// A matrix of zeros but for a diagonal.
static llvm::Expected<Value> embed(OpContext &c, Value x, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t rank = typeOf(x).getRank() + 1;
  LATHE_TRY(a, c.axisOf(dim1, rank));
  LATHE_TRY(b, c.axisOf(dim2, rank));
  if (rank < 2 || a == b || offset > INT32_MAX || offset < -INT32_MAX)
    return c.wrong("a diagonal of {0} in the dimensions {1} and {2}", x.getType(), a, b);
  int64_t shift = offset < 0 ? -offset : offset;
  Dims lines = dimsOf(x), low(lines.size(), Expr(0)), high = low;
  (offset < 0 ? low : high).back() = Expr(shift); // an element for each row
  lines.back() = c.g.facts.simplify(lines.back() + Expr(shift));
  Type element = elementOf(x);
  mlir::OpBuilder &build = c.g.b;
  if (shift)
    x = build.create<PadOp>(c.g.loc, tensorType(lines, element), x, c.g.scalar(0, element), exprArray(build, low), exprArray(build, high));
  Dims square = lines;
  square.push_back(lines.back());
  Type index = build.getI64Type();
  Value column = c.g.iota(square, rank - 1, index), row = c.g.iota(square, rank - 2, index);
  Value on = c.g.compare(CompareKind::EQ, c.g.binary<SubOp>(column, double(offset)), row);
  Value r = c.g.select(on, c.g.broadcastTo(c.g.unsqueeze(x, {rank - 1}), square), c.g.splat(0, square, element));
  SmallVector<int64_t> perm;
  for (int64_t d = 0, next = 0; d < rank; ++d)
    perm.push_back(d == a ? rank - 2 : d == b ? rank - 1 : next++);
  return c.g.transpose(r, perm);
}

static llvm::Error diagEmbed(OpContext &c) {
  LATHE_TRY(r, embed(c, c.tensor("self"), c.integer("offset"), c.integer("dim1"), c.integer("dim2")));
  return c.give(r);
}

static llvm::Error embedFlat(OpContext &c, int64_t offset) {
  Value x = c.tensor("self");
  LATHE_TRY(r, embed(c, flattened(c, x), offset, 0, 1));
  return c.give(r);
}

static llvm::Error diagFlat(OpContext &c) { return embedFlat(c, c.integer("offset")); }

static llvm::Error diag(OpContext &c) {
  Value x = c.tensor("self");
  if (typeOf(x).getRank() == 1)
    return embedFlat(c, c.integer("diagonal"));
  LATHE_TRY(r, takeDiagonal(c, x, c.integer("diagonal"), 0, 1));
  return c.give(r);
}

static llvm::Error trace(OpContext &c) {
  LATHE_TRY(r, takeDiagonal(c, c.tensor("self"), 0, 0, 1));
  return c.give(c.g.reduce(ReduceKind::Sum, c.g.cast(r, c.resultElement()), {0}, false));
}

/// Rows and columns of the places on one side of a diagonal, in their order.
template <bool lower> static llvm::Error triangleIndices(OpContext &c) {
  int64_t rows = c.integer("row"), columns = c.integer("col"), offset = c.integer("offset");
  constexpr int64_t most = 1 << 22;
  if (rows < 0 || columns < 0 || rows > most || columns > most || rows * columns > most)
    return c.cannot("{0} x {1} places", rows, columns);
  SmallVector<int64_t> at[2];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (lower ? j - i <= offset : j - i >= offset) {
        at[0].push_back(i);
        at[1].push_back(j);
      }
  Value both[2];
  for (int i = 0; i < 2; ++i)
    both[i] = c.g.unsqueeze(c.g.cast(c.g.integers(at[i]), c.resultElement()), {0});
  return c.give(c.g.concat(both, 0));
}

llvm::ArrayRef<OpEntry> fx::diagonalOps() {
  static const char *const of = "self:T offset:I=0 dim1:I=0 dim2:I=1";
  static const char *const triangle = "row:I col:I offset:I=0 dtype:D?";
  static const OpEntry table[] = {
      {"diagonal.default", of, diagonal, IsView},
      {"linalg_diagonal.default", "A:T offset:I=0 dim1:I=-2 dim2:I=-1", diagonal, IsView},
      {"fill_diagonal.default", "self:T fill_value:Z wrap:B=false", fillDiagonal},
      {"diagonal_scatter.default", "self:T src:T offset:I=0 dim1:I=0 dim2:I=1", diagonalScatter},
      {"diag_embed.default", "self:T offset:I=0 dim1:I=-2 dim2:I=-1", diagEmbed},
      {"diagflat.default", "self:T offset:I=0", diagFlat},
      {"diag.default", "self:T diagonal:I=0", diag},
      {"trace.default", "self:T", trace},
      {"tril_indices.default", triangle, triangleIndices<true>},
      {"triu_indices.default", triangle, triangleIndices<false>},
  };
  return table;
}
