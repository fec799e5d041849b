//===- LateSymbols.h - Sizes that are known only while a program runs ------===//
#ifndef LATHE_ARTIFACT_LATESYMBOLS_H
#define LATHE_ARTIFACT_LATESYMBOLS_H

#include "lathe/Shape/Expr.h"
#include <map>
#include <set>
#include <string>

namespace lathe::artifact {

struct LateSymbols {
  std::set<std::string> roots;                 ///< given their values by steps; besides them all of the host's own
  std::map<std::string, shape::Expr> derived;  ///< symbols that are computed from others

  /// The roots that the value depends on.
  std::set<std::string> rootsOf(const shape::Expr &e) const;
  bool isLate(const shape::Expr &e) const { return !rootsOf(e).empty(); }
};

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_LATESYMBOLS_H
