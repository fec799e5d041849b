//===- PackFilters.cpp - Filters of convolutions as micro-kernels read them ===//

#include "DilatedWindows.h"
#include "EmptyWindows.h"
#include "FilterSpans.h"
#include "FilterPacker.h"
#include "lathe/Dialect/Kernel/FilterSpans.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Target/Passes.h"
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

/// Does the offset start at element 0 and is it a sum over axes alone?
bool FilterPacker::isWhole(Filter f) {
  std::map<std::string, Expr> zeros;
  for (const std::string &axis : info.axes)
    zeros.insert({axis, Expr(0)});
  return info.exprOf(f.load).substitute(zeros).isZero();
}

void FilterPacker::replace(Filter f, Value with) {
  kernel.getInputsMutable()[cast<BlockArgument>(f.load.getRef()).getArgNumber()].set(with);
}

/// The number of a point among those of some axes, the last axis fastest.
Expr FilterPacker::placeIn(AxisSet axes) const {
  Expr at(0);
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (axes >> a & 1)
      at = at * info.extents[a] + Expr::symbol(info.axes[a]);
  return at;
}

/// Columns in the lanes of the direct form: the innermost column axis is contiguous in a result, where no vector of pixels could be stored, no
/// pixels lie together in image and results, or the rows of the image are contiguous, or share lines. Results with their pixels side by side are transposed, which is little beside long sums.
bool FilterPacker::wantsPanels(Filter f, int64_t depth) {
  constexpr int64_t widestSteps = 8;
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
  AxisSet together = f.rows; // pixels that lie side by side in all results, and in steps in the image
  auto keepSteps = [&](Operation *op, int64_t widest) {
    for (unsigned a : lower::axesIn(info, together)) {
      std::optional<Expr> step = stepAlong(info, op, a);
      if (int64_t by = step ? step->constant().value_or(0) : 0; by < 1 || by > widest)
        together &= ~(AxisSet(1) << a);
    }
  };
  for (Operation *op : info.ops) {
    bool isImage = isa<kernel::LoadOp>(op) && op != f.load && (info.domainOf(op) & f.reduced);
    stored |= isa<kernel::StoreOp>(op) && steps(op, lane);
    if (isa<kernel::StoreOp>(op) || isImage)
      keepSteps(op, isImage ? widestSteps : 1);
    for (unsigned a = 0; isImage && a < info.axes.size(); ++a)
      contiguous |= (f.reduced >> a & 1) && steps(op, a) && info.extents[a].constant().value_or(0) >= fewestChannels;
  }
  bool turned = panel && !together && !f.ofBytes();
  bool fromLines = depth >= fewestBesideTransposing && readsLines(info, f);
  return apart || contiguous || stored || turned || fromLines || isInterleaved(f) || hasFewPixels(f);
}

void FilterPacker::packDense(Filter f) {
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
RankedTensorType FilterPacker::panelType(Filter f, const Strides &k, int64_t columns, bool mayNarrow) {
  constexpr int64_t fewestPoints = 32; // a vector of bf16
  Builder b(kernel.getContext());
  int64_t panels = (columns + panel - 1) / panel, innermost = k.extents.empty() ? 0 : k.extents.back();
  if (mayNarrow && precision == "bf16" && innermost >= fewestPoints && innermost % 2 == 0 && !f.load->hasAttr(kernel::filterSpansName))
    return RankedTensorType::get({panels, k.count / 2, panel, 2}, b.getBF16Type());
  return RankedTensorType::get({panels, k.count, panel}, mayNarrow && precision == "f16" ? Type(b.getF16Type()) : b.getF32Type());
}

/// The load is of the filter's elements as they were packed, and what it was before is made of them.
void FilterPacker::widen(Filter f, Type element) {
  if (element == f.load.getType())
    return;
  f.load.getRef().setType(kernel::RefType::get(kernel.getContext(), element));
  loadNarrow(f.load, element);
}

/// Which rows of its panels a filter has, where they are fewer. Of other convolutions zeros are elements like others.
void FilterPacker::markSpans(Filter f, int64_t depth) {
  constexpr size_t mostRuns = 8;
  std::optional<FilterSpans> spans =
      isInterleaved(f) ? FilterSpans::of(info, f, sourceOf(kernel, f), lower::axesIn(info, f.columns), lower::axesIn(info, f.reduced), panel) : std::nullopt;
  bool any = spans && llvm::any_of(spans->runs, [&](const FilterSpans::Span &s) { return s.rows < depth; });
  if (any && spans->runs.size() <= mostRuns)
    f.load->setAttr(kernel::filterSpansName, spans->attribute(kernel.getContext()));
}

/// Tiles of results, where they pay.
std::optional<FilterPacker::Tiled> FilterPacker::inTiles(Filter f, const Strides &k, int64_t columns, int64_t step) {
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

bool FilterPacker::isTiled() {
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
Value FilterPacker::packWinograd(Filter f, const Strides &k, int64_t columns, int64_t step, bool &both) {
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
void FilterPacker::packRows(Filter f, const Strides &k, int64_t columns, int64_t step) {
  OpBuilder b(kernel);
  Value source = sourceOf(kernel, f);
  auto type = RankedTensorType::get({columns, k.count}, f.load.getType());
  replace(f, b.create<kernel::PackOp>(source.getLoc(), type, source, k.count, columns, 0, step, 0,
                                      b.getDenseI64ArrayAttr(k.extents), b.getDenseI64ArrayAttr(k.strides)));
  f.load.setOffset((placeIn(f.columns) * Expr(k.count) + placeIn(f.reduced)).str());
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
        FilterPacker(kernel, forms, shared).joinTaps();
      FilterPacker(kernel, forms, shared).orderColumns();
      FilterPacker(kernel, forms, shared).run();
    }
  }

  /// The kernel with a dilated window's residues as images of their own, if tiles of results are computed then.
  kernel::GenericOp withPlainWindow(kernel::GenericOp kernel, const FilterForms &forms, SharedFilters &shared) {
    OpBuilder b(kernel);
    auto split = cast<kernel::GenericOp>(b.clone(*kernel));
    if (!splitDilatedWindow(split) || !FilterPacker(split, forms, shared).isTiled()) {
      split->erase();
      return kernel;
    }
    kernel->replaceAllUsesWith(split);
    kernel->erase();
    return split;
  }
};
} // namespace
