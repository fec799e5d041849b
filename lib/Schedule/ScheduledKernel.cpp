//===- ScheduledKernel.cpp - A kernel and what decides how it runs ---------===//

#include "lathe/Schedule/ScheduledKernel.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using shape::Expr;

static std::map<std::string, Expr> renaming(ArrayRef<std::string> from, ArrayRef<std::string> to) {
  std::map<std::string, Expr> with;
  for (auto [f, t] : llvm::zip_equal(from, to))
    with.emplace(f, Expr::symbol(t));
  return with;
}

std::map<std::string, Expr> ScheduledKernel::toOwn() const { return renaming(detached.sizes, sizes); }
std::map<std::string, Expr> ScheduledKernel::toCanonical() const { return renaming(sizes, detached.sizes); }

ScheduledKernel::ScheduledKernel(kernel::GenericOp kernel)
    : detached(lower::detachKernel(kernel)), hints(hintsOf(kernel)), sizes(kernel.getSizeSymbols()) {
  std::map<std::string, Expr> canonical = toCanonical();
  for (CaseAttr c : casesOf(kernel))
    forced.push_back({conditionOf(c).substitute(canonical), c.getSchedule(), Expr::unknown()});
}

std::string ScheduledKernel::key() const {
  std::string key = detached.text + textOf(hints);
  llvm::raw_string_ostream os(key);
  for (const Candidate &c : forced)
    os << "|" << c.when.str() << ":" << c.schedule;
  return key;
}

Choice ScheduledKernel::choose(const Machine &machine, const ChooseOptions &options) const {
  Choice choice = schedule::choose(detached.kernel, hints, machine, options, {detached.canonical, detached.ordered});
  if (!forced.empty()) {
    choice.cases = forced;
    choice.tuned = true;
  }
  return choice;
}
