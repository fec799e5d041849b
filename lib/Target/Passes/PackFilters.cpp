//===- PackFilters.cpp - Filters of convolutions as micro-kernels read them ===//

#include "ChannelTaps.h"
#include "DilatedWindows.h"
#include "EmptyWindows.h"
#include "FilterSpans.h"
#include "Filters.h"
#include "lathe/Dialect/Kernel/FilterSpans.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/WindowEdges.h"
#include "lathe/Schedule/Windows.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace lathe::target {
#define GEN_PASS_DEF_PACKFILTERS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

namespace {

/// Constant extents and strides of axes in an offset without a constant part.
struct Strides {
  SmallVector<int64_t> extents, strides;
  int64_t count = 1;

  static std::optional<Strides> of(const BodyInfo &info, AxisSet axes, const Expr &offset) {
    Strides s;
    for (unsigned a = 0; a < info.axes.size(); ++a) {
      if (!(axes >> a & 1))
        continue;
      std::optional<int64_t> extent = info.extents[a].constant();
      std::optional<Expr::Linear> linear = offset.linearIn(info.axes[a]);
      std::optional<int64_t> stride = linear ? linear->coefficient.constant() : std::nullopt;
      if (!extent || !stride)
        return std::nullopt;
      s.extents.push_back(*extent);
      s.strides.push_back(*stride);
      s.count *= *extent;
    }
    return s;
  }
  /// The one stride of a walk through all of them, the last fastest.
  std::optional<int64_t> single() const {
    int64_t stride = strides.back(), expected = stride;
    for (size_t i = strides.size(); i-- > 0; expected *= extents[i])
      if (strides[i] != expected && extents[i] != 1)
        return std::nullopt;
    return stride;
  }
};

/// What filters are packed for.
struct FilterForms {
  int64_t panel;
  bool halves, winograd;
  StringRef precision;
};

/// What kernels with one filter have in common: the levels of a pyramid have the filter twice where one of them has, in one form.
struct SharedFilters {
  llvm::DenseMap<Value, int64_t> readers; ///< before any filter is packed
  llvm::DenseMap<Value, schedule::WindowChoice> chosen;

  schedule::WindowChoice choose(Value filter, schedule::WindowedSum sum) {
    sum.readers = std::max<int64_t>(1, readers.lookup(filter));
    schedule::WindowChoice mine = schedule::chooseWinograd(sum);
    if (mine.tiles && !mine.both)
      return mine;
    return chosen.try_emplace(filter, mine).first->second;
  }
};

class Packer {
public:
  Packer(kernel::GenericOp kernel, const FilterForms &forms, SharedFilters &shared)
      : kernel(kernel), info(kernel), panel(forms.panel), halves(forms.halves), winograd(forms.winograd), precision(forms.precision), shared(shared) {}
  void run() {
    std::optional<Filter> f = Filter::of(info, halves);
    if (!f || !isWhole(*f))
      return;
    if (f->isDense())
      packDense(*f);
    else if ((!f->isDepthwise() || !packDepthwise(*f)) && panel)
      packGrouped(*f);
  }
  /// Puts channels that lie side by side innermost in the sum and, in panels, the columns of interleaved results into the order that they have there,
  /// and the filter's with them.
  void orderColumns();
  /// Joins the taps along a line with the few channels of each pixel, where these lie side by side and are no window for tiles of results.
  void joinTaps();
  /// Whether the filter would be there for tiles of results alone.
  bool isTiled();

private:
  std::optional<Expr> resultStep(unsigned axis);
  bool isInterleaved(Filter f);
  bool readsPlanes(Filter f);
  bool hasFewPixels(Filter f);
  bool arePixelsApart(Filter f);
  void orderAxes(ArrayRef<unsigned> order);
  void putEmptiestFirst(Filter f, SmallVectorImpl<unsigned> &columns, ArrayRef<unsigned> reduced);
  bool permuteFilter(Filter f, ArrayRef<unsigned> columns);
  void markSpans(Filter f, int64_t depth);
  bool isWhole(Filter f);
  bool wantsPanels(Filter f, int64_t depth);
  RankedTensorType panelType(Filter f, const Strides &k, int64_t columns, bool mayNarrow);
  void widen(Filter f, Type element);
  void packDense(Filter f);
  /// A way to compute in tiles, and the window in them.
  struct Tiled {
    schedule::WindowChoice way;
    lower::SlidingWindow window;
    int64_t high() const { return way.tiles.results()[0]; }
    int64_t wide() const { return way.tiles.results()[1]; }
  };
  std::optional<Tiled> inTiles(Filter f, const Strides &k, int64_t columns, int64_t step);
  Value packWinograd(Filter f, const Strides &k, int64_t columns, int64_t step, bool &both);
  void packRows(Filter f, const Strides &k, int64_t columns, int64_t step);
  bool packDepthwise(Filter f);
  std::optional<int64_t> channelAxis(Filter f);
  void packGrouped(Filter f);
  void replace(Filter f, Value with);
  Expr placeIn(AxisSet axes) const;

