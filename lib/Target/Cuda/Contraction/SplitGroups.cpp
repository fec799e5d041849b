//===- SplitGroups.cpp - Grouped convolutions as batches of products -------===//

#include "SplitGroups.h"
#include "lathe/Shape/Facts.h"

using namespace mlir;
using namespace lathe;
using shape::Atom;
using shape::Expr;

namespace {
/// An expression over the axes and the attribute that holds it.
struct Indexing {
  Operation *op;
  StringRef key;
  Expr expr;
};
/// An axis that is divided somewhere, and the constant that it is divided by.
struct Division {
  unsigned axis;
  int64_t by;
};
} // namespace

static std::vector<Indexing> indexingsOf(kernel::GenericOp kernel) {
  std::vector<Indexing> out;
  for (Operation &op : kernel.getBody().front()) {
    if (auto o = dyn_cast<kernel::LoadOp>(op))
      out.push_back({&op, "offset", o.getOffsetExpr()});
    else if (auto o = dyn_cast<kernel::StoreOp>(op))
      out.push_back({&op, "offset", o.getOffsetExpr()});
    else if (auto o = dyn_cast<kernel::IndexOp>(op))
      out.push_back({&op, "expr", o.getIndexExpr()});
  }
  return out;
}

/// The first quotient of a whole axis that is no sum's.
static std::optional<Division> findDivision(kernel::GenericOp kernel, const Expr &e) {
  for (const Expr::Term &term : e.terms())
    for (const Atom &a : term.atoms) {
      std::optional<std::string> name = a.kind == Atom::Kind::FloorDiv ? a.operands[0].asSymbol() : std::nullopt;
      std::optional<int64_t> by = name ? a.operands[1].constant() : std::nullopt;
      for (unsigned i = 0; by && i < kernel.getNumAxes(); ++i) {
        std::optional<int64_t> extent = kernel.getAxisExtent(i).constant();
        if (kernel.getAxisName(i) == *name && extent && *by >= cuda::fewestPerGroup && *extent % *by == 0 && *extent > *by)
          return Division{i, *by};
      }
    }
  return std::nullopt;
}

static std::string freshAxis(kernel::GenericOp kernel) {
  for (unsigned n = kernel.getNumAxes();; ++n) {
    std::string name = Expr::axis(n).str();
    if (llvm::none_of(kernel.getAxisNames().getAsRange<StringAttr>(), [&](StringAttr a) { return a.getValue() == name; }))
      return name;
  }
}

static void split(kernel::GenericOp kernel, std::vector<Indexing> &exprs, Division division) {
  std::string outer = kernel.getAxisName(division.axis).str(), inner = freshAxis(kernel);
  Expr groups(*kernel.getAxisExtent(division.axis).constant() / division.by), each(division.by);
  shape::Facts facts;
  facts.setAxis(outer, groups);
  facts.setAxis(inner, each);
  std::map<std::string, Expr> with = {{outer, Expr::symbol(outer) * each + Expr::symbol(inner)}};
  Builder b(kernel.getContext());
  for (Indexing &i : exprs) {
    if (!i.expr.mentions(outer))
      continue;
    i.expr = facts.simplify(i.expr.substitute(with));
    i.op->setAttr(i.key, b.getStringAttr(i.expr.str()));
  }
  SmallVector<Attribute> names(kernel.getAxisNames().getValue()), extents(kernel.getAxisExtents().getValue());
  extents[division.axis] = b.getStringAttr(groups.str());
  names.insert(names.begin() + division.axis + 1, b.getStringAttr(inner));
  extents.insert(extents.begin() + division.axis + 1, b.getStringAttr(each.str()));
  kernel.setAxisNamesAttr(b.getArrayAttr(names));
  kernel.setAxisExtentsAttr(b.getArrayAttr(extents));
}

void cuda::splitGroups(kernel::GenericOp kernel) {
  auto sums = kernel.getBody().front().getOps<kernel::ReduceOp>();
  if (kernel.getKernelClass() != kernel::KernelClass::Reduction || !llvm::hasSingleElement(sums))
    return;
  std::set<StringRef> reduced;
  for (Attribute a : (*sums.begin()).getAxes())
    reduced.insert(cast<StringAttr>(a).getValue());
  std::vector<Indexing> exprs = indexingsOf(kernel);
  for (const Indexing &i : exprs) {
    std::optional<Division> division = isa<kernel::LoadOp>(i.op) ? findDivision(kernel, i.expr) : std::nullopt;
    if (division && !reduced.count(kernel.getAxisName(division->axis)))
      return split(kernel, exprs, *division);
  }
}
