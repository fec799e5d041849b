//===- Orders.h - Orders that a run is checked for -------------------------===//
#ifndef LATHE_SHAPE_ORDERS_H
#define LATHE_SHAPE_ORDERS_H

#include "lathe/Shape/Facts.h"

namespace lathe::shape {

/// excess <= 0, where proofs have a use for it: an order of polynomials, or a bound of one quotient, which bounds what it divides. Every
/// other relation makes each proof longer and none succeed. False when it contradicts what is known.
bool learnOrder(Facts &facts, const Expr &excess);

} // namespace lathe::shape

#endif // LATHE_SHAPE_ORDERS_H