  kernel::GenericOp kernel;
  BodyInfo info;
  int64_t panel;
  bool halves, winograd;
  StringRef precision;
  SharedFilters &shared;
};

} // namespace

static Value sourceOf(kernel::GenericOp kernel, Filter f) {
  return kernel.getInputs()[cast<BlockArgument>(f.load.getRef()).getArgNumber()];
}

/// Does the offset start at element 0 and is it a sum over axes alone?
bool Packer::isWhole(Filter f) {
  std::map<std::string, Expr> zeros;
  for (const std::string &axis : info.axes)
    zeros.insert({axis, Expr(0)});
  return info.exprOf(f.load).substitute(zeros).isZero();
}

void Packer::replace(Filter f, Value with) {
  kernel.getInputsMutable()[cast<BlockArgument>(f.load.getRef()).getArgNumber()].set(with);
}

/// The number of a point among those of some axes, the last axis fastest.
Expr Packer::placeIn(AxisSet axes) const {
  Expr at(0);
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (axes >> a & 1)
      at = at * info.extents[a] + Expr::symbol(info.axes[a]);
  return at;
}

/// How far apart neighbours along an axis lie in the kernel's results; nothing where that differs or is no one distance.
std::optional<Expr> Packer::resultStep(unsigned axis) {
  std::optional<Expr> step;
  for (Operation *op : info.ops) {
    if (!isa<kernel::StoreOp>(op))
      continue;
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
    if (!linear || linear->coefficient.isZero() || (step && *step != linear->coefficient))
      return std::nullopt;
    step = linear->coefficient;
  }
  return step;
}

/// The larger of two distances in one tensor: more sizes are multiplied in it, or the same ones with a larger number.
static bool isLarger(const Expr &x, const Expr &y) {
  auto size = [](const Expr &e) {
    std::pair<size_t, int64_t> largest{0, 0};
    for (const Expr::Term &t : e.terms())
      largest = std::max(largest, std::pair(t.atoms.size(), t.coefficient));
    return largest;
  };
  return size(x) > size(y);
}

/// Columns that are not one run in the results: pixels between pixels, as a transposed convolution has them.
bool Packer::isInterleaved(Filter f) {
  SmallVector<unsigned> columns;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if ((f.columns >> a & 1) && !info.extents[a].isOne())
      columns.push_back(a);
  if (llvm::any_of(columns, [&](unsigned a) { return !resultStep(a); }))
    return false;
  for (size_t i = 1; i < columns.size(); ++i)
    if (*resultStep(columns[i - 1]) != *resultStep(columns[i]) * info.extents[columns[i]])
      return true;
  return false;
}

/// Results with channels together, of an image whose pixels lie together in planes of channels, as many as fill vectors.
bool Packer::readsPlanes(Filter f) {
  constexpr int64_t fewest = 16;
  auto stepsBy = [&](Operation *op, unsigned axis, int64_t by) {
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
    return linear && linear->coefficient.constant() == by;
  };
  bool planes = false, stored = false;
  for (Operation *op : info.ops)
    for (unsigned a = 0; a < info.axes.size(); ++a) {
      AxisSet axis = AxisSet(1) << a;
      if (isa<kernel::StoreOp>(op) && (f.columns & axis))
        stored |= stepsBy(op, a, 1);
      if (!isa<kernel::LoadOp>(op) || op == f.load || !(info.domainOf(op) & f.reduced) || !(f.reduced & axis) || info.extents[a].constant().value_or(0) < fewest)
        continue;
      if (stepsBy(op, a, 1))
        return false;
      planes = true;
    }
  return planes && (stored || hasFewPixels(f));
}

