//===- SplitAxes.h - Axes as the quotients and remainders that are taken of them ===//
#ifndef LATHE_LOWER_SPLITAXES_H
#define LATHE_LOWER_SPLITAXES_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::lower {

/// Splits axes of which offsets take quotients and remainders by a divisor of the extent, and merges what can be merged
/// then. Loops and reductions alone.
void splitAxes(kernel::GenericOp kernel);

/// The axis becomes two, of which the inner one has `inner` points; that divides the extent. Their names, the outer one's first.
std::pair<std::string, std::string> splitAxis(kernel::GenericOp kernel, const std::string &axis, const shape::Expr &inner);

/// The axis has `extent` of its points, from `first` on.
void cutAxis(kernel::GenericOp kernel, const std::string &axis, const shape::Expr &first, const shape::Expr &extent);

/// Axes as row programs step along them: those that are one merged, also where they ask which operand is read, and quotients and remainders split.
void arrangeAxes(kernel::GenericOp kernel);

/// axis = parts * quotient + residue.
struct Residues {
  std::string axis;
  int64_t parts;
  std::string taps; ///< the axis of a window's taps that lie so many places apart
};

/// The axis is the quotient from here on, the residues are an axis of their own in front of `before`. Where the extent is no multiple of `parts`, the last
/// residues are shorter: accesses ask whether they are inside.
void splitResidues(kernel::GenericOp kernel, const Residues &residues, const std::string &before);

} // namespace lathe::lower

#endif // LATHE_LOWER_SPLITAXES_H
