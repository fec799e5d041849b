//===- ViewIndex.h - Where an element comes from through views -------------===//
//
// Private to lib/Optimize. A tensor is read at indices over named axes; going up through a view gives the indices at which
// its operand is read. What a pattern wants to know of a chain of reshapes, transposes and broadcasts is in the indices at
// its end, however the chain is written.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_OPTIMIZE_VIEWINDEX_H
#define LATHE_LIB_OPTIMIZE_VIEWINDEX_H

#include "lathe/Dialect/Lathe/Lathe.h"

namespace lathe::opt {

/// offset + step * (the axes, row-major). Without axes: a fixed position.
struct Index {
  llvm::SmallVector<unsigned, 2> axes;
  int64_t step = 1;
  shape::Expr offset = 0;

  bool isPure() const { return step == 1 && offset.isZero(); }
  bool isZero() const { return axes.empty() && offset.isZero(); }
  bool operator==(const Index &o) const { return axes == o.axes && step == o.step && offset == o.offset; }
  std::string str() const;
};
using Indices = llvm::SmallVector<Index>;

std::string str(const Indices &indices);

/// The axes of one question. Axes of extent 1 never occur in indices.
class AxisSpace {
public:
  explicit AxisSpace(const shape::Facts &facts, bool maySplit = false) : facts(facts), maySplit(maySplit) {}

  unsigned add(const shape::Expr &extent);
  const shape::Expr &extent(unsigned axis) const { return axes[axis].extent; }
  /// The index of a dimension that the axes span.
  Index spanning(llvm::ArrayRef<unsigned> list) const;

  /// The indices under other dimensions with the same elements.
  std::optional<Indices> reshape(llvm::ArrayRef<shape::Expr> from, llvm::ArrayRef<shape::Expr> to, const Indices &at);
  /// The indices at which a view reads its operand (broadcast, reshape, transpose, slice); nothing for other ops.
  std::optional<Indices> operandOf(mlir::Operation *view, const Indices &at);

  /// An axis that was split is replaced by its parts.
  llvm::SmallVector<unsigned> refined(llvm::ArrayRef<unsigned> list) const;
  shape::Expr product(llvm::ArrayRef<unsigned> list) const;

private:
  bool takeRun(llvm::SmallVector<unsigned> &list, const shape::Expr &size, Index &out);
  bool split(unsigned axis, const shape::Expr &outer);

  struct Axis {
    shape::Expr extent;
    std::optional<std::pair<unsigned, unsigned>> parts;
  };
  std::vector<Axis> axes;
  const shape::Facts &facts;
  bool maySplit;
};

bool isView(mlir::Operation *op);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_VIEWINDEX_H