/// Panels of pixels end with the image, and are computed whole: of 7x7 pixels 64 are. Then the channels are in the lanes although results have
/// their pixels together, if what that leaves over is less. Tiles of pixels leave out lines of the window that lie outside of the image.
bool Packer::hasFewPixels(Filter f) {
  constexpr int64_t narrowest = 16, fewestRows = 2, most = 1024;
  constexpr double worth = 1.05;
  int64_t pixels = 1, columns = 1;
  std::optional<lower::WindowEdges> edges = lower::WindowEdges::of(info, f.image, f.rows, lower::axesIn(info, f.reduced));
  double inside = 1 - (edges ? edges->outside(info).value_or(0) : 0);
  for (unsigned a = info.axes.size(); a-- > 0;) {
    int64_t extent = info.extents[a].constant().value_or(0);
    if (f.columns >> a & 1)
      columns *= extent;
    else if (std::optional<Expr> step = f.rows >> a & 1 ? resultStep(a) : std::nullopt; step && *step == Expr(pixels))
      pixels *= extent;
  }
  auto computed = [](int64_t n) { return double(llvm::alignTo(n, narrowest)) / double(n); };
  return pixels >= fewestRows && pixels <= most && columns >= narrowest && computed(pixels) > worth * computed(columns) * inside;
}

void Packer::orderAxes(ArrayRef<unsigned> order) {
  SmallVector<Attribute> names, extents;
  for (unsigned a : order) {
    names.push_back(kernel.getAxisNames()[a]);
    extents.push_back(kernel.getAxisExtents()[a]);
  }
  kernel.setAxisNamesAttr(ArrayAttr::get(kernel.getContext(), names));
  kernel.setAxisExtentsAttr(ArrayAttr::get(kernel.getContext(), extents));
}

/// A constant with the filter's columns in this order, each with its products as they were.
bool Packer::permuteFilter(Filter f, ArrayRef<unsigned> columns) {
  auto constant = sourceOf(kernel, f).getDefiningOp<ir::ConstantOp>();
  std::optional<ir::ConstantTensor> from = constant ? ir::readConstant(constant.getValue()) : std::nullopt;
  if (!from)
    return false;
  int64_t count = 1;
  SmallVector<int64_t> extents, strides;
  for (unsigned a : columns) {
    std::optional<Expr::Linear> linear = info.exprOf(f.load).linearIn(info.axes[a]);
    std::optional<int64_t> extent = info.extents[a].constant(), stride = linear ? linear->coefficient.constant() : std::nullopt;
    if (!extent || !stride)
      return false;
    extents.push_back(*extent);
    strides.push_back(*stride);
    count *= *extent;
  }
  int64_t depth = count ? from->size() / count : 0;
  if (!depth || llvm::any_of(strides, [&](int64_t s) { return s % depth; }))
    return false;
  ir::ConstantTensor to(from->type);
  for (int64_t c = 0; c < count; ++c) {
    int64_t at = 0, rest = c;
    for (size_t i = columns.size(); i-- > 0; rest /= extents[i])
      at += rest % extents[i] * strides[i];
    for (int64_t k = 0; k < depth; ++k)
      to.copyFrom(*from, at + k, c * depth + k);
  }
  Expr offset = info.exprOf(f.load);
  int64_t stride = depth;
  for (size_t i = columns.size(); i-- > 0; stride *= extents[i])
    offset = offset + Expr::symbol(info.axes[columns[i]]) * Expr(stride - strides[i]);
  OpBuilder b(kernel);
  replace(f, b.create<ir::ConstantOp>(constant.getLoc(), from->type, ir::writeConstant(to, "ordered")));
  f.load.setOffset(offset.str());
  return true;
}

