//===- SplitReductions.cpp - Long reductions in parts ----------------------===//
//
// A kernel that reduces few rows, or a whole tensor, has as many items for threads as it has rows. Where these are long, a kernel in front leaves what parts of
// them come to, and another one combines these; where the result has a value for each row alone, that is the kernel itself. A variance takes parts of its sum, the sum, parts of the
// squared differences from it, and what follows from these. How many parts there are follows from the sizes alone, so that any number of threads comes to the same bits. All parts are
// equally long: what is left behind them, less than a part, has a kernel of its own, since masked loads behind the end of a tensor, where the next page may be missing, take some hundred
// cycles each.
//
//===----------------------------------------------------------------------===//

#include "Prune.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Lower/Combine.h"
#include "lathe/Lower/SplitAxes.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace lathe::target {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using kernel::GenericOp;
using kernel::ReduceOp;
using shape::Expr;
using Names = std::set<std::string>;

/// Rows that are enough for threads, elements of one that are worth a kernel more, that are worth computing them twice, and of a part; more parts than `mostParts` are more
/// than threads.
constexpr int64_t enoughRows = 16, longRow = 1 << 17, longComputed = 1 << 19, longPart = 1 << 13, fewestParts = 4, mostParts = 64, elementsOfLine = 16;

namespace {
/// A kernel's reductions: all go over the same axes, and leave values for the same few rows.
struct Rows {
  Names axes;       ///< of rows
  std::string cut;  ///< the axis of which a part has a range
  Expr parts, part; ///< how many there are, and how much of the axis each has
};

class ReductionSplitter {
public:
  ReductionSplitter(GenericOp kernel, const Rows &rows);
  /// All kernels that it takes, the last of which is the kernel itself.
  std::vector<GenericOp> run();

private:
  GenericOp beginStage(unsigned level, const Expr &ofRow, StringRef suffix);
  std::vector<ReduceOp> finishStage(GenericOp out, unsigned level, const Expr &place, std::vector<Value> &values);
  void addParts(unsigned level);
  void addRest(unsigned level);
  void addWhole(unsigned level);
  void finishKernel(unsigned last);
  Value loadOf(GenericOp in, Value partial, const Expr &place, ReduceOp before);
  void loadWholes(GenericOp in, ArrayRef<ReduceOp> reduces, unsigned level);
  void combineParts(GenericOp in, ArrayRef<ReduceOp> reduces, unsigned level);
  bool isOfRows();
  Expr rowPlace() const;
  Expr placeOf(const std::string &along) const;
  void setAxes(GenericOp of, ArrayRef<std::string> first);

  GenericOp kernel;
  std::string cut, part, across;                  ///< the axis that is split, that of its parts, and the one along which they are combined
  Expr parts, length, rest;                       ///< how many parts there are, a part's share of the axis, and what is left behind them
  std::vector<std::pair<std::string, Expr>> rows; ///< the rows' axes
  std::vector<unsigned> levels;                   ///< of the reductions in the order of the body: 1 for those that need no other
  std::vector<GenericOp> made;
  std::vector<Value> partials, rests, wholes;     ///< of each, the parts' values, that of the rest, and all of them combined
};
} // namespace

//===----------------------------------------------------------------------===//
// Which kernels
//===----------------------------------------------------------------------===//

static std::vector<ReduceOp> reducesOf(GenericOp kernel) {
  auto all = kernel.getBody().front().getOps<ReduceOp>();
  return {all.begin(), all.end()};
}

/// Parts are kept in the type of the result: those of sums of 16 bits would be rounded.
static bool isCombined(ReduceOp reduce) {
  Type type = reduce.getType();
  bool isOrdered = reduce.getKind() == kernel::Combiner::Max || reduce.getKind() == kernel::Combiner::Min;
  if (auto f = dyn_cast<FloatType>(type))
    return f.getWidth() >= 32 || isOrdered;
  return type.isIntOrIndex() && type.getIntOrFloatBitWidth() >= 8;
}

