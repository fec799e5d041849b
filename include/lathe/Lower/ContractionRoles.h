//===- ContractionRoles.h - The axes of a sum of products by their roles ---===//
#ifndef LATHE_LOWER_CONTRACTIONROLES_H
#define LATHE_LOWER_CONTRACTIONROLES_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::lower {

/// The axes in the set, outermost first.
std::vector<unsigned> axesIn(const BodyInfo &info, AxisSet set);

/// The one stride at which `e` steps through all points of the axes, outermost first, walked as one; nothing where there is none. 0 where it does not
/// mention them.
std::optional<shape::Expr> strideAlong(const BodyInfo &info, llvm::ArrayRef<unsigned> axes, const shape::Expr &e);

/// What a sum of products of two operands does with its axes. Whoever schedules a contraction or writes code for it asks here.
struct ContractionRoles {
  AxisSet reduced = 0; ///< summed over
  AxisSet batch = 0;   ///< of both operands
  AxisSet rows = 0;    ///< of the first one alone
  AxisSet columns = 0; ///< of the second one alone
  AxisSet others = 0;  ///< of neither: what is stored is the same along them, or differs by what comes behind the sum

  ContractionRoles(const BodyInfo &info, kernel::ContractOp op);
  /// Of operands that vary along these axes.
  ContractionRoles(const BodyInfo &info, AxisSet left, AxisSet right, AxisSet reduced);
};

} // namespace lathe::lower

#endif // LATHE_LOWER_CONTRACTIONROLES_H
