//===- Lathe.h - The model-level dialect -----------------------------------===//
#ifndef LATHE_DIALECT_LATHE_LATHE_H
#define LATHE_DIALECT_LATHE_LATHE_H

#include "lathe/Shape/Expr.h"
#include "lathe/Shape/Facts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace lathe::ir {
/// The scalar form of an elementwise op (see ElementwiseInterface::buildScalar) as free function.
mlir::Value buildScalar(mlir::Operation *op, mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange scalars);
} // namespace lathe::ir

#include "lathe/Dialect/Lathe/LatheEnums.h.inc"

#include "lathe/Dialect/Lathe/LatheDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "lathe/Dialect/Lathe/LatheAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "lathe/Dialect/Lathe/LatheTypes.h.inc"

#include "lathe/Dialect/Lathe/LatheInterfaces.h.inc"

#define GET_OP_CLASSES
#include "lathe/Dialect/Lathe/LatheOps.h.inc"

namespace lathe::ir {

using Dims = llvm::SmallVector<shape::Expr>;

/// The size expressions of a tensor type, static dimensions as constants.
Dims dimsOf(mlir::Type tensor);
inline Dims dimsOf(mlir::Value v) { return dimsOf(v.getType()); }
/// The tensor type of these sizes: static where all are constants, else with the encoding.
mlir::RankedTensorType tensorType(llvm::ArrayRef<shape::Expr> dims, mlir::Type element);
inline mlir::RankedTensorType typeOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()); }
inline mlir::Type elementOf(mlir::Value v) { return typeOf(v).getElementType(); }

/// Inside kernels and score regions integers are signless: ui8 -> i8, index -> i64.
mlir::Type signless(mlir::Type element);

/// Size expressions as attribute text and back.
mlir::ArrayAttr exprArray(mlir::Builder &b, llvm::ArrayRef<shape::Expr> exprs);
Dims exprsOf(mlir::ArrayAttr texts);

/// The value of a small integer tensor as size expressions, element by element in row-major order, when it follows from
/// constants and sizes alone (through arithmetic, casts, slices, concats, gathers, reshapes, selects on known conditions...).
/// Shape operands of a model (Reshape's shape, Slice's starts, ...) are read with this.
std::optional<Dims> symbolicValue(mlir::Value v);
/// The same, with what is known of the sizes; what cannot be followed is asked of `leaf`, which may name its elements.
std::optional<Dims> symbolicValue(mlir::Value v, const shape::Facts &facts,
                                  llvm::function_ref<std::optional<Dims>(mlir::Value)> leaf);

/// An op of the host program: no kernel, but a step between kernels (a read, a branch, a loop).
bool isHostOp(mlir::Operation *op);
/// The size symbols that have values behind a host op.
llvm::SmallVector<llvm::StringRef> definedSymbols(mlir::Operation *op);
/// On a symbol that a target has made: its value is what launches of kernels are given, and no size of the model's.
inline constexpr llvm::StringRef launchSizeAttr = "lathe.launch_size";
/// The size symbols that a loop's body knows.
llvm::SmallVector<llvm::StringRef> bodySymbols(LoopOp op);
/// The module's symbols that are known only while it runs.
std::set<std::string> lateSymbols(mlir::ModuleOp module);
/// The symbols that the op's types and attributes mention, and those of the functions that it runs.
void collectSymbols(mlir::Operation *op, std::set<std::string> &symbols);

/// What the module's symbol and relation ops say of every run from its start: no relation between sizes that are known only while
/// it runs, and none that only a branch or a loop's body needs.
shape::Facts factsOf(mlir::ModuleOp module);
/// Everything that holds when an op of the function runs, whenever it was checked: for proofs, not to write one size for another,
/// which may have its value later.
shape::Facts factsWhileRunning(mlir::ModuleOp module, llvm::StringRef function);

/// The identity element of a reduction, for the element type.
mlir::TypedAttr reduceIdentity(ReduceKind kind, mlir::Type element);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_LATHE_H
