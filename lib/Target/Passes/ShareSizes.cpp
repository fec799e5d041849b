//===- ShareSizes.cpp - Kernels of other sizes share their code ------------===//
//
// A detector runs the same head over the levels of a pyramid, and where images have open sizes each level has its own: a 32nd of the
// height, a 64th. A kernel that knows nothing of the height but this gets the 32nd as its size, and is the next level's, too.
//
//===----------------------------------------------------------------------===//

#include "LaunchSizes.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Target/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace lathe::target {
#define GEN_PASS_DEF_SHARESIZES
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using kernel::GenericOp;
using shape::Atom;
using shape::Expr;

/// Terms by their text, and the sizes that stand for them.
using Terms = std::map<std::string, Expr>;

static Expr written(const Expr &e, const Terms &terms);

static Expr written(const Atom &a, const Terms &terms) {
  Expr self = Expr::fromAtom(a);
  if (a.kind == Atom::Kind::Symbol)
    return self;
  if (auto it = terms.find(self.str()); it != terms.end())
    return it->second;
  Expr x = written(a.operands[0], terms), y = written(a.operands[1], terms);
  switch (a.kind) {
  case Atom::Kind::FloorDiv:
    return Expr::floordiv(x, y);
  case Atom::Kind::Mod:
    return Expr::mod(x, y);
  case Atom::Kind::Min:
    return Expr::min(x, y);
  case Atom::Kind::Max:
    return Expr::max(x, y);
  case Atom::Kind::Symbol:
    break;
  }
  return self;
}

/// The expression with sizes in the place of terms.
static Expr written(const Expr &e, const Terms &terms) {
  if (!e.hasOpaque())
    return e;
  Expr sum(0);
  for (const Expr::Term &t : e.terms()) {
    Expr product(t.coefficient);
    for (const Atom &a : t.atoms)
      product = product * written(a, terms);
    sum = sum + product;
  }
  return sum;
}

/// Extents that are one quotient, minimum or the like: an extent is a size, so it is not negative. None where the kernel asks for what
/// is in them besides, for the two would be unrelated.
static Terms termsOf(GenericOp kernel) {
  Terms terms;
  std::set<std::string> inside;
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i) {
    Expr extent = kernel.getAxisExtent(i);
    std::vector<Expr::Term> sum = extent.terms();
    bool isTerm = sum.size() == 1 && sum[0].coefficient == 1 && sum[0].atoms.size() == 1 && extent.hasOpaque();
    if (!isTerm || !terms.try_emplace(extent.str(), Expr::size(extent.str())).second)
      continue;
    for (const std::string &symbol : extent.symbols())
      if (!inside.insert(symbol).second)
        return {};
  }
  for (const Expr &e : lower::exprsOf(kernel))
    if (Expr now = written(e, terms); now.isUnknown() || llvm::any_of(inside, [&](const std::string &s) { return now.mentions(s); }))
      return {};
  return terms;
}

static void writeSizes(GenericOp kernel, const Terms &terms) {
  lower::rewriteExprs(kernel, [&](const Expr &e) { return written(e, terms); });
}

namespace {
struct Member {
  GenericOp kernel;
  Terms terms;
};
struct Family {
  std::vector<Member> members;
  std::set<std::string> texts; ///< as they are
};

struct ShareSizesPass : target::impl::ShareSizesBase<ShareSizesPass> {
  void runOnOperation() override {
    llvm::MapVector<StringAttr, Family> families; // by what they are with such sizes
    getOperation().walk([&](GenericOp kernel) {
      if (llvm::any_of(kernel->getDiscardableAttrs(), [](NamedAttribute a) { return a.getName().strref().starts_with("schedule."); }))
        return; // its conditions speak of the sizes
      lower::DetachedKernel own = lower::detachText(kernel);
      std::string text = own.text;
      Terms terms = termsOf(kernel);
      if (!terms.empty()) {
        writeSizes(own.kernel, termsOf(own.kernel));
        text = lower::detachText(own.kernel).text;
      }
      Family &family = families[StringAttr::get(&getContext(), text)];
      family.members.push_back({kernel, std::move(terms)});
      family.texts.insert(own.text);
    });
    LaunchSizes sizes(getOperation());
    shape::Facts facts = ir::factsOf(getOperation());
    for (auto &[text, family] : families)
      if (family.texts.size() > 1)
        for (Member &m : family.members) {
          for (auto &[term, size] : m.terms)
            size = sizes.sizeOf(term, Expr::parsed(term), std::max<int64_t>(0, facts.bounds(Expr::parsed(term)).min.value_or(0)));
          lower::keepElements(m.kernel);
          writeSizes(m.kernel, m.terms);
        }
  }
};
} // namespace
