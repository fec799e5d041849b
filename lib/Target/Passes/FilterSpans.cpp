//===- FilterSpans.cpp - Rows of packed filters that are not zero ----------===//

#include "FilterSpans.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include <cstring>

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::BodyInfo;
using shape::Expr;

/// Spans begin and end where micro-kernels, whose loops are unrolled, do.
constexpr int64_t unrolled = 4;

/// Offsets in the filter of all points of some axes, the last one fastest.
static std::optional<std::vector<int64_t>> offsetsOf(const BodyInfo &info, const Filter &f, ArrayRef<unsigned> axes) {
  std::vector<int64_t> offsets{0};
  kernel::LoadOp load = f.load;
  for (unsigned a : axes) {
    std::optional<Expr::Linear> linear = info.exprOf(load).linearIn(info.axes[a]);
    std::optional<int64_t> extent = info.extents[a].constant(), step = linear ? linear->coefficient.constant() : std::nullopt;
    if (!extent || !step)
      return std::nullopt;
    std::vector<int64_t> grown;
    for (int64_t at : offsets)
      for (int64_t i = 0; i < *extent; ++i)
        grown.push_back(at + i * *step);
    offsets = std::move(grown);
  }
  return offsets;
}

std::optional<FilterSpans> FilterSpans::of(const BodyInfo &info, const Filter &f, Value source, ArrayRef<unsigned> columns,
                                           ArrayRef<unsigned> reduced, int64_t panel) {
  auto constant = source.getDefiningOp<ir::ConstantOp>();
  std::optional<ArrayRef<char>> bytes = constant ? ir::rawBytes(constant.getValue()) : std::nullopt;
  std::optional<std::vector<int64_t>> k = offsetsOf(info, f, reduced), n = offsetsOf(info, f, columns);
  kernel::LoadOp load = f.load;
  if (!bytes || !k || !n || !load.getType().isF32())
    return std::nullopt;
  int64_t depth = k->size(), count = n->size();
  FilterSpans spans;
  for (int64_t from = 0; from < count; from += panel) {
    auto isZero = [&](int64_t row) {
      return llvm::all_of(llvm::seq(from, std::min(from + panel, count)), [&](int64_t column) {
        float element;
        std::memcpy(&element, bytes->data() + ((*n)[column] + (*k)[row]) * sizeof element, sizeof element);
        return element == 0;
      });
    };
    int64_t first = 0, end = depth;
    while (first < end && isZero(first))
      ++first;
    while (first < end && isZero(end - 1))
      --end;
    first -= first % unrolled;
    end = std::min<int64_t>(depth, llvm::alignTo(end, unrolled));
    std::vector<Span> &runs = spans.runs;
    if (runs.empty() || runs.back().first != first || runs.back().rows != end - first)
      runs.push_back({0, first, end - first});
    ++runs.back().panels;
  }
  return spans;
}

int64_t FilterSpans::rows() const {
  int64_t sum = 0;
  for (const Span &s : runs)
    sum += s.panels * s.rows;
  return sum;
}

DenseI64ArrayAttr FilterSpans::attribute(MLIRContext *context) const {
  SmallVector<int64_t> numbers;
  for (const Span &s : runs)
    numbers.append({s.panels, s.first, s.rows});
  return DenseI64ArrayAttr::get(context, numbers);
}