/// A remainder of a transposed convolution has columns of its own, and zeros at places that it has not. Those of one remainder share panels where their
/// axis is outermost, and panels end where their zeros begin. What results have side by side stays innermost.
void Packer::putEmptiestFirst(Filter f, SmallVectorImpl<unsigned> &columns, ArrayRef<unsigned> reduced) {
  Value source = sourceOf(kernel, f);
  std::optional<FilterSpans> best = FilterSpans::of(info, f, source, columns, reduced, panel);
  size_t moved = columns.size() - (resultStep(columns.back()).value_or(Expr(1)).isOne() ? 1 : 0);
  for (size_t i = 1; best && i < moved; ++i) {
    SmallVector<unsigned> order(columns.begin(), columns.end());
    std::rotate(order.begin(), order.begin() + i, order.begin() + i + 1);
    std::optional<FilterSpans> spans = FilterSpans::of(info, f, source, order, reduced, panel);
    if (spans && spans->rows() < best->rows()) {
      best = spans;
      columns = order;
    }
  }
}

/// An image that came with its channels side by side has them innermost in the sum, as one has that was moved.
void Packer::orderColumns() {
  std::optional<Filter> f = Filter::of(info, halves);
  if (!f || !isWhole(*f) || !f->isDense())
    return;
  auto axesOf = [&](AxisSet set) { return llvm::to_vector(lower::axesIn(info, set)); };
  SmallVector<unsigned> columns = axesOf(f->columns), reduced = axesOf(f->reduced), rows = axesOf(lower::allAxes(info) & ~(f->columns | f->reduced));
  if (!panel || (!isInterleaved(*f) && !readsPlanes(*f))) {
    std::optional<unsigned> found = channelsSideBySide(info, *f);
    auto channels = found ? llvm::find(reduced, *found) : reduced.end();
    if (channels == reduced.end() || channels + 1 == reduced.end())
      return;
    std::rotate(channels, channels + 1, reduced.end());
    rows.append(columns);
    rows.append(reduced);
    return orderAxes(rows);
  }
  llvm::stable_sort(columns, [&](unsigned x, unsigned y) {
    return isLarger(resultStep(x).value_or(Expr(0)), resultStep(y).value_or(Expr(0)));
  });
  // Channels in the lanes also where the image has pixels side by side: they are the axis that no border is asked for.
  auto isBordered = [&](unsigned a) {
    return llvm::any_of(info.ops,
                        [&](Operation *op) { return isa<kernel::IndexOp>(op) && info.exprOf(op).mentions(info.axes[a]); });
  };
  llvm::stable_sort(reduced, [&](unsigned x, unsigned y) {
    int64_t mine[2] = {info.extents[x].constant().value_or(0), info.extents[y].constant().value_or(0)};
    return std::pair(!isBordered(x), mine[0]) < std::pair(!isBordered(y), mine[1]);
  });
  if (isInterleaved(*f))
    putEmptiestFirst(*f, columns, reduced);
  if (!llvm::is_sorted(columns) && !permuteFilter(*f, columns))
    return;
  rows.append(columns);
  rows.append(reduced);
  orderAxes(rows);
}

/// Columns in the lanes of the direct form: the innermost column axis is contiguous in all results, and the rows of the image are, too, or are
/// short, or share lines. Results with their pixels side by side are transposed, which is little beside long sums.
bool Packer::wantsPanels(Filter f, int64_t depth) {
  unsigned lane = 0;
  int64_t columns = 1;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (f.columns >> a & 1) {
      lane = a;
      columns *= info.extents[a].constant().value_or(0);
    }
  // Of pixels that lie apart no vector is made for fewer columns; a vector of these is partly empty.
  bool apart = panel && arePixelsApart(f);
  if (panel && columns < fewestChannels)
    return apart;
  auto steps = [&](Operation *op, unsigned axis) {
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
    return linear && linear->coefficient.isOne();
  };
  bool stored = false, contiguous = false;
  for (Operation *op : info.ops) {
    stored |= isa<kernel::StoreOp>(op) && steps(op, lane);
    if (isa<kernel::LoadOp>(op) && op != f.load && (info.domainOf(op) & f.reduced))
      for (unsigned a = 0; a < info.axes.size(); ++a)
        contiguous |= (f.reduced >> a & 1) && steps(op, a) && info.extents[a].constant().value_or(0) >= fewestChannels;
  }
  bool fromLines = depth >= fewestBesideTransposing && readsLines(info, f);
  return apart || contiguous || (stored && depth <= shortFilter) || fromLines || isInterleaved(f) || hasFewPixels(f);
}