/// Whether what is reduced is a function of each element of which the result is made, too, as the exponentials of a softmax: one kernel computes it once.
static bool isNeededAgain(ReduceOp reduce) {
  Operation *made = reduce.getValue().getDefiningOp();
  return made && isa<math::MathDialect>(made->getDialect()) && !isa<math::SqrtOp, math::AbsFOp, math::FmaOp>(made) && !made->hasOneUse();
}

static Expr countOf(GenericOp kernel, const Names &axes) {
  Expr count(1);
  for (const std::string &a : axes)
    count = count * *kernel.getExtent(a);
  return count;
}

/// The largest number of parts up to `most` that the extent is a multiple of.
static int64_t partsOf(int64_t extent, int64_t most) {
  int64_t parts = std::min(extent, most);
  while (extent % parts)
    --parts;
  return parts;
}

/// The outermost axis of which there are enough even parts.
static bool cutEvenly(GenericOp kernel, const Names &over, int64_t length, Rows &out) {
  int64_t wanted = std::clamp<int64_t>(length / longPart, 1, mostParts);
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i) {
    out.cut = kernel.getAxisName(i).str();
    std::optional<int64_t> extent = kernel.getAxisExtent(i).constant();
    int64_t parts = extent && over.count(out.cut) ? partsOf(*extent, wanted) : 1;
    out.parts = parts, out.part = Expr(extent.value_or(0) / parts);
    if (parts >= fewestParts)
      return true;
  }
  return false;
}

/// The outermost axis that is open, or long enough, in parts of so many elements that there are no more than `mostParts`. Parts of the innermost axis begin at a line of the
/// cache where the row does.
static bool cutUnevenly(GenericOp kernel, const Names &over, Rows &out) {
  Expr inner(1);
  unsigned axis = kernel.getNumAxes();
  std::string innermost;
  for (unsigned i = kernel.getNumAxes(); i-- > 0;) {
    if (!over.count(kernel.getAxisName(i).str()))
      continue;
    innermost = innermost.empty() ? kernel.getAxisName(i).str() : innermost;
    inner = axis < kernel.getNumAxes() ? inner * kernel.getAxisExtent(axis) : inner;
    axis = i;
  }
  Expr extent = kernel.getAxisExtent(axis);
  if (extent.constant().value_or(mostParts) < mostParts)
    return false;
  out.cut = kernel.getAxisName(axis).str();
  Expr line(out.cut == innermost ? elementsOfLine : 1);
  Expr least = Expr::ceildiv(Expr(longPart), line * Expr::max(inner, 1));
  out.part = line * Expr::max(least, Expr::ceildiv(extent, line * Expr(mostParts)));
  out.parts = Expr::floordiv(extent, out.part);
  return true;
}

/// The axes over which all reductions go, and, as `out.axes`, those of the rows; nothing where one is different, or is not combined.
static std::optional<Names> reducedAxes(GenericOp kernel, Rows &out) {
  kernel::ValueAxes axes = kernel::axesOfValues(kernel);
  std::optional<Names> over;
  for (ReduceOp r : reducesOf(kernel)) {
    Names own;
    for (Attribute a : r.getAxes())
      own.insert(cast<StringAttr>(a).str());
    if (!isCombined(r) || (over && (own != *over || axes[r.getResult()] != out.axes)))
      return std::nullopt;
    over = own;
    out.axes = axes[r.getResult()];
  }
  return over;
}

