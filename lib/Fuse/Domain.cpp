//===- Domain.cpp - Iteration domains and indices through views ------------===//

#include "Domain.h"
#include "lathe/Dialect/Kernel/Legality.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Atom;
using shape::Expr;

Expr Domain::addAxis(const Expr &extent, bool evenOfOne) {
  if (extent.isOne() && !evenOfOne)
    return Expr(0);
  Expr axis = Expr::axis(counter++);
  axes.push_back({axis.str(), extent});
  facts.setAxis(axis.str(), extent);
  return axis;
}

Dims Domain::addAxes(ArrayRef<Expr> extents) {
  Dims out;
  for (const Expr &e : extents)
    out.push_back(addAxis(e));
  return out;
}

const Axis *Domain::find(StringRef name) const {
  for (const Axis &a : axes)
    if (a.name == name)
      return &a;
  return nullptr;
}

std::vector<std::string> Domain::axesIn(ArrayRef<Expr> exprs) const {
  std::vector<std::string> out;
  for (const Axis &a : axes)
    if (llvm::any_of(exprs, [&](const Expr &e) { return e.mentions(a.name); }))
      out.push_back(a.name);
  return out;
}

std::set<std::string> Domain::reducedAxes() const {
  std::set<std::string> out;
  for (const auto &[op, operands] : reads) {
    auto result = known.find(op->getResult(0));
    for (const Dims &dims : operands)
      for (const std::string &a : axesIn(dims))
        if (result == known.end() || !llvm::is_contained(axesIn(result->second), a))
          out.insert(a);
  }
  return out;
}

bool Domain::sameIndices(ArrayRef<Expr> a, ArrayRef<Expr> b) const {
  if (a.size() != b.size())
    return false;
  for (auto [x, y] : llvm::zip(a, b))
    if (!facts.provablyEqual(x, y))
      return false;
  return true;
}

bool Domain::covers(ArrayRef<Expr> dims, ArrayRef<Expr> indices) const {
  std::vector<kernel::Extent> extents;
  for (const Axis &a : axes)
    extents.push_back({a.name, a.extent});
  std::optional<kernel::ElementRange> block = kernel::blockOf(facts.simplify(flatten(dims, indices)), extents, facts);
  return block && block->begin.isZero() && facts.provablyEqual(block->size, shape::product(dims));
}

bool Domain::divides(const Expr &e, bool minimaFine) const {
  for (const Expr::Term &t : e.terms())
    for (const Atom &atom : t.atoms)
      if (atom.kind != Atom::Kind::Symbol && !(minimaFine && atom.kind == Atom::Kind::Min) && !axesIn({Expr::fromAtom(atom)}).empty())
        return true;
  return false;
}

Expr fuse::flatten(ArrayRef<Expr> dims, ArrayRef<Expr> indices) {
  Expr offset(0);
  for (auto [d, i] : llvm::zip(dims, indices))
    offset = offset * d + i;
  return offset;
}

bool Domain::splitFor(const Expr &flat, const Expr &stride, Dims &indices) {
  for (const Axis &a : axes) {
    std::optional<Expr::Linear> lin = flat.linearIn(a.name);
    if (!lin || lin->coefficient.isZero())
      continue;
    // The axis steps by `coefficient`; it must be cut where coefficient * inner = stride.
    Expr inner = facts.simplify(Expr::floordiv(stride, lin->coefficient));
    if (inner.isOne() || !facts.provablyEqual(inner * lin->coefficient, stride) ||
        !facts.provablyDivides(inner, a.extent) || facts.provablyEqual(inner, a.extent))
      continue;
    Expr outer = facts.simplify(Expr::floordiv(a.extent, inner));
    Axis hi{Expr::axis(counter++).str(), outer}, lo{Expr::axis(counter++).str(), inner};
    std::string old = a.name;
    auto at = axes.begin() + (&a - axes.data());
    *at = hi;
    axes.insert(at + 1, lo);
    facts.setAxis(hi.name, hi.extent);
    facts.setAxis(lo.name, lo.extent);
    std::map<std::string, Expr> with{{old, Expr::symbol(hi.name) * inner + Expr::symbol(lo.name)}};
    for (auto &entry : known)
      for (Expr &e : entry.second)
        e = facts.simplify(e.substitute(with));
    for (auto &entry : reads)
      for (Dims &dims : entry.second)
        for (Expr &e : dims)
          e = facts.simplify(e.substitute(with));
    for (Expr &e : indices)
      e = facts.simplify(e.substitute(with));
    return true;
  }
  return false;
}