void Packer::packDense(Filter f) {
  const Expr &offset = info.exprOf(f.load);
  std::optional<Strides> k = Strides::of(info, f.reduced, offset), n = Strides::of(info, f.columns, offset);
  std::optional<int64_t> step = n ? n->single() : std::nullopt;
  bool panels = k && step && wantsPanels(f, k->count);
  if (!k || !step || (panel && n->count < fewestChannels && !panels))
    return;
  if (!panel)
    return panels ? packRows(f, *k, n->count, *step) : void();
  bool both = true;
  Value tiled = packWinograd(f, *k, n->count, *step, both), direct = sourceOf(kernel, f);
  OpBuilder b(kernel);
  if (panels && both) {
    markSpans(f, k->count);
    RankedTensorType type = panelType(f, *k, n->count, /*mayNarrow=*/!tiled);
    direct = b.create<kernel::PackOp>(direct.getLoc(), type, direct, k->count, n->count, 0, *step, panel,
                                      b.getDenseI64ArrayAttr(k->extents), b.getDenseI64ArrayAttr(k->strides));
  }
  if (panels || !both)
    f.load->setAttr("packed", b.getUnitAttr());
  replace(f, both ? direct : tiled);
  widen(f, ir::elementOf(both ? direct : tiled));
  if (!tiled || !both)
    return;
  // Behind the other operands: their numbers stay.
  unsigned last = kernel.getInputs().size();
  kernel.getInputsMutable().append(tiled);
  kernel.getBody().front().insertArgument(last, f.load.getRef().getType(), kernel.getLoc());
  f.load->setAttr(kernel::winogradFilterName, b.getI64IntegerAttr(last));
}

/// Of bf16 two points of the sum lie side by side, which are products of one instruction, or two vectors of f32 under a mask and a shift.
RankedTensorType Packer::panelType(Filter f, const Strides &k, int64_t columns, bool mayNarrow) {
  constexpr int64_t fewestPoints = 32; // a vector of bf16
  Builder b(kernel.getContext());
  int64_t panels = (columns + panel - 1) / panel, innermost = k.extents.empty() ? 0 : k.extents.back();
  if (mayNarrow && precision == "bf16" && innermost >= fewestPoints && innermost % 2 == 0 && !f.load->hasAttr(kernel::filterSpansName))
    return RankedTensorType::get({panels, k.count / 2, panel, 2}, b.getBF16Type());
  return RankedTensorType::get({panels, k.count, panel}, mayNarrow && precision == "f16" ? Type(b.getF16Type()) : b.getF32Type());
}

/// The load is of the filter's elements as they were packed, and what it was before is made of them.
void Packer::widen(Filter f, Type element) {
  Type before = f.load.getType();
  if (element == before)
    return;
  f.load.getRef().setType(kernel::RefType::get(kernel.getContext(), element));
  f.load.getResult().setType(element);
  OpBuilder b(f.load->getContext());
  b.setInsertionPointAfter(f.load);
  auto wide = b.create<arith::ExtFOp>(f.load.getLoc(), before, f.load.getResult());
  f.load.getResult().replaceAllUsesExcept(wide, wide);
}

