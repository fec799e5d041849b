//===- KernelFrame.h - Values over a kernel's axes -------------------------===//
#ifndef LATHE_LIB_INTERPRET_KERNELFRAME_H
#define LATHE_LIB_INTERPRET_KERNELFRAME_H

#include "Interpreter.h"

namespace lathe::interpret {

/// Axes of a kernel by number, ascending.
using AxisSet = llvm::SmallVector<unsigned>;

/// What a value is at each point of the axes that it depends on, in their order.
struct Column {
  AxisSet axes;
  Tensor tensor;
  /// Where it has no value (a load without a fill whose predicate is false, and what follows from it); empty: nowhere.
  /// The tensor holds ones there, for which nothing that is computed from them is a fault.
  std::vector<char> undefined = {};

  bool isUndefined(int64_t point) const { return !undefined.empty() && undefined[point]; }
};

/// The part of a kernel's domain that is computed at once: `begin + i` for i below `size`.
struct AxisRange {
  std::string name;
  int64_t extent = 0, begin = 0, size = 0;
};

class KernelFrame {
public:
  static llvm::Expected<KernelFrame> of(kernel::GenericOp kernel, const Sizes &sizes);

  std::vector<AxisRange> axes;

  std::optional<unsigned> axisOf(llvm::StringRef name) const;
  AxisSet axesOf(const shape::Expr &e) const;
  llvm::SmallVector<int64_t> shapeOf(const AxisSet &set) const;
  /// The expression at each point of these axes; `$n` is indirect index n, which must be over the same axes.
  llvm::Expected<std::vector<int64_t>> evaluate(const shape::Expr &e, const AxisSet &over,
                                                llvm::ArrayRef<Column> indirect = {}) const;
  /// The same value at each point of more axes.
  Column expand(const Column &column, const AxisSet &over) const;
  /// "i0 = 3, i1 = 0" for a point of these axes.
  std::string pointText(const AxisSet &over, int64_t point) const;

private:
  const Sizes *sizes = nullptr;
};

AxisSet unite(const AxisSet &a, const AxisSet &b);
AxisSet without(const AxisSet &a, const AxisSet &b);

/// Steps for walking over `over`: how far each of its axes moves in a tensor over `axes`.
llvm::SmallVector<int64_t> stridesIn(const AxisSet &axes, const AxisSet &over, const KernelFrame &frame);

} // namespace lathe::interpret

#endif // LATHE_LIB_INTERPRET_KERNELFRAME_H