static std::optional<Rows> rowsOf(GenericOp kernel) {
  Rows out;
  // A convolution's filter lies as its schedule wants it.
  auto isApart = [](Operation &op) { return op.getNumRegions() || isa<kernel::ContractOp>(op) || op.hasAttr("packed"); };
  if (kernel.getKernelClass() != kernel::KernelClass::Reduction || llvm::any_of(kernel.getBody().front(), isApart))
    return std::nullopt;
  std::optional<Names> over = reducedAxes(kernel, out);
  if (!over)
    return std::nullopt;
  int64_t rows = countOf(kernel, out.axes).constant().value_or(enoughRows), length = countOf(kernel, *over).constant().value_or(longRow);
  if (rows >= enoughRows || length < (llvm::any_of(reducesOf(kernel), isNeededAgain) ? longComputed : longRow))
    return std::nullopt;
  return cutEvenly(kernel, *over, length, out) || cutUnevenly(kernel, *over, out) ? std::optional(out) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Kernels of parts
//===----------------------------------------------------------------------===//

/// How many reductions, one behind the other, each reduction needs, with itself.
static std::vector<unsigned> levelsOf(GenericOp kernel) {
  llvm::DenseMap<Value, unsigned> level;
  std::vector<unsigned> out;
  for (Operation &op : kernel.getBody().front()) {
    unsigned own = 0;
    for (Value v : op.getOperands())
      own = std::max(own, level.lookup(v));
    if (isa<ReduceOp>(op))
      out.push_back(++own);
    for (Value v : op.getResults())
      level[v] = own;
  }
  return out;
}

ReductionSplitter::ReductionSplitter(GenericOp kernel, const Rows &r)
    : kernel(kernel), cut(r.cut), parts(r.parts), length(r.part), rest(*kernel.getExtent(r.cut) - r.parts * r.part), levels(levelsOf(kernel)), partials(levels.size()),
      rests(levels.size()), wholes(levels.size()) {
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
    if (std::string name = kernel.getAxisName(i).str(); r.axes.count(name))
      rows.push_back({name, kernel.getAxisExtent(i)});
  unsigned free = 0;
  for (unsigned number = kernel.getNumAxes(); free < 3; ++number) { // the two first ones are those of a split
    across = Expr::axis(number).str();
    free += !kernel.getExtent(across);
  }
}

/// Where a row's value lies.
Expr ReductionSplitter::rowPlace() const {
  Expr row(0);
  for (const auto &[name, extent] : rows)
    row = row * extent + Expr::symbol(name);
  return row;
}

/// Where that of a row's part does.
Expr ReductionSplitter::placeOf(const std::string &along) const { return rowPlace() * parts + Expr::symbol(along); }

/// Some axes outermost, the one along which parts are combined innermost.
void ReductionSplitter::setAxes(GenericOp of, ArrayRef<std::string> first) {
  std::vector<std::string> names(first.begin(), first.end());
  for (unsigned i = 0; i < of.getNumAxes(); ++i)
    if (std::string name = of.getAxisName(i).str(); !llvm::is_contained(names, name))
      names.push_back(name);
  Builder b(of.getContext());
  SmallVector<Attribute> all, extents;
  for (const std::string &name : names) {
    all.push_back(b.getStringAttr(name));
    extents.push_back(b.getStringAttr(of.getExtent(name)->str()));
  }
  all.push_back(b.getStringAttr(across));
  extents.push_back(b.getStringAttr(parts.str()));
  of.setAxisNamesAttr(b.getArrayAttr(all));
  of.setAxisExtentsAttr(b.getArrayAttr(extents));
}

/// A value of what a kernel in front has left.
Value ReductionSplitter::loadOf(GenericOp in, Value partial, const Expr &place, ReduceOp before) {
  unsigned number = in.getInputs().size();
  in.getInputsMutable().append(partial);
  BlockArgument ref = in.getBody().insertArgument(number, kernel::RefType::get(in.getContext(), before.getType()), before.getLoc());
  OpBuilder b(before);
  return b.create<kernel::LoadOp>(before.getLoc(), before.getType(), ref, b.getStringAttr(place.str()), ValueRange(), Value(), Value());
}

/// The reductions below the level are done by kernels in front.
void ReductionSplitter::loadWholes(GenericOp in, ArrayRef<ReduceOp> reduces, unsigned level) {
  for (unsigned i = 0; i < reduces.size(); ++i) {
    ReduceOp r = reduces[i];
    if (levels[i] >= level)
      continue;
    r.replaceAllUsesWith(loadOf(in, wholes[i], rowPlace(), r));
    r->erase();
  }
}

/// Those of the level are combined from what their parts come to.
void ReductionSplitter::combineParts(GenericOp in, ArrayRef<ReduceOp> reduces, unsigned level) {
  for (unsigned i = 0; i < reduces.size(); ++i) {
    ReduceOp r = reduces[i];
    if (levels[i] != level)
      continue;
    Value load = loadOf(in, partials[i], placeOf(across), r);
    OpBuilder b(r);
    Value all = b.create<ReduceOp>(r.getLoc(), r.getType(), r.getKindAttr(), load, b.getStrArrayAttr({StringRef(across)}));
    if (rests[i])
      all = lower::combine(b, r.getLoc(), r.getKind(), all, loadOf(in, rests[i], rowPlace(), r));
    r.replaceAllUsesWith(all);
    r->erase();
  }
}

/// The kernel with so many results of each row for each reduction of the level, whose body has no stores yet.
GenericOp ReductionSplitter::beginStage(unsigned level, const Expr &ofRow, StringRef suffix) {
  SmallVector<Expr> dims;
  for (const auto &[name, extent] : rows)
    dims.push_back(extent);
  dims.push_back(ofRow);
  SmallVector<Type> types;
  std::vector<ReduceOp> reduces = reducesOf(kernel);
  for (unsigned i = 0; i < reduces.size(); ++i)
    if (levels[i] == level)
      types.push_back(ir::tensorType(dims, reduces[i].getType()));
  OpBuilder b(kernel);
  auto copy = cast<GenericOp>(b.clone(*kernel));
  auto out = b.create<GenericOp>(kernel.getLoc(), types, kernel::KernelClass::Reduction, b.getStringAttr(kernel.getName() + suffix), kernel.getAxisNames(),
                                 kernel.getAxisExtents(), kernel.getInputs(), kernel.getNodesAttr(), ArrayAttr(), DictionaryAttr());
  out.getBody().takeBody(copy.getBody());
  copy.erase();
  Block &body = out.getBody().front();
  for (auto store : llvm::make_early_inc_range(body.getOps<kernel::StoreOp>()))
    store.erase();
  body.eraseArguments(out.getInputs().size(), body.getNumArguments() - out.getInputs().size());
  made.push_back(out);
  return out;
}

/// What the reductions of the level come to is stored. All reductions but those below it.
std::vector<ReduceOp> ReductionSplitter::finishStage(GenericOp out, unsigned level, const Expr &place, std::vector<Value> &values) {
  Block &body = out.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&body);
  std::vector<ReduceOp> reduces = reducesOf(out);
  unsigned made = 0;
  for (unsigned i = 0; i < reduces.size(); ++i) {
    ReduceOp r = reduces[i];
    if (levels[i] != level)
      continue;
    Value ref = body.addArgument(kernel::RefType::get(b.getContext(), r.getType()), r.getLoc());
    b.create<kernel::StoreOp>(r.getLoc(), r.getResult(), ref, b.getStringAttr(place.str()), ValueRange(), Value());
    values[i] = out.getOutputs()[made++];
  }
  loadWholes(out, reduces, level);
  return reduces;
}