/// Of a window over an image with its channels side by side no vector is made of pixels.
bool Packer::arePixelsApart(Filter f) {
  constexpr int64_t widest = 4; // of which a shuffle makes one
  if (channelsSideBySide(info, f))
    return llvm::count_if(lower::axesIn(info, f.reduced), [&](unsigned a) { return !info.extents[a].isOne(); }) > 1;
  return llvm::any_of(lower::axesIn(info, f.reduced), [&](unsigned tap) { // its taps may have been joined with the channels
    return lower::liesTogether(info, f.image, tap) && llvm::all_of(info.ops, [&](Operation *op) {
      bool reads = isa<kernel::LoadOp>(op) && op != f.load && (info.domainOf(op) >> tap & 1);
      return !reads || llvm::all_of(lower::axesIn(info, f.rows), [&](unsigned a) {
        std::optional<Expr::Linear> pixel = info.exprOf(op).linearIn(info.axes[a]);
        return pixel && pixel->coefficient.constant().value_or(widest + 1) > widest;
      });
    });
  });
}

void Packer::joinTaps() {
  std::optional<Filter> f = Filter::of(info);
  std::optional<unsigned> channels = f && isWhole(*f) && f->isDense() ? channelsSideBySide(info, *f) : std::nullopt;
  int64_t columns = 1;
  for (unsigned a : lower::axesIn(info, f ? f->columns : 0))
    columns *= info.extents[a].constant().value_or(0);
  if (channels && columns >= fewestChannels && info.extents[*channels].constant().value_or(fewestChannels) < fewestChannels && !isTiled())
    joinChannelTaps(kernel, info, *f, *channels);
}

/// Which rows of its panels a filter has, where they are fewer. Of other convolutions zeros are elements like others.
void Packer::markSpans(Filter f, int64_t depth) {
  constexpr size_t mostRuns = 8;
  std::optional<FilterSpans> spans =
      isInterleaved(f) ? FilterSpans::of(info, f, sourceOf(kernel, f), lower::axesIn(info, f.columns), lower::axesIn(info, f.reduced), panel) : std::nullopt;
  bool any = spans && llvm::any_of(spans->runs, [&](const FilterSpans::Span &s) { return s.rows < depth; });
  if (any && spans->runs.size() <= mostRuns)
    f.load->setAttr(kernel::filterSpansName, spans->attribute(kernel.getContext()));
}

/// Tiles of results, where they pay.
std::optional<Packer::Tiled> Packer::inTiles(Filter f, const Strides &k, int64_t columns, int64_t step) {
  std::optional<lower::SlidingWindow> window =
      winograd ? lower::SlidingWindow::of(info, f.image, f.rows, f.reduced, kernel::winogradTaps) : std::nullopt;
  if (!window || !f.load.getType().isF32())
    return std::nullopt;
  if (!lower::liesTogether(info, f.image, window->depth.back()) && !lower::liesTogether(info, f.image, window->dims.back().place))
    return std::nullopt;
  schedule::WindowChoice way = shared.choose(sourceOf(kernel, f), {info, *window, columns, k.count});
  if (!way.tiles || leavesImage(info, f, *window) || hasEmptyTap(info, f, *window, sourceOf(kernel, f), columns, step))
    return std::nullopt;
  Tiled t{way, *window};
  std::optional<lower::SlidingWindow> tiled = window->inTiles(info, {t.high(), t.wide()});
  if (!tiled)
    return std::nullopt;
  t.window = *tiled;
  return t;
}

bool Packer::isTiled() {
  std::optional<Filter> f = Filter::of(info, halves);
  if (!f || !isWhole(*f) || !f->isDense())
    return false;
  const Expr &offset = info.exprOf(f->load);
  std::optional<Strides> k = Strides::of(info, f->reduced, offset), n = Strides::of(info, f->columns, offset);
  std::optional<int64_t> step = n ? n->single() : std::nullopt;
  std::optional<Tiled> tiled = k && step && n->count >= fewestChannels ? inTiles(*f, *k, n->count, *step) : std::nullopt;
  return tiled.has_value();
}

