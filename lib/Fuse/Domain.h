//===- Domain.h - Iteration domains and indices through views --------------===//
//
// A domain is an ordered set of axes with symbolic extents. Values of a fusion group are addressed by index expressions over
// its axes, one per dimension; views turn indices of their result into indices of their operand (backward) or, where that is
// possible, the other way round (forward). A reshape that divides a dimension splits the axis behind it, so that no division
// is left in the indices.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_FUSE_DOMAIN_H
#define LATHE_LIB_FUSE_DOMAIN_H

#include "lathe/Dialect/Lathe/Lathe.h"
#include "llvm/ADT/MapVector.h"

namespace lathe::fuse {

using ir::Dims;

struct Axis {
  std::string name;
  shape::Expr extent;
};

/// Axes, what is known of them, and the indices at which values are used. Copied for a trial, assigned back on success.
class Domain {
public:
  explicit Domain(const shape::Facts &facts) : facts(facts.clone()) {}
  Domain(const Domain &o) : axes(o.axes), known(o.known), reads(o.reads), facts(o.facts.clone()), counter(o.counter) {}
  Domain &operator=(const Domain &o) {
    axes = o.axes, known = o.known, reads = o.reads, facts = o.facts.clone(), counter = o.counter;
    return *this;
  }

  std::vector<Axis> axes;
  /// The canonical indices of values in the group (members and what they read).
  llvm::MapVector<mlir::Value, Dims> known;
  /// The indices at which a member that is no pointwise op reads its operands (reduction, convolution, contraction, attention).
  llvm::MapVector<mlir::Operation *, std::vector<Dims>> reads;
  shape::Facts facts;

  /// A new innermost axis; extents of 1 need none and give index 0.
  shape::Expr addAxis(const shape::Expr &extent, bool evenOfOne = false);
  /// One axis per dimension.
  Dims addAxes(llvm::ArrayRef<shape::Expr> extents);
  const Axis *find(llvm::StringRef name) const;
  /// Axes that some reduction removes.
  std::set<std::string> reducedAxes() const;
  /// The axes that expressions mention, in the domain's order.
  std::vector<std::string> axesIn(llvm::ArrayRef<shape::Expr> exprs) const;
  /// Does an axis occur inside a division, remainder, minimum (unless these are fine) or maximum?
  bool divides(const shape::Expr &e, bool minimaFine = false) const;
  bool divides(llvm::ArrayRef<shape::Expr> exprs) const {
    return llvm::any_of(exprs, [&](const shape::Expr &e) { return divides(e); });
  }
  /// Do the indices, over the axes that they mention, name each element of a tensor with these dimensions once?
  bool covers(llvm::ArrayRef<shape::Expr> dims, llvm::ArrayRef<shape::Expr> indices) const;
  bool sameIndices(llvm::ArrayRef<shape::Expr> a, llvm::ArrayRef<shape::Expr> b) const;

  /// Indices of a shape `to` for the element at `indices` of shape `from` (equal element counts). With `split`, axes may be
  /// split; without, or where that does not help, divisions stay.
  Dims reshape(llvm::ArrayRef<shape::Expr> from, llvm::ArrayRef<shape::Expr> to, Dims indices, bool split);
  /// Indices of the view's operand for indices of its result.
  Dims backward(mlir::Operation *view, llvm::ArrayRef<shape::Expr> indices);
  /// Indices of the view's result for indices of its operand; dimensions that a broadcast adds become new axes, counted in
  /// `added`. Nothing for slices.
  std::optional<Dims> forward(mlir::Operation *view, llvm::ArrayRef<shape::Expr> indices, unsigned &added);

private:
  /// One attempt at reshape; false when it split an axis and must be repeated.
  bool delinearize(llvm::ArrayRef<shape::DimGroup> groups, llvm::ArrayRef<shape::Expr> from,
                   llvm::ArrayRef<shape::Expr> to, Dims &indices, bool split, Dims &out);
  /// Splits an axis that straddles one of the strides; false when there is none to split.
  bool splitFor(const shape::Expr &flat, const shape::Expr &stride, Dims &indices);

  unsigned counter = 0;
};

/// reshape, transpose, broadcast or slice, or a gather of 0, 1, .. that stays at the last place.
bool isView(mlir::Operation *op);
/// Where a value read at indices lies: views are followed down to what `inMemory` accepts (or a value that is no view), and
/// the offset is the row-major one there. Reshapes on top of it move nothing, so they cost no division.
std::pair<mlir::Value, shape::Expr> locate(Domain &domain, mlir::Value v, Dims indices,
                                           llvm::function_ref<bool(mlir::Value)> inMemory);
/// The row-major offset of indices.
shape::Expr flatten(llvm::ArrayRef<shape::Expr> dims, llvm::ArrayRef<shape::Expr> indices);

} // namespace lathe::fuse

#endif // LATHE_LIB_FUSE_DOMAIN_H
