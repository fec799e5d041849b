//===- BulkProblem.cpp - Products whose operands bulk copies can fetch ------===//

#include "BulkProblem.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// The operand as a tensor of at most five dimensions whose innermost one is contiguous, lines next, batch axes outside.
static std::optional<OperandMap> mapOf(const GemmProblem &p, const ProductOperand &o, ArrayRef<unsigned> lineAxes,
                                       const Expr &lines, bool byColumns) {
  const lower::BodyInfo &info = p.shape.info;
  if (!o.isDirect())
    return std::nullopt;
  int64_t bytes = o.type.getIntOrFloatBitWidth() / 8;
  ArrayRef<unsigned> inner = byColumns ? lineAxes : ArrayRef<unsigned>(p.shape.depthAxes);
  ArrayRef<unsigned> outer = byColumns ? ArrayRef<unsigned>(p.shape.depthAxes) : lineAxes;
  std::optional<Expr> along = p.shape.stepAlong(o.offset, inner), across = p.shape.stepAlong(o.offset, outer);
  if (!along || !along->isOne() || !across)
    return std::nullopt;
  lower::Divisibility needs(info);
  bool lies = needs.assume(*across, 16 / bytes);
  OperandMap map;
  map.byColumns = byColumns;
  map.spec.buffer = cast<BlockArgument>(o.ref).getArgNumber();
  map.spec.element = o.type;
  map.spec.dims = {byColumns ? lines : p.k, byColumns ? p.k : lines};
  // A stride of 0 (one line) is none that the hardware takes; any multiple of 16 will do.
  map.spec.strides = {Expr(0), (across->isZero() ? Expr(16) : *across) * Expr(bytes)};
  Expr rest = o.offset;
  for (unsigned i = p.shape.batchAxes.size(); i-- > 0;) {
    unsigned axis = p.shape.batchAxes[i];
    auto linear = rest.linearIn(info.axes[axis]);
    if (!linear || info.axesOf(linear->coefficient))
      return std::nullopt;
    lies &= needs.assume(linear->coefficient, 16 / bytes);
    if (linear->coefficient.isZero())
      continue;
    map.batchAxes.push_back(i);
    map.spec.dims.push_back(info.extents[axis]);
    map.spec.strides.push_back(linear->coefficient * Expr(bytes));
    rest = linear->rest;
  }
  rest = atZero(info, atZero(info, rest, p.shape.depthAxes), lineAxes);
  if (info.axesOf(rest) || map.batchAxes.size() > 3)
    return std::nullopt;
  if (lies && rest.isZero())
    map.needs = needs;
  return map;
}

/// An image that a window is read from.
static std::optional<OperandMap> mapOfImage(const GemmProblem &p, const ProductOperand &o, ArrayRef<unsigned> lineAxes) {
  OperandMap map;
  map.window = imageWindow(p, o, lineAxes);
  if (!map.window || !p.shape.batchAxes.empty())
    return std::nullopt;
  int64_t bytes = o.type.getIntOrFloatBitWidth() / 8;
  map.spec.buffer = cast<BlockArgument>(o.ref).getArgNumber();
  map.spec.element = o.type;
  map.spec.dims = {Expr(map.window->channels)};
  Expr stride = Expr(map.window->channels * bytes);
  map.spec.strides = {Expr(0), stride};
  for (const ImageWindow::Dimension &d : map.window->spatial) {
    map.spec.dims.push_back(d.size);
    map.spec.strides.push_back(stride = stride * d.size);
    map.spec.lower.push_back(d.lower);
    map.spec.upper.push_back(d.upper);
    map.spec.steps.push_back(d.stride);
  }
  map.spec.dims.push_back(map.window->images);
  map.needs.emplace(p.shape.info);
  return map;
}

/// Of bytes whose lines lie side by side, which a copy turns.
static std::optional<OperandMap> mapOfTurned(const GemmProblem &p, const ProductOperand &o, ArrayRef<unsigned> lineAxes, const Expr &lines) {
  std::optional<OperandMap> map = p.multipliesBytes() ? mapOf(p, o, lineAxes, lines, /*byColumns=*/true) : std::nullopt;
  if (!map)
    return std::nullopt;
  std::swap(map->spec.dims[0], map->spec.dims[1]);
  map->byColumns = false;
  map->isTurned = true;
  map->inPieces = map->needs.has_value();
  map->needs.reset();
  return map;
}

