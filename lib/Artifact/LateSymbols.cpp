//===- LateSymbols.cpp - Sizes that are known only while a program runs ----===//

#include "lathe/Artifact/LateSymbols.h"
#include <vector>

using namespace lathe;
using namespace lathe::artifact;

std::set<std::string> LateSymbols::rootsOf(const shape::Expr &e) const {
  std::set<std::string> out, seen;
  std::vector<shape::Expr> left{e};
  while (!left.empty()) {
    shape::Expr next = left.back();
    left.pop_back();
    for (const std::string &name : next.symbols()) {
      if (roots.count(name) || shape::kindOf(name) == shape::SymbolKind::Host)
        out.insert(name);
      if (roots.empty() || !seen.insert(name).second)
        continue;
      if (auto it = derived.find(name); it != derived.end())
        left.push_back(it->second);
    }
  }
  return out;
}
