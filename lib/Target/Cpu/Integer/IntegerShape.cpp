//===- IntegerShape.cpp - The roles of an integer product's axes -----------===//

#include "IntegerProduct.h"
#include "lathe/Dialect/Kernel/BytePairs.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

namespace {
/// A byte that was widened to 32 bits.
struct Widened {
  Value byte;
  bool isSigned;

  static Widened of(Value v) {
    Operation *op = v.getDefiningOp();
    return {op->getOperand(0), isa<arith::ExtSIOp>(op)};
  }
};

struct Product {
  kernel::ReduceOp sum;
  Widened factors[2];
};
} // namespace

static std::optional<Product> productIn(const BodyInfo &info) {
  arith::MulIOp mul = lower::productOfBytes(info);
  return mul ? std::optional(Product{lower::onlySum(info), {Widened::of(mul.getLhs()), Widened::of(mul.getRhs())}}) : std::nullopt;
}

/// The group's accesses behind the sum step through it at one stride.
static bool isFlat(const AxisGroup &group, const BodyInfo &info, const llvm::DenseSet<Operation *> &before) {
  return llvm::all_of(info.ops, [&](Operation *op) {
    return !isa<kernel::LoadOp, kernel::StoreOp, kernel::IndexOp>(op) || before.contains(op) || group.strideOf(info.exprOf(op));
  });
}

static std::optional<int64_t> coefficientOf(const Expr &e, const std::string &axis) {
  std::optional<Expr::Linear> l = e.linearIn(axis);
  return l ? l->coefficient.constant() : std::nullopt;
}

std::vector<Slide> cpu::slidesOf(const BodyInfo &info, kernel::ReduceOp sum, const AxisGroup &rows, AxisSet reduced,
                                   const llvm::DenseSet<Operation *> &image) {
  auto texts = sum->getAttrOfType<ArrayAttr>("slides");
  std::vector<Slide> slides;
  bool taps = false;
  for (Attribute text : texts ? texts.getValue() : ArrayRef<Attribute>()) {
    Expr place = Expr::parsed(cast<StringAttr>(text).getValue());
    Slide s;
    for (unsigned a = 0; a < info.axes.size(); ++a) {
      if (!place.mentions(info.axes[a]))
        continue;
      std::optional<int64_t> step = coefficientOf(place, info.axes[a]);
      bool tap = reduced >> a & 1;
      if (!step || *step < 1 || (tap ? s.tap : s.row))
        return {};
      (tap ? s.tap : s.row) = a;
      (tap ? s.dilation : s.stride) = *step;
    }
    if (!s.row || (s.tap ? s.stride != 1 && s.dilation != 1 : s.stride != 1))
      return {};
    taps |= s.tap.has_value();
    for (Operation *op : image) { // a tap is as good as a row
      if (!s.tap || !isa<kernel::LoadOp, kernel::IndexOp>(op))
        continue;
      std::optional<Expr::Linear> row = info.exprOf(op).linearIn(info.axes[*s.row]), tap = info.exprOf(op).linearIn(info.axes[*s.tap]);
      if (!row || !tap || row->coefficient * Expr(s.dilation) != tap->coefficient * Expr(s.stride))
        return {};
    }
    slides.push_back(s);
  }
  bool inner = !slides.empty() && !rows.axes.empty() && *slides.back().row == rows.axes.back();
  if (inner && slides.size() > 1)
    inner = rows.axes.size() > 1 && *slides[slides.size() - 2].row == rows.axes[rows.axes.size() - 2];
  return taps && inner ? slides : std::vector<Slide>();
}

Expr IntegerShape::words() const {
  const AxisGroup &reduced = product.reduced;
  Expr n(1);
  for (unsigned a : reduced.axes)
    n = n * (a == channels() ? Expr::ceildiv(reduced.info->extents[a], Expr(quad)) : reduced.info->extents[a]);
  return n;
}

static std::optional<IntegerShape> shapeOf(const BodyInfo &info, Product p, bool swapped) {
  Widened rows = p.factors[swapped], columns = p.factors[!swapped];
  kernel::LoadOp load = lower::plainLoad(columns.byte);
  if (!load)
    return std::nullopt;
  AxisSet reduced = info.axesOf(p.sum.getAxes()), left = info.axesOf(rows.byte), right = info.axesOf(columns.byte);
  if ((left & right & reduced) != reduced || (left | right) != allAxes(info))
    return std::nullopt;
  IntegerShape s;
  s.rows = rows.byte;
  s.columns = load;
  s.rowsSigned = rows.isSigned;
  s.columnsSigned = columns.isSigned;
  ContractionShape &c = s.product;
  c.rows = AxisGroup::of(info, left & ~right & ~reduced);
  c.columns = AxisGroup::of(info, right & ~left & ~reduced);
  c.batch = AxisGroup::of(info, left & right & ~reduced);
  c.reduced = AxisGroup::of(info, reduced);
  c.result = p.sum.getResult();
  c.resultType = p.sum.getType();
  c.accumulator = Float32Type::get(p.sum.getContext());
  c.rhsRef = load.getRef();
  c.rhs = info.exprOf(load);
  c.packed = load->hasAttr("packed");
  if (auto rows = load->getAttrOfType<IntegerAttr>(kernel::pairsName); rows && c.packed)
    s.pairs = rows.getInt();
  llvm::DenseSet<Operation *> image = lower::opsBelow(s.rows), before = image;
  before.insert(load);
  c.rowsFlat = isFlat(c.rows, info, before);
  c.columnsFlat = isFlat(c.columns, info, before);
  c.batchFlat = isFlat(c.batch, info, {});
  if (c.columns.empty() || (c.packed && c.batch.axes.size() > 1)) // of a packed one: groups
    return std::nullopt;
  s.slides = c.packed ? slidesOf(info, p.sum, c.rows, reduced, image) : std::vector<Slide>();
  std::vector<unsigned> order; // in which the filter is packed: taps, then channels
  for (const Slide &slide : s.slides)
    if (slide.tap)
      order.push_back(*slide.tap);
  order.push_back(s.channels());
  if (order != c.reduced.axes)
    s.slides.clear();
  return s;
}

/// The second factor has the columns, which fill the lanes.
std::optional<IntegerShape> IntegerShape::of(const BodyInfo &info) {
  std::optional<Product> p = productIn(info);
  if (!p)
    return std::nullopt;
  std::optional<IntegerShape> s = shapeOf(info, *p, false);
  return s ? s : shapeOf(info, *p, true);
}
