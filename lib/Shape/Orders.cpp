//===- Orders.cpp - Orders that a run is checked for -----------------------===//

#include "lathe/Shape/Orders.h"
#include "llvm/ADT/STLExtras.h"

namespace lathe::shape {

/// k*floordiv(x, y) + c.
static bool isOfOneQuotient(const Expr &e) {
  std::vector<Expr::Term> terms = e.terms();
  llvm::erase_if(terms, [](const Expr::Term &t) { return t.atoms.empty(); });
  return terms.size() == 1 && terms[0].atoms.size() == 1 && terms[0].atoms[0].kind == Atom::Kind::FloorDiv;
}

bool learnOrder(Facts &facts, const Expr &excess) {
  if (excess.hasOpaque() && !isOfOneQuotient(facts.simplify(excess)))
    return true;
  return facts.addEquality(Expr::max(excess, Expr(0)), Expr(0));
}

} // namespace lathe::shape
