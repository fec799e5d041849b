//===- JoinPieces.cpp - Concatenations along an outer axis, in longer rows -===//
//
// Images that are joined by channels, sequences by tokens: which operand is read changes with an outer axis, and the elements of an inner one lie
// behind one another in all operands and in the result. i < k of the outer axis is n * i + j < n * k of the place in both, where the inner one
// has n elements. Asked so, the two axes are one, and a row is long stretches of each operand.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/JoinPieces.h"
#include "KernelAxes.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/EmitExpr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

namespace {
class Joiner {
public:
  explicit Joiner(kernel::GenericOp kernel) : k(kernel) {}
  /// Whether a pair of axes now is one.
  bool joinOne();

private:
  bool join(const Axis &outer, const Axis &inner);
  bool movesAsOne(const Indexing &i, const Axis &outer, const Axis &inner) const;
  std::optional<SmallVector<arith::CmpIOp>> placesAsked(const Indexing &i, const Axis &outer) const;

  KernelAxes k;
};
} // namespace

static bool mentionsAxes(const Expr &e) {
  return llvm::any_of(e.symbols(), [](const std::string &s) { return shape::kindOf(s) != shape::SymbolKind::Size; });
}

/// Does an access go from the end of the inner axis to the next place of the outer one as it goes along the inner one?
bool Joiner::movesAsOne(const Indexing &i, const Axis &outer, const Axis &inner) const {
  std::optional<Expr::Linear> a = i.expr.linearIn(outer.name), b = i.expr.linearIn(inner.name);
  return a && b && b->coefficient.isOne() && a->coefficient == inner.extent;
}

/// The comparisons of the outer axis's place, where it is asked for nothing else.
std::optional<SmallVector<arith::CmpIOp>> Joiner::placesAsked(const Indexing &i, const Axis &outer) const {
  auto index = dyn_cast<kernel::IndexOp>(i.op);
  std::optional<Expr::Linear> linear = i.expr.linearIn(outer.name);
  if (!index || !index.getIndices().empty() || !linear || !linear->coefficient.isOne() || mentionsAxes(linear->rest))
    return std::nullopt;
  SmallVector<arith::CmpIOp> asked;
  for (Operation *user : index->getUsers()) {
    auto compare = dyn_cast<arith::CmpIOp>(user);
    bool isSide = compare && llvm::is_contained({arith::CmpIPredicate::slt, arith::CmpIPredicate::sge}, compare.getPredicate());
    if (!isSide || compare.getLhs() != index.getResult() || indexOf(compare.getRhs()).isUnknown() || mentionsAxes(indexOf(compare.getRhs())))
      return std::nullopt;
    asked.push_back(compare);
  }
  return asked;
}

bool lower::canCutAt(ArrayRef<Expr> places) {
  constexpr size_t most = 8;
  return places.size() <= most && llvm::all_of(places, [&](const Expr &x) {
    return llvm::all_of(places, [&](const Expr &y) { return isNonNegative(x - y) || isNonNegative(y - x); });
  });
}

bool Joiner::join(const Axis &outer, const Axis &inner) {
  SmallVector<std::pair<arith::CmpIOp, Expr>> asked; ///< and the place in both axes
  SmallVector<Indexing *> indices;
  SmallVector<Expr> places;
  for (Indexing &i : k.exprs) {
    if (!i.expr.mentions(outer.name) && !i.expr.mentions(inner.name))
      continue;
    if (!isa<kernel::IndexOp>(i.op)) {
      if (!movesAsOne(i, outer, inner))
        return false;
      continue;
    }
    std::optional<SmallVector<arith::CmpIOp>> compares = placesAsked(i, outer);
    if (!compares)
      return false;
    if (!compares->empty())
      indices.push_back(&i);
    for (arith::CmpIOp compare : *compares) {
      Expr place = (indexOf(compare.getRhs()) - i.expr.linearIn(outer.name)->rest) * inner.extent;
      asked.push_back({compare, place});
      if (!llvm::is_contained(places, place))
        places.push_back(place);
    }
  }
  if (places.empty() || !canCutAt(places))
    return false;
  for (auto &[compare, place] : asked) {
    OpBuilder b(compare);
    Value limit = b.create<kernel::IndexOp>(compare.getLoc(), b.getI64Type(), b.getStringAttr(place.str()), ValueRange());
    compare.getRhsMutable().assign(limit);
  }
  for (Indexing *i : indices)
    i->expr = inner.extent * Expr::symbol(outer.name) + Expr::symbol(inner.name);
  k.writeBack();
  return true;
}

bool Joiner::joinOne() {
  for (const Axis &outer : k.axes)
    for (const Axis &inner : k.axes)
      if (outer.name != inner.name && join(outer, inner))
        return true;
  return false;
}

/// A border is no operand: its rows are filled as they are.
static bool readsPieces(kernel::GenericOp kernel) {
  auto loads = kernel.getBody().front().getOps<kernel::LoadOp>();
  return llvm::count_if(loads, [](kernel::LoadOp load) { return bool(load.getPredicate()); }) > 1;
}

void lower::joinPieces(kernel::GenericOp kernel) {
  if (kernel.getKernelClass() != kernel::KernelClass::Loop || kernel.getBody().front().getOperations().size() > largestCutBody || !readsPieces(kernel))
    return;
  Joiner(kernel).joinOne();
}
