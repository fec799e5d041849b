//===- Tiles.h - What tiles of a contraction read and what becomes of sums --===//
#ifndef LATHE_SCHEDULE_TILES_H
#define LATHE_SCHEDULE_TILES_H

#include "lathe/Schedule/Machine.h"
#include "lathe/Schedule/Predicate.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace lathe::schedule {

/// Points of the sum up to which a trip of a tile's sums through memory counts, so that what follows takes them as they leave their registers; nothing
/// where these operations would need the registers.
std::optional<int64_t> deepestDirect(llvm::ArrayRef<mlir::Operation *> behind, const Machine &machine);

/// How tiles read the rows of the first operand: `rows` of #schedule.tiles.
enum class RowAccess : int64_t {
  InPlace, ///< where they lie
  Blocks,  ///< some tiles' rows are copied together, for all panels of a group
  Once,    ///< all rows are copied, for all panels
  Parts,   ///< where they lie, some points of the sum after the other
};

/// The first operand as it lies in memory, and what is multiplied with it.
struct FirstOperand {
  shape::Expr rows, points, panels;      ///< of one batch point; points of the sum; panels of columns
  std::optional<shape::Expr> row, point; ///< elements from one to the next, where that is one number
  bool plain = false;  ///< elements, and those of panels, are of the sum's type
  bool shared = false; ///< by all batch points
  bool packed = false; ///< the second operand's panels were packed when the program was compiled
  bool parts = false;  ///< the second operand's panels can be read, or packed, for some points of the sum
  int64_t bytes = 4;   ///< of an element
};

/// The ways that its layout allows but that in place, each with the sizes where it saves time.
std::vector<std::pair<RowAccess, Predicate>> rowAccesses(const FirstOperand &operand, const Machine &machine);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_TILES_H