/// A kernel for what each part's elements come to.
void ReductionSplitter::addParts(unsigned level) {
  GenericOp out = beginStage(level, parts, "_parts");
  lower::cutAxis(out, cut, Expr(0), parts * length);
  part = lower::splitAxis(out, cut, length).first;
  for (ReduceOp r : reducesOf(out)) {
    SmallVector<StringRef> within;
    for (StringRef axis : r.getAxes().getAsValueRange<StringAttr>())
      if (axis != part)
        within.push_back(axis);
    r.setAxesAttr(OpBuilder(r).getStrArrayAttr(within));
  }
  finishStage(out, level, placeOf(part), partials);
  std::vector<std::string> first;
  for (const auto &[name, extent] : rows)
    first.push_back(name);
  first.push_back(part);
  setAxes(out, first);
  prune(out);
}

/// A kernel for what the elements behind the last part come to.
void ReductionSplitter::addRest(unsigned level) {
  GenericOp out = beginStage(level, Expr(1), "_rest");
  lower::cutAxis(out, cut, parts * length, rest);
  finishStage(out, level, rowPlace(), rests);
  setAxes(out, {});
  prune(out);
}

/// A kernel for what all of a row's elements come to.
void ReductionSplitter::addWhole(unsigned level) {
  GenericOp out = beginStage(level, Expr(1), "_whole");
  combineParts(out, finishStage(out, level, rowPlace(), wholes), level);
  setAxes(out, {});
  prune(out);
}