Dims Domain::reshape(ArrayRef<Expr> from, ArrayRef<Expr> to, Dims indices, bool split) {
  std::optional<std::vector<shape::DimGroup>> groups = shape::matchReshape(from, to, facts);
  if (!groups) {
    shape::DimGroup all;
    for (unsigned i = 0; i < from.size(); ++i)
      all.left.push_back(i);
    for (unsigned i = 0; i < to.size(); ++i)
      all.right.push_back(i);
    groups = std::vector<shape::DimGroup>{all};
  }
  Dims out;
  while (!delinearize(*groups, from, to, indices, split, out))
    ; // an axis was split: start over with the new axes
  return out;
}

bool Domain::delinearize(ArrayRef<shape::DimGroup> groups, ArrayRef<Expr> from, ArrayRef<Expr> to, Dims &indices,
                         bool split, Dims &out) {
  out.assign(to.size(), Expr(0));
  if (llvm::any_of(to, [](const Expr &e) { return e.isZero(); }))
    return true; // there is no element: a division by the size would have no value
  for (const shape::DimGroup &g : groups) {
    Dims leftDims, leftIndices;
    for (unsigned l : g.left) {
      leftDims.push_back(from[l]);
      leftIndices.push_back(indices[l]);
    }
    Expr flat = facts.simplify(flatten(leftDims, leftIndices)), inner(1);
    for (unsigned d : llvm::reverse(g.right)) {
      if (to[d].isOne())
        continue;
      Expr outer = facts.simplify(inner * to[d]);
      bool outermost = llvm::all_of(g.right, [&](unsigned o) { return o >= d || to[o].isOne(); });
      Expr e = facts.simplify(Expr::floordiv(flat, inner));
      out[d] = outermost ? e : facts.simplify(Expr::mod(e, to[d]));
      // A division that is left may come from an axis that straddles one of this dimension's strides.
      if (split && divides(out[d]) && (splitFor(flat, inner, indices) || splitFor(flat, outer, indices)))
        return false;
      inner = outer;
    }
  }
  return true;
}

/// Whether the size grows with each of its symbols, none of which is negative.
static bool growsWithSymbols(const Expr &size) {
  return llvm::all_of(size.terms(), [](const Expr::Term &t) {
    return t.atoms.empty() || (t.coefficient > 0 && llvm::all_of(t.atoms, [](const shape::Atom &a) {
      using Kind = shape::Atom::Kind;
      if (a.kind == Kind::Symbol)
        return true;
      if (a.kind == Kind::Max || a.kind == Kind::Min)
        return llvm::all_of(a.operands, growsWithSymbols);
      return a.kind == Kind::FloorDiv && a.operands[1].constant().value_or(0) > 0 && growsWithSymbols(a.operands[0]);
    }));
  });
}

/// The least value that a size has, as far as its symbols' ranges say; 0 where they don't.
static int64_t leastOf(const Expr &size, ModuleOp module) {
  if (std::optional<int64_t> c = size.constant())
    return *c;
  if (!growsWithSymbols(size))
    return 0;
  std::set<std::string> symbols = size.symbols();
  std::map<std::string, int64_t> least;
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>())
    if (symbols.count(s.getName().str()) && int64_t(s.getMin()) >= 0)
      least[s.getName().str()] = s.getMin();
  return least.size() == symbols.size() ? std::max<int64_t>(size.evaluate(least).value_or(0), 0) : 0;
}

