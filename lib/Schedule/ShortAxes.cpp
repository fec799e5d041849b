//===- ShortAxes.cpp - Ways for rows of a few elements ----------------------===//
//
// Points, boxes and pixels are rows of two to eight numbers. Along them most lanes of a vector lie idle. Where a kernel knows how many there
// are, lanes run across rows, and whole vectors are shuffled apart or together; where the length is open, each of them is a way of its own.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/BodySlices.h"
#include "lathe/Schedule/Choose.h"
#include "lathe/Schedule/Rows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using lower::BodyInfo;
using shape::Expr;

/// Bodies that are compiled again for each length.
constexpr unsigned heaviest = 120;

/// The size of which the length is a multiple.
static std::optional<std::string> sizeIn(const Expr &length) {
  std::set<std::string> symbols = length.symbols();
  if (symbols.size() != 1 || shape::kindOf(*symbols.begin()) != shape::SymbolKind::Size)
    return std::nullopt;
  std::optional<Expr::Linear> linear = length.linearIn(*symbols.begin());
  bool isMultiple = linear && linear->rest.isZero() && linear->coefficient.constant();
  return isMultiple ? std::optional(*symbols.begin()) : std::nullopt;
}

/// Whether some operand or result is rows along the axis, one behind the other.
static bool isRow(const BodyInfo &info, unsigned axis, const std::string &size) {
  return llvm::any_of(info.ops, [&](Operation *op) {
    if (!isa<kernel::LoadOp, kernel::StoreOp>(op) || stepAlong(info, op, axis) != 1)
      return false;
    for (unsigned other = 0; other < info.axes.size(); ++other) {
      std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[other]);
      if (other != axis && linear && linear->coefficient.mentions(size))
        return true;
    }
    return false;
  });
}

/// Whether rows are repeated and nothing else is done: one of a single element is then written in whole vectors.
static bool repeats(const BodyInfo &info) {
  lower::AxisSet all = (lower::AxisSet(1) << info.axes.size()) - 1;
  return llvm::all_of(info.ops, [&](Operation *op) {
    return isa<kernel::LoadOp>(op) ? info.axesOf(info.exprOf(op)) != all : isa<kernel::StoreOp>(op);
  });
}

/// Windows and pieces are found along lanes by other ways, and products of bytes are no row programs.
static bool isPlain(const BodyInfo &info) {
  if (lower::productOfBytes(info))
    return false;
  unsigned weight = 0;
  for (Operation *op : info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (load && load.getPredicate())
      return false;
    weight += weightOf(op);
  }
  return weight <= heaviest;
}

/// Five elements and more are as many sums, or functions, side by side: a second vector of rows gains nothing and is as much code again.
static Attribute wayOf(MLIRContext *context, int64_t length) {
  constexpr int64_t enough = 5;
  return length < enough ? Attribute(PlainAttr::get(context)) : RowsAttr::get(context, -1, 1, -1);
}

/// The open sizes that rows are multiples of.
static std::vector<std::string> sizesOfRows(const BodyInfo &info) {
  std::vector<std::string> sizes;
  for (unsigned axis = 0; isPlain(info) && axis < info.axes.size(); ++axis)
    if (std::optional<std::string> size = sizeIn(info.extents[axis]); size && isRow(info, axis, *size) && !llvm::is_contained(sizes, *size))
      sizes.push_back(*size);
  return sizes;
}

static void propose(const BodyInfo &info, const std::string &size, int64_t length, std::vector<Candidate> &candidates) {
  Predicate when;
  when.add(Expr::symbol(size), Relation::Equal, Expr(length));
  candidates.push_back({when, wayOf(info.kernel->getContext(), length), Expr(0)});
}

void schedule::proposeShortAxes(const BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates) {
  int64_t longest = std::min<int64_t>(widestStride, machine.lanes());
  for (const std::string &size : sizesOfRows(info))
    for (int64_t length = repeats(info) ? 1 : 2; length <= longest; ++length)
      propose(info, size, length, candidates);
}

void schedule::proposeSingles(const BodyInfo &info, std::vector<Candidate> &candidates) {
  if (!repeats(info))
    for (const std::string &size : sizesOfRows(info))
      propose(info, size, 1, candidates);
}

/// The axis that a kernel's operation goes along one after the other.
static std::optional<StringRef> orderedAxis(Operation *op) {
  if (auto sort = dyn_cast<kernel::SortOp>(op))
    return sort.getAxis();
  if (auto scan = dyn_cast<kernel::ScanOp>(op))
    return scan.getAxis();
  return std::nullopt;
}

/// The sizes that alone tell how far apart the axis's elements lie.
static std::set<std::string> sizesBetween(const BodyInfo &info, StringRef axis) {
  std::set<std::string> sizes;
  for (Operation *op : info.ops) {
    std::optional<Expr::Linear> linear = isa<kernel::LoadOp>(op) ? info.exprOf(op).linearIn(axis.str()) : std::nullopt;
    if (std::optional<std::string> size = linear ? sizeIn(linear->coefficient) : std::nullopt)
      sizes.insert(*size);
  }
  return sizes;
}

void schedule::proposeContiguous(const BodyInfo &info, std::vector<Candidate> &candidates) {
  auto plain = PlainAttr::get(info.kernel->getContext());
  for (Operation *op : info.ops) {
    std::optional<StringRef> along = orderedAxis(op);
    std::set<std::string> sizes = along ? sizesBetween(info, *along) : std::set<std::string>();
    if (sizes.empty())
      continue;
    Expr points(1); // that are read
    auto sort = dyn_cast<kernel::SortOp>(op);
    for (auto [axis, extent] : llvm::zip_equal(info.axes, info.extents))
      points = sort && axis == sort.getRankAxis() ? points : points * extent;
    for (const std::string &size : sizes)
      candidates.push_back({Predicate().add(Expr::symbol(size), Relation::Equal, Expr(1)), plain, Expr(0)});
    candidates.push_back({{}, plain, points});
  }
}