/// Whether the result has values of rows alone.
bool ReductionSplitter::isOfRows() {
  kernel::ValueAxes axes = kernel::axesOfValues(kernel);
  auto isOfRow = [&](const std::string &s) { return !kernel.getExtent(s) || llvm::is_contained(llvm::make_first_range(rows), s); };
  return llvm::all_of(kernel.getBody().front().getOps<kernel::StoreOp>(), [&](kernel::StoreOp store) {
    return llvm::all_of(store.getOffsetExpr().symbols(), isOfRow) && llvm::all_of(axes[store.getValue()], isOfRow);
  });
}

/// What is left to the kernel itself.
void ReductionSplitter::finishKernel(unsigned last) {
  bool combines = isOfRows();
  if (!combines)
    addWhole(last);
  std::vector<ReduceOp> reduces = reducesOf(kernel);
  loadWholes(kernel, reduces, combines ? last : last + 1);
  if (combines)
    combineParts(kernel, reduces, last);
  else
    kernel.setKernelClass(kernel::KernelClass::Loop);
  setAxes(kernel, {});
  prune(kernel);
}

std::vector<GenericOp> ReductionSplitter::run() {
  unsigned last = *llvm::max_element(levels);
  for (unsigned level = 1; level <= last; ++level) {
    addParts(level);
    if (!rest.isZero())
      addRest(level);
    if (level != last)
      addWhole(level);
  }
  finishKernel(last);
  made.push_back(kernel);
  return made;
}

/// Whether accesses of all of them are proven to stay inside. Products of open sizes with open parts are not always.
static bool areProven(const std::vector<GenericOp> &kernels, const shape::Facts &facts) {
  ScopedDiagnosticHandler quiet(GenericOp(kernels.front()).getContext(), [](Diagnostic &) { return success(); });
  return llvm::all_of(kernels, [&](GenericOp k) { return succeeded(kernel::verifyAccesses(k, facts)); });
}

namespace {
struct SplitReductionsPass : target::impl::SplitReductionsBase<SplitReductionsPass> {
  void runOnOperation() override {
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      SmallVector<std::pair<GenericOp, Rows>> found;
      f.walk([&](GenericOp kernel) {
        if (std::optional<Rows> rows = rowsOf(kernel))
          found.push_back({kernel, *rows});
      });
      if (found.empty())
        continue;
      shape::Facts facts = ir::factsWhileRunning(getOperation(), f.getName());
      for (auto &[kernel, rows] : found)
        split(kernel, rows, facts);
    }
  }

  static void split(GenericOp kernel, const Rows &rows, const shape::Facts &facts) {
    OpBuilder b(kernel);
    auto copy = cast<GenericOp>(b.clone(*kernel));
    std::vector<GenericOp> made = ReductionSplitter(copy, rows).run();
    bool areKept = areProven(made, facts);
    if (areKept) {
      kernel.replaceAllUsesWith(copy.getResults());
      kernel.erase();
    }
    for (GenericOp k : areKept ? std::vector<GenericOp>() : std::vector<GenericOp>(made.rbegin(), made.rend()))
      k.erase();
  }
};
} // namespace
