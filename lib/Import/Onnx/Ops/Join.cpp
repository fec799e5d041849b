//===- Join.cpp - Tensors one behind the other, or along a new dimension ---===//

#include "GraphImporter.h"
#include "Narrow.h"
#include "Sequences.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

/// Of more parts than these whose sizes are known only when the model runs, a kernel would look for each element's part among many
/// sums of sizes.
static constexpr size_t kMaxLateParts = 16;

static bool hasManyLateParts(Node &n, llvm::ArrayRef<Value> values, int64_t axis) {
  SizeModel &sizes = n.importer.session().sizes;
  return !ir::isNarrow(n.element(values[0])) &&
         size_t(llvm::count_if(values, [&](Value v) { return sizes.isLate(n.simplify(n.dim(v, axis))); })) > kMaxLateParts;
}

/// The values, equal but for a dimension, joined by the host.
static Value joined(Node &n, llvm::ArrayRef<Value> values, int64_t axis) {
  SizeModel &sizes = n.importer.session().sizes;
  Dims dims = n.dims(values[0]);
  Expr whole(0), outer = n.simplify(shape::product(llvm::ArrayRef<Expr>(dims).take_front(axis)));
  Expr inner = shape::product(llvm::ArrayRef<Expr>(dims).drop_front(axis + 1));
  unsigned width = n.element(values[0]).getIntOrFloatBitWidth();
  Dims counts{Expr(int64_t(values.size())), outer, Expr(width == 1 ? 1 : int64_t(width / 8))};
  for (Value v : values) {
    whole = n.simplify(whole + n.dim(v, axis));
    counts.push_back(n.simplify(n.dim(v, axis) * inner));
  }
  dims[axis] = sizes.defineOnce(llvm::cast<mlir::NameLoc>(n.g.loc).getName().str() + ".joined", whole);
  counts.push_back(n.simplify(dims[axis] * inner));
  return n.g.b
      .create<ir::CallOp>(n.g.loc, ir::tensorType(dims, n.element(values[0])), "join", mlir::ValueRange(values), ir::exprArray(n.g.b, counts))
      .getResult(0);
}

Value concatenated(Node &n, SmallVector<Value> values, int64_t axis) {
  n.requireSameElement(values);
  int64_t rank = n.rank(values[0]);
  Dims common = n.dims(values[0]);
  for (Value &v : values) {
    n.requireRank(v, rank);
    Dims dims = n.dims(v);
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis) {
        n.requireEqual(common[d], dims[d], llvm::formatv("dimension {0} of the joined {1} and {2}", d,
                                                         describe(values[0].getType()), describe(v.getType())).str());
        dims[d] = common[d];
      }
    v = n.reshape(v, dims);
  }
  return hasManyLateParts(n, values, axis) ? joined(n, values, axis) : n.g.concat(values, axis);
}

Value stacked(Node &n, SmallVector<Value> values, int64_t axis) {
  for (Value &v : values) {
    Dims dims = n.dims(v);
    dims.insert(dims.begin() + axis, Expr(1));
    v = n.reshape(v, dims);
  }
  return concatenated(n, values, axis);
}

} // namespace lathe::onnx
