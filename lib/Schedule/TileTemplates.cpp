//===- TileTemplates.cpp - Ways to run a contraction -----------------------===//
//
// Columns are worked off in panels. Of few columns the last panel is mostly empty: half a panel then is half the work.
// Of an open number of columns both are made, and each panel asks which it needs: one test beside thousands of
// products.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/RowLevels.h"
#include "lathe/Schedule/Choose.h"
#include "lathe/Schedule/Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using lower::BodyInfo;
using shape::Expr;

/// Columns of a panel, and of half of one, which is nothing beside so many whole ones.
constexpr int64_t whole = 32, narrow = 16, mostPanels = 8;

/// What tiles multiply: floats, and bytes that were packed for it.
static bool isMultiplied(Type t, bool packed) {
  return t.isF32() || t.isF64() || t.isF16() || t.isBF16() || (packed && t.isInteger(8));
}

namespace {
/// Numbers of points of a contraction: of its own axes, and of those of one operand alone.
struct Counts {
  Expr lines, columns, rows, depth; ///< rows: lines in all batches

  Counts(const BodyInfo &info, kernel::ContractOp op) {
    lower::ContractionRoles roles(info, op);
    lines = extentOf(info, roles.rows);
    columns = extentOf(info, roles.columns);
    rows = extentOf(info, roles.rows | roles.batch | roles.others);
    depth = extentOf(info, roles.reduced);
  }
};
} // namespace

bool schedule::isPacked(kernel::GenericOp kernel) {
  return llvm::any_of(kernel.getBody().front().getOps<kernel::ContractOp>(),
                      [](kernel::ContractOp c) { return bool(c.getPackedAttr()); });
}

/// Whether the operand's elements lie one behind the other along some axis: rows of products read it in vectors then.
static bool liesSideBySide(const BodyInfo &info, const Expr &operand) {
  return llvm::any_of(info.axes, [&](const std::string &axis) {
    std::optional<Expr::Linear> linear = operand.linearIn(axis);
    return linear && linear->coefficient.isOne();
  });
}

Tiling schedule::tilingOf(const BodyInfo &info, kernel::ContractOp op) {
  Type x = op.getLhs().getType().getElementType(), y = op.getRhs().getType().getElementType(), sum = op.getType();
  bool packed = bool(op.getPackedAttr());
  if (!isMultiplied(x, false) || !isMultiplied(y, packed) || !(sum.isF32() || sum.isF64()))
    return Tiling::OtherTypes;
  if (sum.isF32() && (x.isF64() || y.isF64()))
    return Tiling::OtherTypes;
  // One row: a panel of columns would be read down a matrix that is read along faster. One column: of a panel's lanes one would be used.
  // One product: nothing is summed.
  Counts n(info, op);
  bool one = n.lines.isOne() || n.depth.isOne() || (n.columns.isOne() && liesSideBySide(info, op.getLhsExpr()));
  return !packed && one ? Tiling::LeaveRows : Tiling::Multiply;
}

/// Where a product of sizes is one: all of them are. Nothing where it is no such product.
static std::optional<Predicate> whereOne(const Expr &product) {
  std::vector<Expr::Term> terms = product.terms();
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].atoms.empty())
    return std::nullopt;
  Predicate one;
  for (const shape::Atom &atom : terms[0].atoms) {
    if (atom.kind != shape::Atom::Kind::Symbol)
      return std::nullopt;
    one.add(Expr::fromAtom(atom), Relation::Equal, Expr(1));
  }
  return one;
}

/// One row of packed columns that is found in a run, as in a step of a recurrence or of a decoder: tiles of open heights ask for each panel how high
/// they are and where rows lie, which beside a single row is not nothing. Measured with 256 and 1280 points: 0.9 and 0.78 of the time.
static void proposeSingleRow(const Counts &n, TilesAttr tiles, const Expr &cost, std::vector<Candidate> &candidates) {
  if (std::optional<Predicate> one = whereOne(n.lines))
    candidates.push_back({*one, tiles, Expr::floordiv(cost * Expr(7), Expr(8))});
}

