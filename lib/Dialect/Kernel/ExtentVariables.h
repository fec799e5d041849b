//===- ExtentVariables.h - Bounds in terms of the axes' extents -------------===//
//
// Private to lib/Dialect/Kernel.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_DIALECT_KERNEL_EXTENTVARIABLES_H
#define LATHE_LIB_DIALECT_KERNEL_EXTENTVARIABLES_H

#include "lathe/Dialect/Kernel/Legality.h"

namespace lathe::kernel {

/// Offsets written with the extents of their axes as variables. Over rows of w - 2 elements the offset of (i, j) is w*i - 2*i + j,
/// of which no term bounds another; with e for w - 2 it is e*i + j.
class ExtentVariables {
public:
  ExtentVariables(const shape::Facts &facts, std::vector<Extent> axes);
  /// 0 <= offset < size, in the new variables.
  bool isBetween(const shape::Expr &offset, const shape::Expr &size);

private:
  shape::Expr quotientsAsSymbols(const shape::Expr &e);
  shape::Expr rewrite(const shape::Expr &e);
  void declare(const shape::Expr &e);

  const shape::Facts &facts;
  shape::Facts mine; ///< ranges of the new variables and of what is left of the old ones
  std::vector<Extent> axes;
  std::map<std::string, std::string> quotients; ///< by text: the symbols that stand for them
  std::vector<std::map<std::string, shape::Expr>> changes; ///< to be applied one after the other
  bool known = true;
};

} // namespace lathe::kernel

#endif // LATHE_LIB_DIALECT_KERNEL_EXTENTVARIABLES_H
