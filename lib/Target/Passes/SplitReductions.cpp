//===- SplitReductions.cpp - Long reductions in parts ----------------------===//
//
// A kernel that reduces few rows, or a whole tensor, has as many items for threads as it has rows. Where these are long, a kernel in front combines parts of
// them, and the kernel itself the parts: a variance takes one kernel for the sums of the parts, one for those of their squared differences, and one for the rest. How many
// parts there are follows from the sizes alone, so that any number of threads comes to the same bits.
//
//===----------------------------------------------------------------------===//

#include "Prune.h"
#include "lathe/Dialect/Lathe/Lathe.h"
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

/// Rows that are enough for threads, elements of one that are worth a kernel more, and of a part; more parts than `mostParts` are more than threads.
constexpr int64_t enoughRows = 16, longRow = 1 << 17, longPart = 1 << 13, fewestParts = 4, mostParts = 64;

namespace {
/// A kernel's reductions: all go over the same axes, and leave values for the same few rows.
struct Rows {
  Names axes;      ///< of rows
  std::string cut; ///< the axis of which a part has a range
  int64_t parts = 1;
};

class ReductionSplitter {
public:
  ReductionSplitter(GenericOp kernel, const Rows &rows);
  void run();

private:
  GenericOp beginStage(unsigned level);
  void addStage(unsigned level);
  void combineParts(GenericOp in, ArrayRef<ReduceOp> reduces, unsigned level);
  Expr placeOf(const std::string &along);
  void setAxes(GenericOp of, ArrayRef<std::string> first);

  GenericOp kernel;
  std::string cut, part, across;                  ///< the axis that is split, that of its parts, and the one along which they are combined
  Expr parts;
  std::vector<std::pair<std::string, Expr>> rows; ///< the rows' axes
  std::vector<unsigned> levels;                   ///< of the reductions in the order of the body: 1 for those that need no other
  std::vector<Value> partials;                    ///< of each, the parts' values
};
} // namespace

//===----------------------------------------------------------------------===//
// Which kernels
//===----------------------------------------------------------------------===//

/// Parts of a float's sum are kept in its own type. An index is searched for where the row has been read already.
static bool isCombined(ReduceOp reduce) {
  Type type = reduce.getType();
  bool ordered = reduce.getKind() == kernel::Combiner::Max || reduce.getKind() == kernel::Combiner::Min;
  if (auto f = dyn_cast<FloatType>(type))
    return f.getWidth() >= 32 || ordered;
  return type.isIntOrIndex() && type.getIntOrFloatBitWidth() >= 8 && !(ordered && type.isInteger(64));
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

/// The outermost axis of which there are enough even parts. Others would end in the middle of one: masked loads behind the end of the tensor, where the next page
/// may be missing, take some hundred cycles each (a sum of 500,009 floats 31 -> 85 us).
static bool cutOf(GenericOp kernel, const Names &over, int64_t length, Rows &out) {
  int64_t wanted = std::clamp<int64_t>(length / longPart, 1, mostParts);
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i) {
    out.cut = kernel.getAxisName(i).str();
    if (!over.count(out.cut))
      continue;
    out.parts = partsOf(*kernel.getAxisExtent(i).constant(), wanted);
    if (out.parts >= fewestParts)
      return true;
  }
  return false;
}

static std::optional<Rows> rowsOf(GenericOp kernel) {
  if (kernel.getKernelClass() != kernel::KernelClass::Reduction)
    return std::nullopt;
  kernel::ValueAxes axes = kernel::axesOfValues(kernel);
  std::optional<Names> over;
  Rows out;
  for (ReduceOp r : kernel.getBody().front().getOps<ReduceOp>()) {
    Names own;
    for (Attribute a : r.getAxes())
      own.insert(cast<StringAttr>(a).str());
    if (!isCombined(r) || isNeededAgain(r) || (over && (own != *over || axes[r.getResult()] != out.axes)))
      return std::nullopt;
    over = own;
    out.axes = axes[r.getResult()];
  }
  // A convolution's filter lies as its schedule wants it.
  auto isApart = [](Operation &op) { return op.getNumRegions() || isa<kernel::ContractOp>(op) || op.hasAttr("packed"); };
  if (!over || llvm::any_of(kernel.getBody().front(), isApart))
    return std::nullopt;
  int64_t rows = countOf(kernel, out.axes).constant().value_or(enoughRows), length = countOf(kernel, *over).constant().value_or(0);
  if (rows >= enoughRows || length < longRow || !cutOf(kernel, *over, length, out))
    return std::nullopt;
  return out;
}

//===----------------------------------------------------------------------===//
// Kernels of parts
//===----------------------------------------------------------------------===//

static std::vector<ReduceOp> reducesOf(GenericOp kernel) {
  auto all = kernel.getBody().front().getOps<ReduceOp>();
  return {all.begin(), all.end()};
}

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
    : kernel(kernel), cut(r.cut), parts(r.parts), levels(levelsOf(kernel)), partials(levels.size()) {
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
    if (std::string name = kernel.getAxisName(i).str(); r.axes.count(name))
      rows.push_back({name, kernel.getAxisExtent(i)});
  unsigned free = 0;
  for (unsigned number = kernel.getNumAxes(); free < 3; ++number) { // the two first ones are those of a split
    across = Expr::axis(number).str();
    free += !kernel.getExtent(across);
  }
}