/// For tiles of results: panels [columns / panel][place][k][panel], with k without the windows' taps.
Value Packer::packWinograd(Filter f, const Strides &k, int64_t columns, int64_t step, bool &both) {
  std::optional<Tiled> found = inTiles(f, k, columns, step);
  if (!found)
    return {};
  both = found->way.both;
  int64_t high = found->high(), wide = found->wide();
  const lower::SlidingWindow *tiled = &found->window;
  std::vector<unsigned> order;
  for (const lower::SlidingWindow::Dim &dim : tiled->dims)
    if (dim.taps)
      order.push_back(*dim.taps);
  llvm::append_range(order, tiled->depth);
  SmallVector<int64_t> extents, strides;
  for (unsigned a : order) {
    extents.push_back(*info.extents[a].constant());
    strides.push_back(*info.exprOf(f.load).linearIn(info.axes[a])->coefficient.constant());
  }
  int64_t rows = kernel::Winograd(high).places() * kernel::Winograd(wide).places() * tiled->depthOf(info);
  OpBuilder b(kernel);
  Value source = sourceOf(kernel, f);
  auto type = RankedTensorType::get({(columns + panel - 1) / panel, rows, panel}, b.getF32Type());
  auto packed = b.create<kernel::PackOp>(source.getLoc(), type, source, k.count, columns, 0, step, panel,
                                         b.getDenseI64ArrayAttr(extents), b.getDenseI64ArrayAttr(strides));
  for (Operation *op : {packed.getOperation(), f.load.getOperation()})
    op->setAttr(kernel::winogradName, b.getDenseI64ArrayAttr({high, wide}));
  return packed;
}

/// A row of k, in the order of the kernel's axes, for each column.
void Packer::packRows(Filter f, const Strides &k, int64_t columns, int64_t step) {
  OpBuilder b(kernel);
  Value source = sourceOf(kernel, f);
  auto type = RankedTensorType::get({columns, k.count}, f.load.getType());
  replace(f, b.create<kernel::PackOp>(source.getLoc(), type, source, k.count, columns, 0, step, 0,
                                      b.getDenseI64ArrayAttr(k.extents), b.getDenseI64ArrayAttr(k.strides)));
  f.load.setOffset((placeIn(f.columns) * Expr(k.count) + placeIn(f.reduced)).str());
}

/// [channel][taps..] to [taps..][channel], where image and results have their channels together. On a CPU larger windows gain more from
/// an image that was packed with its border than packing costs.
bool Packer::packDepthwise(Filter f) {
  constexpr int64_t mostTaps = 40;
  const Expr &offset = info.exprOf(f.load);
  std::optional<Strides> taps = Strides::of(info, f.reduced, offset), channels = Strides::of(info, f.shared, offset);
  if (!taps || !channels || llvm::popcount(f.shared) != 1 || !taps->single() || channels->strides[0] == 1 ||
      (panel && taps->count > mostTaps))
    return false;
  unsigned channel = llvm::countr_zero(f.shared);
  auto together = [&](Operation *op) {
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[channel]);
    return linear && linear->coefficient.isOne();
  };
  auto image = f.image.getDefiningOp<kernel::LoadOp>();
  if ((panel && (!image || !together(image))) ||
      llvm::any_of(info.ops, [&](Operation *op) { return isa<kernel::StoreOp>(op) && !together(op); }))
    return false;
  OpBuilder b(kernel);
  Value source = sourceOf(kernel, f);
  int64_t c = channels->count, t = taps->count;
  auto type = RankedTensorType::get({t, c}, f.load.getType());
  replace(f, b.create<kernel::PackOp>(source.getLoc(), type, source, c, t, channels->strides[0], *taps->single(), 0));
  Expr at = Expr::symbol(info.axes[channel]);
  int64_t stride = c;
  for (unsigned a = info.axes.size(); a-- > 0;)
    if (f.reduced >> a & 1) {
      at = at + Expr::symbol(info.axes[a]) * Expr(stride);
      stride *= *info.extents[a].constant();
    }
  f.load.setOffset(at.str());
  return true;
}

