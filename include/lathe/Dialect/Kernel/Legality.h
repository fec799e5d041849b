//===- Legality.h - What every kernel is proven to keep to -----------------===//
//
// The constraints of kernel.generic that speak of memory (see KernelOps.td): K6, each element of a result is written once; K7,
// no access leaves its buffer; K8, what a predicate hides is not used. Fusion asks these questions before it builds a kernel,
// the pass --lathe-verify-accesses asks them of the kernels that were built. Both get a yes with a proof, or a no.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_KERNEL_LEGALITY_H
#define LATHE_DIALECT_KERNEL_LEGALITY_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace lathe::kernel {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lathe/Dialect/Kernel/Passes.h.inc"

/// An axis with its extent.
struct Extent {
  std::string axis;
  shape::Expr size;
};

/// Elements begin, begin + 1, .., begin + size - 1 of a buffer.
struct ElementRange {
  shape::Expr begin, size;
};

/// The block of which `offset` names each element for exactly one point of the axes that it mentions: its coefficients are the
/// strides of these axes in some order. Nothing when that is not proven.
std::optional<ElementRange> blockOf(const shape::Expr &offset, llvm::ArrayRef<Extent> axes, const shape::Facts &facts);

/// One thing that must hold for a condition to be true: the expression is not negative, or, where it is no comparison of
/// expressions, the value is true (`holds`) or false.
struct Conjunct {
  shape::Expr notNegative = shape::Expr::unknown();
  mlir::Value value;
  bool holds = true;
};
/// The block of a store that writes only where the conjuncts hold. Each of them must say of an axis that was split into residues, the last ones of which are
/// shorter, that it is inside: parts * quotient + residue < extent.
std::optional<ElementRange> blockOf(shape::Expr offset, std::vector<Extent> axes, llvm::ArrayRef<Conjunct> given, const shape::Facts &facts);

/// The last place of an index that was brought into range: max(min(i, last), 0).
std::optional<shape::Expr> lastPlaceOf(mlir::Value index);

/// Names for the indices that a body reads at run time: `$0` of one op and `$0` of another are told apart by their values.
class IndirectNames {
public:
  /// An expression of an op with these operands, over names that hold in the whole body. An index that was brought into range,
  /// max(min(i, last), 0), becomes an axis of last + 1 places in `facts`.
  shape::Expr rename(const shape::Expr &e, mlir::ValueRange indices, shape::Facts &facts);

private:
  llvm::DenseMap<mlir::Value, unsigned> numbers; ///< in the order in which they were first met
};

/// Reads the conditions of one body.
class ConditionReader {
public:
  explicit ConditionReader(shape::Facts &facts) : facts(facts) {}
  /// What the truth of a condition says (ands are taken apart); nothing for a null value.
  std::vector<Conjunct> conjunctsOf(mlir::Value condition);
  /// What a condition being false says; nothing for an `and` of several.
  std::vector<Conjunct> conjunctsOfNot(mlir::Value condition);
  /// The offset of a load or store over names that hold in the whole body.
  shape::Expr offsetOf(mlir::Operation *access);

  shape::Facts &facts; ///< of the body; ranges of indices read at run time are added

private:
  std::optional<shape::Expr> indexOf(mlir::Value v);
  std::vector<Conjunct> atom(mlir::Value condition, bool holds);

  IndirectNames names;
};

/// Does one of `given`, or what is known of sizes and axes, imply it?
bool isImplied(const Conjunct &wanted, llvm::ArrayRef<Conjunct> given, const shape::Facts &facts);

/// 0 <= offset < size at every point of the axes where the conjuncts hold.
bool isInside(const shape::Expr &offset, const shape::Expr &size, llvm::ArrayRef<Conjunct> given, const shape::Facts &facts);

/// What is known inside of a kernel: its axes as well.
shape::Facts factsIn(GenericOp kernel, const shape::Facts &facts);
/// offset = first * stride + second, term by term: exact multiples of the stride, and a constant rounded to the nearest.
std::pair<shape::Expr, shape::Expr> splitBy(const shape::Expr &offset, const shape::Expr &stride);
/// K7 of one load or store of a buffer with these dimensions: of its elements, or dimension by dimension.
bool accessStaysInside(mlir::Operation *access, llvm::ArrayRef<shape::Expr> dims, ConditionReader &reader);

/// K6, K7 and K8 of a kernel. Says what was not proven, as an error of the op.
mlir::LogicalResult verifyAccesses(GenericOp kernel, const shape::Facts &facts);

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_LEGALITY_H
