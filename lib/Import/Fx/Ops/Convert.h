//===- Convert.h - PyTorch's conversions between element types ---------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPS_CONVERT_H
#define LATHE_LIB_IMPORT_FX_OPS_CONVERT_H

#include "Families.h"

namespace lathe::fx {

/// As `to` converts: of a float, integers of 8 and 16 bits are the low bits of the whole number, and do not saturate.
Value convertedTo(OpContext &c, Value x, Type to);

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_OPS_CONVERT_H