/// The summed axis that goes on where the axis of groups steps, in all that the image is made of: its number among the summed
/// axes, -1 where each group has one channel; nothing where channels do not lie like that.
std::optional<int64_t> Packer::channelAxis(Filter f) {
  unsigned group = llvm::countr_zero(f.shared);
  auto step = [&](Operation *op, unsigned axis) {
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
    return linear ? linear->coefficient : Expr(0);
  };
  SmallVector<Operation *> loads;
  for (Operation *op : info.ops)
    if (isa<kernel::LoadOp>(op) && op != f.load && (info.domainOf(op) & f.reduced))
      loads.push_back(op);
  int64_t number = 0;
  for (unsigned a = 0; a < info.axes.size(); ++a) {
    if (!(f.reduced >> a & 1))
      continue;
    if (!loads.empty() && llvm::all_of(loads, [&](Operation *op) { return step(op, group) == step(op, a) * info.extents[a]; }))
      return number;
    ++number;
  }
  return -1;
}

/// Groups that together fill vectors, of 16 elements where a machine has such, are a panel; others are panels of their own.
void Packer::packGrouped(Filter f) {
  constexpr int64_t widest = 16;
  if (llvm::popcount(f.shared) != 1 || llvm::popcount(f.columns) > 1)
    return;
  const Expr &offset = info.exprOf(f.load);
  std::optional<Strides> k = Strides::of(info, f.reduced, offset), n = Strides::of(info, f.shared | f.columns, offset);
  std::optional<int64_t> step = n ? n->single() : std::nullopt, channel = channelAxis(f);
  if (!k || !step || !channel)
    return;
  int64_t perGroup = f.columns ? n->extents.back() : 1, channels = *channel < 0 ? 1 : k->extents[*channel];
  if (f.columns && llvm::countr_zero(f.columns) < llvm::countr_zero(f.shared))
    return;
  int64_t groups = std::max<int64_t>(widest / std::max(perGroup, channels), 1), panel = groups * perGroup;
  OpBuilder b(kernel);
  Value source = sourceOf(kernel, f);
  auto type = RankedTensorType::get({(n->count + panel - 1) / panel, k->count, panel}, b.getF32Type());
  replace(f, b.create<kernel::PackOp>(source.getLoc(), type, source, k->count, n->count, 0, *step, panel,
                                      b.getDenseI64ArrayAttr(k->extents), b.getDenseI64ArrayAttr(k->strides)));
  Expr group = Expr::symbol(info.axes[llvm::countr_zero(f.shared)]), column(0), row = placeIn(f.reduced);
  if (f.columns)
    column = Expr::symbol(info.axes[llvm::countr_zero(f.columns)]);
  Expr block = group;
  if (groups > 1) {
    block = Expr::floordiv(group, Expr(groups));
    column = column + Expr::mod(group, Expr(groups)) * Expr(perGroup);
  }
  f.load.setOffset(((block * Expr(k->count) + row) * Expr(panel) + column).str());
  f.load->setAttr("grouped", b.getDenseI64ArrayAttr({panel, *channel}));
}

namespace {
struct PackFiltersPass : target::impl::PackFiltersBase<PackFiltersPass> {
  using PackFiltersBase::PackFiltersBase;
  void runOnOperation() override {
    SharedFilters shared;
    getOperation().walk([&](kernel::GenericOp kernel) {
      for (Value v : kernel.getInputs())
        ++shared.readers[v];
    });
    std::vector<kernel::GenericOp> kernels;
    getOperation().walk([&](kernel::GenericOp kernel) { kernels.push_back(kernel); });
    FilterForms forms{panel, halves, winograd, precision};
    for (kernel::GenericOp &kernel : kernels)
      if (panel && winograd)
        kernel = withPlainWindow(kernel, forms, shared);
    for (kernel::GenericOp kernel : kernels) {
      if (panel)
        Packer(kernel, forms, shared).joinTaps();
      Packer(kernel, forms, shared).orderColumns();
      Packer(kernel, forms, shared).run();
    }
  }

  /// The kernel with a dilated window's residues as images of their own, if tiles of results are computed then.
  kernel::GenericOp withPlainWindow(kernel::GenericOp kernel, const FilterForms &forms, SharedFilters &shared) {
    OpBuilder b(kernel);
    auto split = cast<kernel::GenericOp>(b.clone(*kernel));
    if (!splitDilatedWindow(split) || !Packer(split, forms, shared).isTiled()) {
      split->erase();
      return kernel;
    }
    kernel->replaceAllUsesWith(split);
    kernel->erase();
    return split;
  }
};
} // namespace
