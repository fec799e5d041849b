//===- ComplexParts.h - Complex numbers by their parts ----------------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPS_COMPLEXPARTS_H
#define LATHE_LIB_IMPORT_FX_OPS_COMPLEXPARTS_H

#include "Families.h"

namespace lathe::fx::complexes {

struct Parts {
  Value re, im;
};

/// Of a last dimension of 2, and back.
Parts partsOf(OpContext &c, Value pairs);
Value joined(OpContext &c, const Parts &p);
/// Without overflow.
Value magnitude(OpContext &c, const Parts &p);
Parts product(OpContext &c, const Parts &a, const Parts &b);
Parts reciprocal(OpContext &c, const Parts &p);
/// The operands `self` and `other` (or what they are called), either of which may be real or a number, broadcast to each other.
llvm::Expected<std::pair<Parts, Parts>> partsOfTwo(OpContext &c, Type element, const char *first = "self", const char *second = "other");

/// What an elementwise function or a reduction does with complex numbers; null where it is not known.
const OpEntry *findFunction(llvm::StringRef name);

} // namespace lathe::fx::complexes

#endif // LATHE_LIB_IMPORT_FX_OPS_COMPLEXPARTS_H