/// Functions have constants of their own, and divisions come with them: SiLU behind 16 points took 1.3 times as long.
std::optional<int64_t> schedule::deepestDirect(ArrayRef<Operation *> behind, const Machine &machine) {
  struct Limits {
    int64_t deepest;
    size_t mostOps;
  };
  constexpr Limits ofSixteen{256, 8}, ofMore{80, 12};
  const Limits &most = machine.registers < 32 ? ofSixteen : ofMore;
  auto takesRegisters = [](Operation *op) { return isa<math::MathDialect>(op->getDialect()) || isa<arith::DivFOp>(op); };
  if (behind.size() > most.mostOps || llvm::any_of(behind, takesRegisters))
    return std::nullopt;
  return most.deepest;
}

/// All results lie side by side along one axis of columns.
static bool storesColumns(const BodyInfo &info, kernel::ContractOp op) {
  std::vector<unsigned> columns = lower::axesIn(info, lower::ContractionRoles(info, op).columns);
  return columns.size() == 1 && llvm::all_of(info.ops, [&](Operation *store) {
    std::optional<Expr::Linear> linear = isa<kernel::StoreOp>(store) ? info.exprOf(store).linearIn(info.axes[columns[0]]) : std::nullopt;
    return !isa<kernel::StoreOp>(store) || (linear && linear->coefficient.isOne());
  });
}

/// Short sums that are found in a run: of batches of 64x64x64 products a trip of the sums through memory is 6% of the time.
static void proposeShortSums(const BodyInfo &info, kernel::ContractOp op, const Counts &n, const Machine &machine, const Candidate &general,
                             std::vector<Candidate> &candidates) {
  SmallVector<Value> stored;
  for (Operation *o : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(o))
      stored.push_back(store.getValue());
  std::optional<int64_t> deepest = deepestDirect(lower::opsBehind(stored, op.getResult()), machine);
  if (n.depth.constant() || !deepest || !storesColumns(info, op))
    return;
  auto tiles = cast<TilesAttr>(general.schedule);
  auto direct = TilesAttr::get(info.kernel->getContext(), tiles.getHeight(), tiles.getNarrow(), tiles.getPanels(), /*direct=*/1, tiles.getRows());
  Predicate when = general.when;
  candidates.push_back({when.add(n.depth, Relation::LessEqual, Expr(*deepest)), direct, Expr::floordiv(general.cost * Expr(15), Expr(16))});
}

/// The first operand as tiles read it.
static FirstOperand firstOperandOf(const BodyInfo &info, kernel::ContractOp op, const Counts &n) {
  lower::ContractionRoles roles(info, op);
  const Expr &lhs = op.getLhsExpr();
  std::vector<unsigned> reduced = lower::axesIn(info, roles.reduced);
  Type sum = op.getType(), x = op.getLhs().getType().getElementType(), y = op.getRhs().getType().getElementType();
  FirstOperand o{n.lines, n.depth, Expr::ceildiv(n.columns, Expr(whole)), lower::strideAlong(info, lower::axesIn(info, roles.rows), lhs),
                 lower::strideAlong(info, reduced, lhs)};
  o.plain = x == sum && (!op.getPackedAttr() || y == sum);
  o.shared = !(info.axesOf(lhs) & (roles.batch | roles.others));
  o.packed = bool(op.getPackedAttr());
  o.parts = o.packed || lower::strideAlong(info, reduced, op.getRhsExpr());
  o.bytes = sum.getIntOrFloatBitWidth() / 8;
  return o;
}

