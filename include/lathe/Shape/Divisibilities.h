//===- Divisibilities.h - Equalities that say what a remainder is ----------===//
#ifndef LATHE_SHAPE_DIVISIBILITIES_H
#define LATHE_SHAPE_DIVISIBILITIES_H

#include "lathe/Shape/Facts.h"

namespace lathe::shape {

/// The only one of the terms that is no product of symbols; null where there are none or several.
const Expr::Term *onlyOpaqueTerm(const std::vector<Expr::Term> &terms);

/// difference = 0 that says what a remainder is, as a divisibility: (divisor, multiple). 2*floordiv(n + 1, 2) = n says that n is a multiple of 2,
/// and the quotient by which n is written from then on leaves no division.
std::optional<std::pair<Expr, Expr>> asDivisibility(const Expr &difference, const Facts &known);

} // namespace lathe::shape

#endif // LATHE_SHAPE_DIVISIBILITIES_H
