//===- FilterPacker.h - A convolution's filter in the layout that kernels read ===//
//
// One kernel, its filter, and the ways to lay it out: panels of columns (PackFilters.cpp), the order of columns and of what is summed (FilterColumns.cpp),
// groups (FilterGroups.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_PASSES_FILTERPACKER_H
#define LATHE_LIB_TARGET_PASSES_FILTERPACKER_H

#include "Filters.h"
#include "lathe/Lower/SlidingWindow.h"
#include "lathe/Schedule/Windows.h"

namespace lathe::target {

/// Constant extents and strides of axes in an offset without a constant part.
struct Strides {
  llvm::SmallVector<int64_t> extents, strides;
  int64_t count = 1;

  static std::optional<Strides> of(const lower::BodyInfo &info, lower::AxisSet axes, const shape::Expr &offset) {
    Strides s;
    for (unsigned a = 0; a < info.axes.size(); ++a) {
      if (!(axes >> a & 1))
        continue;
      std::optional<int64_t> extent = info.extents[a].constant();
      std::optional<shape::Expr::Linear> linear = offset.linearIn(info.axes[a]);
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
  llvm::StringRef precision;
};

/// What kernels with one filter have in common: the levels of a pyramid have the filter twice where one of them has, in one form.
struct SharedFilters {
  llvm::DenseMap<mlir::Value, int64_t> readers; ///< before any filter is packed
  llvm::DenseMap<mlir::Value, schedule::WindowChoice> chosen;

  schedule::WindowChoice choose(mlir::Value filter, schedule::WindowedSum sum) {
    sum.readers = std::max<int64_t>(1, readers.lookup(filter));
    schedule::WindowChoice mine = schedule::chooseWinograd(sum);
    if (mine.tiles && !mine.both)
      return mine;
    return chosen.try_emplace(filter, mine).first->second;
  }
};

class FilterPacker {
public:
  FilterPacker(kernel::GenericOp kernel, const FilterForms &forms, SharedFilters &shared)
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
  std::optional<shape::Expr> resultStep(unsigned axis);
  bool isInterleaved(Filter f);
  bool readsPlanes(Filter f);
  bool hasFewPixels(Filter f);
  bool arePixelsApart(Filter f);
  void putEmptiestFirst(Filter f, llvm::SmallVectorImpl<unsigned> &columns, llvm::ArrayRef<unsigned> reduced);
  bool permuteFilter(Filter f, llvm::ArrayRef<unsigned> columns);
  void markSpans(Filter f, int64_t depth);
  bool isWhole(Filter f);
  bool wantsPanels(Filter f, int64_t depth);
  mlir::RankedTensorType panelType(Filter f, const Strides &k, int64_t columns, bool mayNarrow);
  void widen(Filter f, mlir::Type element);
  void packDense(Filter f);
  /// A way to compute in tiles, and the window in them.
  struct Tiled {
    schedule::WindowChoice way;
    lower::SlidingWindow window;
    int64_t high() const { return way.tiles.results()[0]; }
    int64_t wide() const { return way.tiles.results()[1]; }
  };
  std::optional<Tiled> inTiles(Filter f, const Strides &k, int64_t columns, int64_t step);
  mlir::Value packWinograd(Filter f, const Strides &k, int64_t columns, int64_t step, bool &both);
  void packRows(Filter f, const Strides &k, int64_t columns, int64_t step);
  bool packDepthwise(Filter f);
  void packGrouped(Filter f);
  void replace(Filter f, mlir::Value with);
  shape::Expr placeIn(lower::AxisSet axes) const;

  kernel::GenericOp kernel;
  lower::BodyInfo info;
  int64_t panel;
  bool halves, winograd;
  llvm::StringRef precision;
  SharedFilters &shared;
};

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_FILTERPACKER_H
