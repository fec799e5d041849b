//===- Planes.cpp - Images inside flat offsets -----------------------------===//

#include "Planes.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using shape::Expr;

std::optional<Planes> Planes::of(RankedTensorType type) {
  ir::Dims dims = ir::dimsOf(type);
  if (dims.size() < 3)
    return std::nullopt;
  Planes p{dims[0], dims[1], ir::Dims(dims.begin() + 2, dims.end())};
  if (p.pixels().isOne() || p.channels.isOne())
    return std::nullopt;
  return p;
}

namespace {
/// What the predicate of an access says: 0 <= e, and e < high, of index expressions.
struct Predicate {
  std::vector<Expr> fromZero;
  std::vector<std::pair<Expr, Expr>> below;

  explicit Predicate(Value condition);
};

/// An index expression or a constant.
std::optional<Expr> indexOf(Value v) {
  if (auto index = v.getDefiningOp<kernel::IndexOp>())
    return index.getIndexExpr();
  IntegerAttr constant;
  if (matchPattern(v, m_Constant(&constant)))
    return Expr(constant.getInt());
  return std::nullopt;
}
} // namespace

Predicate::Predicate(Value condition) {
  SmallVector<Value> work;
  if (condition)
    work.push_back(condition);
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (auto both = dyn_cast_or_null<arith::AndIOp>(op)) {
      work.append({both.getLhs(), both.getRhs()});
      continue;
    }
    auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
    std::optional<Expr> left = compare ? indexOf(compare.getLhs()) : std::nullopt;
    std::optional<Expr> right = compare ? indexOf(compare.getRhs()) : std::nullopt;
    if (!left || !right)
      continue;
    if (compare.getPredicate() == arith::CmpIPredicate::sge)
      fromZero.push_back(*left - *right);
    else if (compare.getPredicate() == arith::CmpIPredicate::slt)
      below.push_back({*left, *right});
  }
}

/// e = floordiv(x, k) + c as x + c * k and k.
static std::optional<std::pair<Expr, Expr>> quotient(const Expr &e) {
  std::optional<std::pair<Expr, Expr>> parts;
  Expr constant(0);
  for (const Expr::Term &t : e.terms()) {
    if (t.atoms.empty())
      constant = Expr(t.coefficient);
    else if (parts || t.coefficient != 1 || t.atoms.size() != 1 || t.atoms[0].kind != shape::Atom::Kind::FloorDiv)
      return std::nullopt;
    else
      parts = {t.atoms[0].operands[0], t.atoms[0].operands[1]};
  }
  if (parts)
    parts->first = parts->first + constant * parts->second;
  return parts;
}

/// Is it another number at other points of the axes?
static bool varies(const Expr &e, const shape::Facts &facts) {
  return llvm::any_of(e.symbols(), [&](const std::string &s) { return facts.extentOf(s) || shape::kindOf(s) == shape::SymbolKind::Indirect; });
}

/// 0 <= e < size wherever the predicate holds. A quotient is inside of an image where what is divided is inside of a larger one.
static bool isInside(const Expr &e, const Expr &size, const Predicate &predicate, const shape::Facts &facts) {
  auto isSize = [&](const Expr &x) { return facts.provablyLessEqual(Expr(0), x); }; // one of 0 has nothing inside
  if (auto parts = quotient(e); parts && isSize(parts->second) && isSize(size))
    return isInside(parts->first, size * parts->second, predicate, facts);
  auto saysLow = [&](const Expr &x) { return x == e; };
  auto saysHigh = [&](const std::pair<Expr, Expr> &b) { // of e moved by sizes: where the image is a part of what the axis runs over
    Expr moved = e - b.first;
    return !varies(moved, facts) && facts.provablyLessEqual(b.second + moved, size);
  };
  return (llvm::any_of(predicate.fromZero, saysLow) || facts.provablyLessEqual(Expr(0), e)) &&
         (llvm::any_of(predicate.below, saysHigh) || facts.provablyLess(e, size));
}

/// Is the pixel inside its plane? It is where its coordinates are; which part of a constant belongs to which coordinate is
/// found by trying the neighbours of the nearest.
static bool isPixel(const Expr &pixel, ArrayRef<Expr> spatial, const Predicate &predicate, const shape::Facts &facts) {
  if (isInside(pixel, shape::product(spatial), predicate, facts))
    return true;
  if (spatial.size() == 1)
    return false;
  Expr stride = shape::product(spatial.drop_front());
  auto [coordinate, rest] = kernel::splitBy(pixel, stride);
  for (int64_t shift : {0, -1, 1, -2, 2})
    if (isInside(coordinate + Expr(shift), spatial[0], predicate, facts) &&
        isPixel(rest - stride * Expr(shift), spatial.drop_front(), predicate, facts))
      return true;
  return false;
}

/// Indirect indices are clamped when a kernel is formed: max(min(i, size - 1), 0).
static void addIndirect(ValueRange indices, shape::Facts &facts) {
  for (auto [i, v] : llvm::enumerate(indices)) {
    auto low = v.getDefiningOp<arith::MaxSIOp>();
    auto high = low ? low.getLhs().getDefiningOp<arith::MinSIOp>() : arith::MinSIOp();
    std::optional<Expr> zero = low ? indexOf(low.getRhs()) : std::nullopt, last = high ? indexOf(high.getRhs()) : std::nullopt;
    if (zero && zero->isZero() && last)
      facts.setAxis(Expr::indirect(i).str(), *last + Expr(1));
  }
}

static Expr constantOf(const Expr &e) {
  for (const Expr::Term &t : e.terms())
    if (t.atoms.empty())
      return Expr(t.coefficient);
  return Expr(0);
}

std::optional<Place> target::placeOf(Operation *access, const Planes &planes, const shape::Facts &given) {
  auto load = dyn_cast<kernel::LoadOp>(access);
  auto store = dyn_cast<kernel::StoreOp>(access);
  if (!load && !store)
    return std::nullopt;
  shape::Facts facts = given.clone();
  addIndirect(load ? load.getIndices() : store.getIndices(), facts);
  Predicate predicate(load ? load.getPredicate() : store.getPredicate());
  auto [plane, pixel] = kernel::splitBy(load ? load.getOffsetExpr() : store.getOffsetExpr(), planes.pixels());
  // A border of half a plane, as wide dilations have it, is nearest to a plane of its own.
  for (int64_t shift : {0, -1, 1}) {
    auto [image, channel] = kernel::splitBy(plane + Expr(shift), planes.channels);
    Expr moved = pixel - planes.pixels() * Expr(shift);
    if (!isPixel(moved, planes.spatial, predicate, facts))
      continue;
    // A part of a concatenation, behind others of as many channels, begins at a number of channels that looks like one of images.
    for (const Expr &images : {Expr(0), constantOf(image)})
      if (Expr from = channel + images * planes.channels; isInside(from, planes.channels, predicate, facts))
        return Place{image - images, from, moved};
  }
  return std::nullopt;
}
