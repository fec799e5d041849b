//===- Inverse.cpp - ONNX Runtime's inverses of matrices -------------------===//

#include "Node.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

/// By the machine's LAPACK, which takes columns: the inverse of the transpose is the transpose of the inverse.
void inverse(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  Dims d = n.dims(x), outer(d.begin(), d.end() - 2);
  n.requireEqual(d.back(), d[d.size() - 2], "rows and columns");
  Type f64 = n.g.b.getF64Type(), i32 = n.g.b.getI32Type(), i64 = n.g.b.getI64Type();
  Expr count = n.simplify(shape::product(outer)), size = n.simplify(d.back());
  Dims all{count, size, size};
  Value one = n.g.cast(n.g.compare(ir::CompareKind::EQ, n.g.iota(all, 1, i64), n.g.iota(all, 2, i64)), f64);
  Type square = ir::tensorType(all, f64);
  SmallVector<Type> types{square, square, ir::tensorType({count, size}, i32), ir::tensorType({count}, i32)};
  Value columns = n.reshape(n.g.cast(x, f64), all);
  auto call = n.g.b.create<ir::CallOp>(n.g.loc, types, "lapack_solve", mlir::ValueRange{columns, one},
                                       ir::exprArray(n.g.b, {count, size, size, Expr(1)}));
  n.out(n.reshape(n.g.cast(call.getResult(0), n.element(x)), d));
}

} // namespace lathe::onnx
