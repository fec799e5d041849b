//===- MatchReshape.cpp - Which dimensions of a reshape correspond ---------===//

#include "lathe/Shape/Facts.h"
#include "llvm/ADT/STLExtras.h"

namespace lathe::shape {

using Shape = llvm::ArrayRef<Expr>;

static void appendRun(std::vector<unsigned> &out, unsigned from, unsigned to) {
  for (unsigned i = from; i < to; ++i)
    out.push_back(i);
}

/// The end of the smallest runs from (i, j) with equal products; by total length, then by the left one's.
static std::optional<std::pair<unsigned, unsigned>> smallestRuns(Shape left, Shape right, unsigned i, unsigned j,
                                                                 const Facts &facts) {
  unsigned most = (left.size() - i) + (right.size() - j);
  for (unsigned length = 2; length <= most; ++length)
    for (unsigned m = 1; m < length; ++m) {
      unsigned n = length - m;
      if (i + m > left.size() || j + n > right.size())
        continue;
      if (facts.provablyEqual(product(left.slice(i, m)), product(right.slice(j, n))))
        return std::make_pair(i + m, j + n);
    }
  return std::nullopt;
}

static bool isOnes(Shape dims, const Facts &facts) {
  return llvm::all_of(dims, [&](const Expr &e) { return facts.provablyEqual(e, Expr(1)); });
}

std::optional<std::vector<DimGroup>> matchReshape(Shape left, Shape right, const Facts &facts) {
  std::vector<DimGroup> groups;
  unsigned i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    auto end = smallestRuns(left, right, i, j, facts);
    if (!end)
      break;
    DimGroup g;
    appendRun(g.left, i, end->first);
    appendRun(g.right, j, end->second);
    groups.push_back(std::move(g));
    std::tie(i, j) = *end;
  }
  if (i == left.size() && j == right.size())
    return groups;
  // What is left over on one side can only be dimensions of size 1: they join the last group.
  if (isOnes(left.drop_front(i), facts) && isOnes(right.drop_front(j), facts)) {
    if (groups.empty())
      groups.emplace_back();
    appendRun(groups.back().left, i, left.size());
    appendRun(groups.back().right, j, right.size());
    return groups;
  }
  // Early small groups can be wrong where a size is 0; the whole is a group of its own when the totals agree.
  if (!facts.provablyEqual(product(left), product(right)))
    return std::nullopt;
  DimGroup all;
  appendRun(all.left, 0, left.size());
  appendRun(all.right, 0, right.size());
  return std::vector<DimGroup>{all};
}

} // namespace lathe::shape
