//===- EmitExpr.h - Index expressions as arithmetic ------------------------===//
#ifndef LATHE_LOWER_EMITEXPR_H
#define LATHE_LOWER_EMITEXPR_H

#include "lathe/Shape/Expr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace lathe::lower {

/// The value of a symbol (i64, or a vector of i64 lanes) and how deep in the loop nest it is set: 0 for sizes, growing
/// inwards. Sums and products are built from the shallowest factor to the deepest, so that loop-invariant parts hoist.
struct SymbolValue {
  mlir::Value value;
  unsigned depth = 0;
};
using SymbolLookup = llvm::function_ref<SymbolValue(llvm::StringRef)>;

/// i64 arithmetic for the expression; a vector of i64 when a symbol that it mentions is one. Division rounds towards minus
/// infinity; a divisor of 0 counts as 1 (a hoisted division of an empty domain must not trap). Returns a
/// null value when a symbol has none, or where the expression is unknown.
mlir::Value emitExpr(mlir::OpBuilder &b, mlir::Location loc, const shape::Expr &e, SymbolLookup lookup);

/// True when the expression cannot be negative while its symbols (sizes and axes) are not; an indirect index or an element may be.
bool isNonNegative(const shape::Expr &e);

/// A scalar i64 constant.
mlir::Value constantI64(mlir::OpBuilder &b, mlir::Location loc, int64_t value);

} // namespace lathe::lower

#endif // LATHE_LOWER_EMITEXPR_H
