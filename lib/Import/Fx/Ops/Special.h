//===- Special.h - Special functions that others are made of ----------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPS_SPECIAL_H
#define LATHE_LIB_IMPORT_FX_OPS_SPECIAL_H

#include "Families.h"

namespace lathe::fx::special {

/// The logarithm of the gamma function's absolute value, of float64.
Value logGamma(OpContext &c, Value x);
/// Its derivative, of float64.
Value digamma(OpContext &c, Value x);
/// The logarithm of the normal distribution's integral.
Value logNdtr(OpContext &c, Value x);

} // namespace lathe::fx::special

#endif // LATHE_LIB_IMPORT_FX_OPS_SPECIAL_H