/// Where a row's part lies.
Expr ReductionSplitter::placeOf(const std::string &along) {
  Expr row(0);
  for (const auto &[name, extent] : rows)
    row = row * extent + Expr::symbol(name);
  return row * parts + Expr::symbol(along);
}

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

/// The reductions below the level are combined from what kernels in front have left.
void ReductionSplitter::combineParts(GenericOp in, ArrayRef<ReduceOp> reduces, unsigned level) {
  for (unsigned i = 0; i < reduces.size(); ++i) {
    ReduceOp r = reduces[i];
    if (levels[i] >= level)
      continue;
    unsigned number = in.getInputs().size();
    in.getInputsMutable().append(partials[i]);
    BlockArgument ref = in.getBody().insertArgument(number, kernel::RefType::get(in.getContext(), r.getType()), r.getLoc());
    OpBuilder b(r);
    auto load = b.create<kernel::LoadOp>(r.getLoc(), r.getType(), ref, b.getStringAttr(placeOf(across).str()), ValueRange(), Value(), Value());
    auto all = b.create<ReduceOp>(r.getLoc(), r.getType(), r.getKindAttr(), load, b.getStrArrayAttr({StringRef(across)}));
    r.replaceAllUsesWith(all.getResult());
    r->erase();
  }
}

/// The kernel with a result for each reduction of the level, whose body has no stores yet.
GenericOp ReductionSplitter::beginStage(unsigned level) {
  SmallVector<Expr> dims;
  for (const auto &[name, extent] : rows)
    dims.push_back(extent);
  dims.push_back(parts);
  SmallVector<Type> types;
  std::vector<ReduceOp> reduces = reducesOf(kernel);
  for (unsigned i = 0; i < reduces.size(); ++i)
    if (levels[i] == level)
      types.push_back(ir::tensorType(dims, reduces[i].getType()));
  OpBuilder b(kernel);
  auto copy = cast<GenericOp>(b.clone(*kernel));
  auto out = b.create<GenericOp>(kernel.getLoc(), types, kernel::KernelClass::Reduction, b.getStringAttr(kernel.getName() + "_parts"), kernel.getAxisNames(),
                                 kernel.getAxisExtents(), kernel.getInputs(), kernel.getNodesAttr(), ArrayAttr(), DictionaryAttr());
  out.getBody().takeBody(copy.getBody());
  copy.erase();
  Block &body = out.getBody().front();
  for (auto store : llvm::make_early_inc_range(body.getOps<kernel::StoreOp>()))
    store.erase();
  body.eraseArguments(out.getInputs().size(), body.getNumArguments() - out.getInputs().size());
  return out;
}

/// A kernel for what each part's elements come to.
void ReductionSplitter::addStage(unsigned level) {
  GenericOp out = beginStage(level);
  part = lower::splitAxis(out, cut, Expr(*out.getExtent(cut)->constant() / *parts.constant())).first;
  Block &body = out.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&body);
  std::vector<ReduceOp> reduces = reducesOf(out);
  unsigned made = 0;
  for (unsigned i = 0; i < reduces.size(); ++i) {
    ReduceOp r = reduces[i];
    if (levels[i] != level)
      continue;
    SmallVector<StringRef> within;
    for (StringRef axis : r.getAxes().getAsValueRange<StringAttr>())
      if (axis != part)
        within.push_back(axis);
    r.setAxesAttr(b.getStrArrayAttr(within));
    Value ref = body.addArgument(kernel::RefType::get(b.getContext(), r.getType()), r.getLoc());
    b.create<kernel::StoreOp>(r.getLoc(), r.getResult(), ref, b.getStringAttr(placeOf(part).str()), ValueRange(), Value());
    partials[i] = out.getOutputs()[made++];
  }
  combineParts(out, reduces, level);
  std::vector<std::string> first;
  for (const auto &[name, extent] : rows)
    first.push_back(name);
  first.push_back(part);
  setAxes(out, first);
  prune(out);
}

void ReductionSplitter::run() {
  unsigned last = *llvm::max_element(levels);
  for (unsigned level = 1; level <= last; ++level)
    addStage(level);
  combineParts(kernel, reducesOf(kernel), last + 1);
  setAxes(kernel, {});
  prune(kernel);
}

namespace {
struct SplitReductionsPass : target::impl::SplitReductionsBase<SplitReductionsPass> {
  void runOnOperation() override {
    SmallVector<std::pair<GenericOp, Rows>> found;
    getOperation().walk([&](GenericOp kernel) {
      if (std::optional<Rows> rows = rowsOf(kernel))
        found.push_back({kernel, *rows});
    });
    for (auto &[kernel, rows] : found)
      ReductionSplitter(kernel, rows).run();
  }
};
} // namespace
