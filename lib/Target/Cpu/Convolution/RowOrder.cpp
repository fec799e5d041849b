//===- RowOrder.cpp - Kernels whose items follow the rows of an image ------===//

#include "RowOrder.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyInfo;
using shape::Expr;

/// Rows of an image that is alone: more than there are.
constexpr int64_t endless = int64_t(1) << 40;

static unsigned numberOf(Value ref) { return cast<BlockArgument>(ref).getArgNumber(); }
static int64_t bytesOf(Type element) { return element.getIntOrFloatBitWidth() / 8; }

/// An offset as a constant and constant steps along axes.
namespace {
struct Steps {
  std::vector<int64_t> along; ///< by axis
  int64_t constant = 0;

  static std::optional<Steps> of(const BodyInfo &info, const Expr &offset);
  /// From the constant to the largest value over these axes; nothing where an extent is unknown or a step goes back.
  std::optional<int64_t> reach(const BodyInfo &info, ArrayRef<unsigned> axes) const;
};
} // namespace

std::optional<Steps> Steps::of(const BodyInfo &info, const Expr &offset) {
  Steps s;
  Expr rest = offset;
  for (const std::string &axis : info.axes) {
    std::optional<Expr::Linear> linear = rest.linearIn(axis);
    std::optional<int64_t> step = linear ? linear->coefficient.constant() : std::nullopt;
    if (!step)
      return std::nullopt;
    s.along.push_back(*step);
    rest = linear->rest;
  }
  std::optional<int64_t> constant = rest.constant();
  s.constant = constant.value_or(0);
  return constant ? std::optional(s) : std::nullopt;
}

std::optional<int64_t> Steps::reach(const BodyInfo &info, ArrayRef<unsigned> axes) const {
  int64_t sum = 0;
  for (unsigned a : axes) {
    std::optional<int64_t> extent = info.extents[a].constant();
    if (along[a] && (!extent || along[a] < 0))
      return std::nullopt;
    sum += along[a] ? along[a] * (*extent - 1) : 0;
  }
  return sum;
}

static std::vector<unsigned> axesBeside(const BodyInfo &info, const AxisGroup &rows) {
  std::vector<unsigned> others;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (!llvm::is_contained(rows.axes, a))
      others.push_back(a);
  return others;
}

/// Elements from one row to the next, where the accesses of a row stay inside of it.
static std::optional<int64_t> rowElements(const BodyInfo &info, const Expr &offset, const AxisGroup &rows) {
  std::optional<Expr> stride = rows.strideOf(offset);
  std::optional<int64_t> elements = stride ? stride->constant() : std::nullopt;
  std::optional<Steps> steps = Steps::of(info, offset);
  std::optional<int64_t> reach = steps ? steps->reach(info, axesBeside(info, rows)) : std::nullopt;
  if (!elements || !reach || steps->constant < 0 || steps->constant + *reach >= *elements)
    return std::nullopt;
  return elements;
}

/// The only access to what it loads.
static bool readsAlone(kernel::LoadOp image) {
  return image.getRef().hasOneUse() && image.getIndices().empty();
}

std::optional<StagePlan> cpu::stageOfRows(const KernelFunction &f, const AxisGroup &rows, const Expr &unit) {
  const BodyInfo &info = f.info;
  kernel::StoreOp store;
  for (Operation *op : info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(op)) {
      if (store || !s.getIndices().empty())
        return std::nullopt;
      store = s;
    }
  if (!store || rows.empty() || !store.getRef().hasOneUse())
    return std::nullopt;
  std::optional<int64_t> elements = rowElements(info, info.exprOf(store), rows);
  if (!elements)
    return std::nullopt;
  StagePlan stage;
  stage.unit = unit;
  stage.rows = rows.extent();
  stage.result = Expr(numberOf(store.getRef()));
  stage.rowBytes = Expr(*elements * bytesOf(store.getValue().getType()));
  return stage;
}

void cpu::addOperandOfRows(StagePlan &stage, const BodyInfo &info, kernel::LoadOp image, const AxisGroup &rows) {
  std::optional<int64_t> elements = rowElements(info, info.exprOf(image), rows);
  if (!elements || !readsAlone(image))
    return;
  stage.operand = Expr(numberOf(image.getRef()) + 1);
  stage.operandRowBytes = Expr(*elements * bytesOf(image.getType()));
}

void cpu::addOperandOfWindows(StagePlan &stage, const BodyInfo &info, kernel::LoadOp image, const AxisGroup &rows, const AxisGroup &taps) {
  std::optional<Steps> steps = Steps::of(info, info.exprOf(image));
  if (!steps || !readsAlone(image) || rows.axes.size() < 2 || rows.axes.size() > 3 || taps.axes.empty())
    return;
  unsigned line = rows.axes.end()[-2], pixel = rows.axes.back();
  std::vector<unsigned> ofLine = axesBeside(info, rows);
  ofLine.push_back(pixel);
  std::optional<int64_t> reach = steps->reach(info, ofLine);
  int64_t elements = steps->along[taps.axes.back()], ahead = steps->along[line];
  int64_t between = rows.axes.size() == 3 ? steps->along[rows.axes.front()] : endless * elements;
  if (!reach || elements < 1 || ahead < 0 || ahead % elements || between < 1 || between % elements)
    return;
  auto rowOf = [&](int64_t at) { return at >= 0 ? at / elements : -((elements - 1 - at) / elements); };
  stage.operand = Expr(numberOf(image.getRef()) + 1);
  stage.operandRowBytes = Expr(elements * bytesOf(image.getType()));
  stage.rowsOfLine = info.extents[pixel];
  stage.lines = info.extents[line];
  stage.imageRows = Expr(between / elements);
  stage.step = Expr(ahead / elements);
  stage.low = Expr(rowOf(steps->constant));
  stage.high = Expr(rowOf(steps->constant + *reach) + 1);
}