/// Tensor cores turn halves whose lines lie side by side, but no other numbers.
static std::optional<OperandMap> mapOfEither(const GemmProblem &p, const ProductOperand &o, ArrayRef<unsigned> lineAxes,
                                             const Expr &lines, bool mayCopy) {
  std::optional<OperandMap> byDepth = mapOf(p, o, lineAxes, lines, false);
  if (byDepth && byDepth->needs)
    return byDepth;
  if (std::optional<OperandMap> image = mapOfImage(p, o, lineAxes))
    return image;
  std::optional<OperandMap> byLines = o.type.getIntOrFloatBitWidth() != 16 ? std::nullopt : mapOf(p, o, lineAxes, lines, true);
  if (byLines && byLines->needs)
    return byLines;
  return !mayCopy ? std::nullopt : byDepth ? byDepth : byLines ? byLines : mapOfTurned(p, o, lineAxes, lines);
}

static std::optional<BulkProblem> problemOf(const GemmProblem &p, bool mayCopy) {
  std::optional<OperandMap> a = mapOfEither(p, p.lhs, p.shape.rowAxes, p.m, mayCopy);
  std::optional<OperandMap> b = a ? mapOfEither(p, p.rhs, p.shape.columnAxes, p.n, mayCopy) : std::nullopt;
  return b ? std::optional(BulkProblem{p, *a, *b}) : std::nullopt;
}

std::optional<BulkProblem> cuda::bulkProblem(const GemmProblem &p) {
  if (std::optional<BulkProblem> lying = problemOf(p, /*mayCopy=*/false))
    return lying;
  // Columns that do not lie in one run, as the pixels of several images, may be taken one image at a time.
  if (p.shape.columnAxes.size() >= 2 && p.shape.batchAxes.size() < 3) {
    GemmProblem apart = p;
    apart.shape.batchAxes.push_back(apart.shape.columnAxes.front());
    apart.shape.columnAxes.erase(apart.shape.columnAxes.begin());
    apart.countAxes();
    if (std::optional<BulkProblem> lying = bulkProblem(apart))
      return lying;
  }
  return problemOf(p, /*mayCopy=*/true);
}

std::optional<BulkProblem> cuda::bulkProblem(const lower::BodyInfo &info, const CodedProblem &codes) {
  kernel::ReduceOp sum = codes.product.sum;
  kernel::LoadOp lhs = codes.product.lhs, words = codes.words;
  ContractionShape shape(info, lower::ContractionRoles(info, info.axesOf(lhs.getResult()), info.axesOf(codes.product.rhs), info.axesOf(sum.getAxes())));
  ProductOperand left{lhs.getRef(), info.exprOf(lhs), {}, lhs.getType()}, right{words.getRef(), {}, codes.product.rhs, lhs.getType()};
  GemmProblem p{shape, left, right, sum.getResult(), codes.stores, {}, {}, {}, {}};
  p.countAxes();
  std::optional<OperandMap> a = mapOf(p, left, shape.rowAxes, p.m, /*byColumns=*/false);
  if (!a || !a->needs || !a->needs->conditions().empty())
    return std::nullopt;
  OperandMap b;
  b.spec.buffer = kernel::GenericOp(info.kernel).getBody().getNumArguments(); // the scratch memory
  b.spec.element = lhs.getType();
  b.spec.dims = {p.k, p.n};
  b.spec.strides = {Expr(0), p.k * Expr(2)};
  b.needs.emplace(info);
  return BulkProblem{p, *a, b, &codes};
}

/// The window whose channels end within a piece, if there is one.
static const ImageWindow *partialWindow(const OperandMap &a, const OperandMap &b) {
  for (const OperandMap *map : {&a, &b})
    if (map->window && !map->window->isWhole())
      return &*map->window;
  return nullptr;
}

Expr cuda::stepsOf(const GemmProblem &p, const OperandMap &a, const OperandMap &b, int64_t depth) {
  const ImageWindow *w = partialWindow(a, b);
  if (!w)
    return Expr::ceildiv(p.k, Expr(depth));
  Expr steps = w->pieces;
  for (unsigned axis : ArrayRef<unsigned>(p.shape.depthAxes).drop_back())
    steps = steps * p.shape.info.extents[axis];
  return steps;
}

Value cuda::depthAt(DeviceBuilder &d, const OperandMap &a, const OperandMap &b, Value step, int64_t depth) {
  const ImageWindow *w = partialWindow(a, b);
  if (!w)
    return d.mul(step, depth);
  int64_t pieces = *w->pieces.constant();
  return d.add(d.mul(d.div(step, pieces), w->channels), d.mul(d.rem(step, pieces), depth));
}

Value cuda::linesOfCopy(DeviceBuilder &d, const OperandMap &map, Value tileLines, Value extent) {
  if (map.window || map.byColumns)
    return tileLines;
  constexpr int64_t ofSwizzle = 8;
  Value pieces = d.div(d.add(extent, ofSwizzle - 1), ofSwizzle), one = d.constant(extent.getType(), 1);
  return d.minU(tileLines, d.mul(d.b.create<arith::MaxUIOp>(d.loc, pieces, one), ofSwizzle));
}
