//===- Losses.h - What losses share -------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPS_LOSSES_H
#define LATHE_LIB_IMPORT_FX_OPS_LOSSES_H

#include "Families.h"

namespace lathe::fx::loss {

/// The type that the loss is computed in: float32 for half types.
Type wideType(OpContext &c);
/// As it is, its mean, or its sum, as the argument "reduction" says.
llvm::Error giveReduced(OpContext &c, Value loss);
/// The p-norm along the last dimension of what is not negative.
Value normOf(OpContext &c, Value d, double p);

} // namespace lathe::fx::loss

#endif // LATHE_LIB_IMPORT_FX_OPS_LOSSES_H