/// x at min(i, n - 1) along one dimension, of n >= 1 places: where a run may have one place that stands for all.
static bool repeatsLast(ir::GatherOp op) {
  if (!op || !op.getIndices().getDefiningOp<ir::IotaOp>() || ir::typeOf(op.getIndices()).getRank() != 1)
    return false;
  return leastOf(ir::dimsOf(op.getX())[op.getAxis()], op->getParentOfType<ModuleOp>()) >= 1;
}

bool fuse::isView(Operation *op) {
  return isa_and_nonnull<ir::ReshapeOp, ir::TransposeOp, ir::BroadcastOp, ir::SliceOp>(op) ||
         repeatsLast(dyn_cast_or_null<ir::GatherOp>(op));
}

Dims Domain::backward(Operation *view, ArrayRef<Expr> indices) {
  Value x = view->getOperand(0);
  Dims dims = ir::dimsOf(x), out(dims.size(), Expr(0));
  if (isa<ir::ReshapeOp>(view))
    return reshape(ir::dimsOf(view->getResult(0)), dims, Dims(indices.begin(), indices.end()), /*split=*/false);
  if (auto t = dyn_cast<ir::TransposeOp>(view)) {
    for (auto [i, p] : llvm::enumerate(t.getPerm()))
      out[p] = indices[i];
    return out;
  }
  if (auto g = dyn_cast<ir::GatherOp>(view)) {
    out.assign(indices.begin(), indices.end());
    out[g.getAxis()] = Expr::min(indices[g.getAxis()], dims[g.getAxis()] - Expr(1));
    return out;
  }
  if (auto s = dyn_cast<ir::SliceOp>(view)) {
    for (auto [i, start] : llvm::enumerate(ir::exprsOf(s.getStarts())))
      out[i] = start + indices[i] * Expr(s.getSteps()[i]);
    return out;
  }
  size_t lead = indices.size() - dims.size(); // broadcast
  for (size_t i = 0; i < dims.size(); ++i)
    out[i] = dims[i].isOne() ? Expr(0) : indices[i + lead];
  return out;
}

std::optional<Dims> Domain::forward(Operation *view, ArrayRef<Expr> indices, unsigned &added) {
  Value x = view->getOperand(0);
  Dims dims = ir::dimsOf(x), result = ir::dimsOf(view->getResult(0));
  if (isa<ir::ReshapeOp>(view)) {
    Dims out = reshape(dims, result, Dims(indices.begin(), indices.end()), /*split=*/true);
    if (divides(out))
      return std::nullopt;
    return out;
  }
  if (auto t = dyn_cast<ir::TransposeOp>(view)) {
    Dims out;
    for (int64_t p : t.getPerm())
      out.push_back(indices[p]);
    return out;
  }
  if (isa<ir::SliceOp, ir::GatherOp>(view))
    return std::nullopt;
  Dims out;
  size_t lead = result.size() - dims.size();
  for (size_t i = 0; i < result.size(); ++i) {
    bool expanded = i < lead || (dims[i - lead].isOne() && !result[i].isOne());
    added += expanded && !result[i].isOne();
    out.push_back(expanded ? addAxis(result[i]) : indices[i - lead]);
  }
  return out;
}

std::pair<Value, Expr> fuse::locate(Domain &domain, Value v, Dims indices, llvm::function_ref<bool(Value)> inMemory) {
  while (!inMemory(v) && isView(v.getDefiningOp())) {
    Value base = v;
    while (!inMemory(base) && base.getDefiningOp<ir::ReshapeOp>())
      base = base.getDefiningOp()->getOperand(0);
    if (inMemory(base))
      return {base, domain.facts.simplify(flatten(ir::dimsOf(v), indices))};
    indices = domain.backward(v.getDefiningOp(), indices);
    v = v.getDefiningOp()->getOperand(0);
  }
  return {v, domain.facts.simplify(flatten(ir::dimsOf(v), indices))};
}
