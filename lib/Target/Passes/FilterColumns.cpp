//===- FilterColumns.cpp - The order of a filter's columns, and of what is summed ===//

#include "ChannelTaps.h"
#include "FilterPacker.h"
#include "FilterSpans.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/WindowEdges.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using shape::Expr;

/// How far apart neighbours along an axis lie in the kernel's results; nothing where that differs or is no one distance.
std::optional<Expr> FilterPacker::resultStep(unsigned axis) {
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
bool FilterPacker::isInterleaved(Filter f) {
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
bool FilterPacker::readsPlanes(Filter f) {
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
bool FilterPacker::hasFewPixels(Filter f) {
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

/// A constant with the filter's columns in this order, each with its products as they were.
bool FilterPacker::permuteFilter(Filter f, ArrayRef<unsigned> columns) {
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
void FilterPacker::putEmptiestFirst(Filter f, SmallVectorImpl<unsigned> &columns, ArrayRef<unsigned> reduced) {
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
void FilterPacker::orderColumns() {
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
    return orderAxes(kernel, rows);
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
  orderAxes(kernel, rows);
}

/// Of a window over an image with its channels side by side no vector is made of pixels.
bool FilterPacker::arePixelsApart(Filter f) {
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

void FilterPacker::joinTaps() {
  std::optional<Filter> f = Filter::of(info);
  std::optional<unsigned> channels = f && isWhole(*f) && f->isDense() ? channelsSideBySide(info, *f) : std::nullopt;
  int64_t columns = 1;
  for (unsigned a : lower::axesIn(info, f ? f->columns : 0))
    columns *= info.extents[a].constant().value_or(0);
  if (channels && columns >= fewestChannels && info.extents[*channels].constant().value_or(fewestChannels) < fewestChannels && !isTiled())
    joinChannelTaps(kernel, info, *f, *channels);
}
