//===- AttentionRoles.h - The axes of an attention by their roles ----------===//
#ifndef LATHE_LOWER_ATTENTIONROLES_H
#define LATHE_LOWER_ATTENTIONROLES_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::lower {

/// What an attention does with its kernel's axes, and its operands' offsets. Whoever schedules it or writes code for it asks here.
struct AttentionRoles {
  std::optional<unsigned> query; ///< nothing: a single query, which has no axis
  unsigned key = 0, depth = 0, value = 0;
  AxisSet batch = 0;
  shape::Expr q, k, v;                      ///< offsets
  shape::Expr queries, keys, depths, values; ///< extents
  shape::Expr batches;                      ///< points of the batch axes
  /// Runs of so many points of this batch axis read the same keys and values (grouped queries).
  std::optional<unsigned> sharedAxis;
  int64_t sharing = 1;

  /// Nothing where keys, the depth or the values have no axis.
  static std::optional<AttentionRoles> of(const BodyInfo &info, kernel::AttentionOp op);
  /// Of the kernel's only attention.
  static std::optional<AttentionRoles> of(const BodyInfo &info);
};

/// The kernel's last attention; null where it has none.
kernel::AttentionOp attentionOf(const BodyInfo &info);

} // namespace lathe::lower

#endif // LATHE_LOWER_ATTENTIONROLES_H
