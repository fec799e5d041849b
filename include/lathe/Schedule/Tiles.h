//===- Tiles.h - What tiles of a contraction do with their sums ------------===//
#ifndef LATHE_SCHEDULE_TILES_H
#define LATHE_SCHEDULE_TILES_H

#include "lathe/Schedule/Machine.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace lathe::schedule {

/// Points of the sum up to which a trip of a tile's sums through memory counts, so that what follows takes them as they leave their registers; nothing
/// where these operations would need the registers.
std::optional<int64_t> deepestDirect(llvm::ArrayRef<mlir::Operation *> behind, const Machine &machine);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_TILES_H
