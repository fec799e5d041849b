//===- SplitReductions.cpp - Long reductions in parts ----------------------===//
//
// A kernel that reduces few rows, or a whole tensor, has as many items for threads as it has rows. Where these are long, a kernel in front leaves what parts of
// them come to, and another one combines these; where the result has a value for each row alone, that is the kernel itself. A variance takes parts of its sum, the sum, parts of the
// squared differences from it, and what follows from these. How many parts there are follows from the sizes alone, so that any number of threads comes to the same bits (LongRows.cpp).
// All parts are equally long: what is left behind them, less than a part, has a kernel of its own, since masked loads behind the end of a tensor, where the next page may be missing, take
// some hundred cycles each.
//
//===----------------------------------------------------------------------===//

#include "LongRows.h"
#include "Prune.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Lower/Combine.h"
#include "lathe/Lower/SplitAxes.h"
#include "lathe/Target/Passes.h"

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

namespace {
class ReductionSplitter {
public:
  ReductionSplitter(GenericOp kernel, const LongRows &rows);
  /// All kernels that it takes, the last of which is the kernel itself.
  std::vector<GenericOp> run();

private:
  GenericOp beginStage(unsigned level, const Expr &ofRow, StringRef suffix);
  void storeLevel(GenericOp out, unsigned level, const Expr &place, std::vector<Value> &values);
  void addParts(unsigned level);
  void addRest(unsigned level);
  void addWhole(unsigned level);
  void finishKernel(unsigned last);
  Value loadOf(GenericOp in, Value partial, const Expr &place, ReduceOp before);
  Value combinedOf(GenericOp in, unsigned number, ReduceOp before);
  void replaceReductions(GenericOp in, unsigned level, bool combines);
  bool isOfRows();
  Expr rowPlace() const;
  Expr placeOf(const std::string &along) const;
  void setAxes(GenericOp of, ArrayRef<std::string> first);

  GenericOp kernel;
  std::string cut, across;                        ///< the axis that is split, and the one along which its parts are combined
  Expr parts, length, rest;                       ///< how many parts there are, a part's share of the axis, and what is left behind them
  std::vector<std::pair<std::string, Expr>> rows; ///< the rows' axes
  std::vector<unsigned> levels;                   ///< of the reductions in the order of the body: 1 for those that need no other
  std::vector<GenericOp> made;                    ///< the kernel itself is the last one
  std::vector<Value> partials, rests, wholes;     ///< of each, the parts' values, that of the rest, and all of them combined
};
} // namespace

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

ReductionSplitter::ReductionSplitter(GenericOp kernel, const LongRows &r)
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

/// What the parts of a reduction, and the rest behind them, come to.
Value ReductionSplitter::combinedOf(GenericOp in, unsigned number, ReduceOp before) {
  Value load = loadOf(in, partials[number], placeOf(across), before);
  OpBuilder b(before);
  Value all = b.create<ReduceOp>(before.getLoc(), before.getType(), before.getKindAttr(), load, b.getStrArrayAttr({StringRef(across)}));
  return rests[number] ? lower::combine(b, before.getLoc(), before.getKind(), all, loadOf(in, rests[number], rowPlace(), before)) : all;
}

/// The reductions below the level are done by kernels in front. Those of the level itself are combined here, or stay.
void ReductionSplitter::replaceReductions(GenericOp in, unsigned level, bool combines) {
  std::vector<ReduceOp> reduces = reducesOf(in);
  for (unsigned i = 0; i < reduces.size(); ++i) {
    ReduceOp r = reduces[i];
    if (levels[i] >= level + combines)
      continue;
    r.replaceAllUsesWith(levels[i] < level ? loadOf(in, wholes[i], rowPlace(), r) : combinedOf(in, i, r));
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

/// What the reductions of the level come to is stored.
void ReductionSplitter::storeLevel(GenericOp out, unsigned level, const Expr &place, std::vector<Value> &values) {
  Block &body = out.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&body);
  std::vector<ReduceOp> reduces = reducesOf(out);
  unsigned stored = 0;
  for (unsigned i = 0; i < reduces.size(); ++i) {
    ReduceOp r = reduces[i];
    if (levels[i] != level)
      continue;
    Value ref = body.addArgument(kernel::RefType::get(b.getContext(), r.getType()), r.getLoc());
    b.create<kernel::StoreOp>(r.getLoc(), r.getResult(), ref, b.getStringAttr(place.str()), ValueRange(), Value());
    values[i] = out.getOutputs()[stored++];
  }
}

/// A kernel for what each part's elements come to.
void ReductionSplitter::addParts(unsigned level) {
  GenericOp out = beginStage(level, parts, "_parts");
  lower::cutAxis(out, cut, Expr(0), parts * length);
  std::string part = lower::splitAxis(out, cut, length).first;
  for (ReduceOp r : reducesOf(out)) {
    SmallVector<StringRef> within;
    for (StringRef axis : r.getAxes().getAsValueRange<StringAttr>())
      if (axis != part)
        within.push_back(axis);
    r.setAxesAttr(OpBuilder(r).getStrArrayAttr(within));
  }
  storeLevel(out, level, placeOf(part), partials);
  replaceReductions(out, level, /*combines=*/false);
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
  storeLevel(out, level, rowPlace(), rests);
  replaceReductions(out, level, /*combines=*/false);
  setAxes(out, {});
  prune(out);
}

/// A kernel for what all of a row's elements come to.
void ReductionSplitter::addWhole(unsigned level) {
  GenericOp out = beginStage(level, Expr(1), "_whole");
  storeLevel(out, level, rowPlace(), wholes);
  replaceReductions(out, level, /*combines=*/true);
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
  if (!combines) {
    addWhole(last);
    kernel.setKernelClass(kernel::KernelClass::Loop);
  }
  replaceReductions(kernel, combines ? last : last + 1, combines);
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
      SmallVector<std::pair<GenericOp, LongRows>> found;
      f.walk([&](GenericOp kernel) {
        if (std::optional<LongRows> rows = longRowsOf(kernel))
          found.push_back({kernel, *rows});
      });
      if (found.empty())
        continue;
      shape::Facts facts = ir::factsWhileRunning(getOperation(), f.getName());
      for (auto &[kernel, rows] : found)
        split(kernel, rows, facts);
    }
  }

  static void split(GenericOp kernel, const LongRows &rows, const shape::Facts &facts) {
    OpBuilder b(kernel);
    auto copy = cast<GenericOp>(b.clone(*kernel));
    std::vector<GenericOp> made = ReductionSplitter(copy, rows).run();
    if (!areProven(made, facts)) {
      llvm::for_each(llvm::reverse(made), [](GenericOp k) { k.erase(); });
      return;
    }
    kernel.replaceAllUsesWith(copy.getResults());
    kernel.erase();
  }
};
} // namespace