/// The general way, and before it the same with rows that are read in another way where sizes say that it pays; each for short sums, too.
static void proposeWithRows(const BodyInfo &info, kernel::ContractOp op, const Counts &n, const Machine &machine, Candidate general,
                            std::vector<Candidate> &candidates) {
  auto with = [&](RowAccess access) {
    auto tiles = cast<TilesAttr>(general.schedule);
    return TilesAttr::get(info.kernel->getContext(), tiles.getHeight(), tiles.getNarrow(), tiles.getPanels(), tiles.getDirect(), int64_t(access));
  };
  for (auto &[access, when] : rowAccesses(firstOperandOf(info, op, n), machine)) {
    std::optional<Predicate> asked = when.unknown();
    if (!asked)
      continue;
    Candidate way{*asked, with(access), asked->always() ? general.cost : Expr::floordiv(general.cost * Expr(7), Expr(8))};
    proposeShortSums(info, op, n, machine, way, candidates);
    candidates.push_back(way);
    if (asked->always())
      return;
  }
  proposeShortSums(info, op, n, machine, general, candidates);
  candidates.push_back(general);
}

/// Points vary one size while the others are small. Which rows are worth copying shows where all are what matrices usually have.
static void addUsualPoint(std::vector<Point> &points) {
  constexpr int64_t usual = 1024; // rows of so many elements lie a page apart
  Point all;
  for (const Point &p : points)
    for (auto &[size, value] : p) {
      auto [at, added] = all.emplace(size, value);
      bool nearer = value <= usual ? at->second > usual || value > at->second : at->second > usual && value < at->second;
      if (!added && nearer)
        at->second = value;
    }
  if (!llvm::is_contained(points, all))
    points.push_back(all);
}

/// One row or one column that is found in a run.
static void proposeVectors(const BodyInfo &info, kernel::ContractOp op, const Counts &n, const Machine &machine, std::vector<Candidate> &candidates) {
  auto propose = [&](const Expr &size, const Expr &cost) {
    candidates.push_back({Predicate().add(size, Relation::Equal, Expr(1)), PlainAttr::get(info.kernel->getContext()), cost + n.rows});
  };
  // Tiles take twice the time of rows of products, measured.
  if (n.lines.asSymbol())
    propose(n.lines, Expr::floordiv(n.rows * n.depth * n.columns, Expr(2 * int64_t(machine.peak()))));
  // A product is two vectors that are loaded, and nothing is used again.
  if (n.columns.asSymbol() && liesSideBySide(info, op.getLhsExpr()))
    propose(n.columns, n.rows * Expr::ceildiv(n.depth, Expr(int64_t(machine.lanes()))));
}

void schedule::proposeTiles(kernel::GenericOp kernel, const Machine &machine, std::vector<Candidate> &candidates,
                            Choice &choice) {
  MLIRContext *context = kernel.getContext();
  BodyInfo info(kernel);
  kernel::ContractOp op;
  for (Operation *o : info.ops)
    if (auto c = dyn_cast<kernel::ContractOp>(o))
      op = c;
  if (!op || tilingOf(info, op) != Tiling::Multiply)
    return;
  Counts n(info, op);
  Expr peak(int64_t(machine.peak()));
  auto costFor = [&](const Expr &worked) { return Expr::floordiv(n.rows * n.depth * worked, peak) + n.rows; };
  choice.ideal = costFor(n.columns);
  Expr panels = Expr::ceildiv(n.columns, Expr(whole)) * Expr(whole);
  Expr left16 = Expr::floordiv(n.columns + Expr(narrow - 1), Expr(whole)) * Expr(whole) + Expr(narrow);
  if (!op.getPackedAttr())
    proposeVectors(info, op, n, machine, candidates);
  auto with = [&](int64_t columnsOfLast) { return TilesAttr::get(context, -1, columnsOfLast, -1, -1, -1); };
  std::optional<int64_t> known = n.columns.constant();
  if (known) {
    int64_t last = *known % whole;
    bool half = last > 0 && last <= narrow && *known < mostPanels * whole;
    Candidate general{{}, with(half ? narrow : whole), costFor(half ? left16 : panels)};
    if (op.getPackedAttr())
      proposeSingleRow(n, cast<TilesAttr>(general.schedule), general.cost, candidates);
    proposeWithRows(info, op, n, machine, general, candidates);
  } else {
    proposeWithRows(info, op, n, machine, {{}, with(narrow), costFor(left16)}, candidates);
  }
  addUsualPoint(choice.points);
}
