//===- ToldCases.cpp - What is told of the ways that a kernel runs in ------===//

#include "lathe/Target/ToldCases.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using shape::Expr;

/// The points that a case serves, of few: the smallest, the largest and one between them.
static std::vector<ExpectedCost> costsOf(const schedule::Choice &choice, const schedule::Candidate &c) {
  std::vector<ExpectedCost> all;
  for (const schedule::Point &p : choice.points)
    if (&choice.at(p) == &c)
      if (std::optional<int64_t> cost = c.cost.evaluate(p))
        all.push_back({{p.begin(), p.end()}, *cost});
  constexpr size_t most = 3;
  if (all.size() <= most)
    return all;
  return {all.front(), all[all.size() / 2], all.back()};
}

CompiledCase target::toldCase(const schedule::Choice &choice, const schedule::Candidate &candidate, StringRef form) {
  CompiledCase out{candidate.when.str(), "", form.str(), costsOf(choice, candidate)};
  llvm::raw_string_ostream(out.schedule) << candidate.schedule;
  return out;
}

CompiledKernel target::inOwnNames(CompiledKernel compiled, const schedule::ScheduledKernel &kernel) {
  std::map<std::string, Expr> names = kernel.toOwn();
  std::map<std::string, std::string> own;
  for (auto [canonical, name] : llvm::zip_equal(kernel.detached.sizes, kernel.sizes))
    own.emplace(canonical, shape::nameOf(name));
  for (std::string &size : compiled.sizes)
    size = own[size];
  for (CompiledVariant &v : compiled.variants)
    for (CompiledCase &c : v.cases) {
      if (llvm::Expected<schedule::Predicate> when = schedule::Predicate::parse(c.when))
        c.when = when->substitute(names).str();
      else
        llvm::consumeError(when.takeError());
      for (ExpectedCost &cost : c.costs)
        for (auto &[size, value] : cost.sizes)
          size = own[size];
    }
  return compiled;
}
