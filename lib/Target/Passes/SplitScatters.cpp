//===- SplitScatters.cpp - A scatter's data and its updates ----------------===//
//
// Updates go to places that are known only when the kernel runs, so none may be stored before all of the data are
// there. Kernels run one after the other: that is what orders the two, on a GPU as on several cores.
//
//===----------------------------------------------------------------------===//

#include "Prune.h"
#include "lathe/Dialect/Lathe/States.h"
#include "lathe/Target/Passes.h"

namespace lathe::target {
#define GEN_PASS_DEF_SPLITSCATTERS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using kernel::GenericOp;
using kernel::StoreOp;

static StoreOp coverOf(GenericOp kernel) {
  for (auto store : kernel.getBody().front().getOps<StoreOp>())
    if (store.getIndices().empty())
      return store;
  return {};
}

/// Made by a kernel of the same block, or a state of the model; read by kernels alone, last by this one.
static bool diesIn(Value v, GenericOp kernel) {
  return (v.getDefiningOp<GenericOp>() || ir::isStateBefore(v)) && v.getParentBlock() == kernel->getBlock() &&
         llvm::count(kernel.getInputs(), v) == 1 && llvm::all_of(v.getUsers(), [&](Operation *user) {
           return isa<GenericOp>(user) && user->getBlock() == kernel->getBlock() &&
                  (user == kernel || user->isBeforeInBlock(kernel));
         });
}

/// The operand that holds the data as they are and that nobody else needs.
static std::optional<unsigned> dataToUpdate(GenericOp kernel, StoreOp cover) {
  auto load = cover.getValue().getDefiningOp<kernel::LoadOp>();
  if (!load || load.getPredicate() || !load.getIndices().empty() || !load.getRef().hasOneUse() ||
      load.getOffsetExpr() != cover.getOffsetExpr())
    return std::nullopt;
  unsigned n = cast<BlockArgument>(load.getRef()).getArgNumber();
  Value data = kernel.getInputs()[n];
  if (!diesIn(data, kernel) || shape::product(ir::dimsOf(data)) != shape::product(ir::dimsOf(kernel.getOutputs()[0])))
    return std::nullopt;
  return n;
}

void target::prune(GenericOp kernel) {
  Block &body = kernel.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!isa<StoreOp>(op) && op.use_empty())
      op.erase();
  for (unsigned i = kernel.getInputs().size(); i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      kernel.getInputsMutable().erase(i);
      body.eraseArgument(i);
    }
  std::set<std::string> used;
  for (auto &[v, axes] : kernel::axesOfValues(kernel))
    used.insert(axes.begin(), axes.end());
  for (auto store : body.getOps<StoreOp>())
    for (const std::string &s : store.getOffsetExpr().symbols())
      used.insert(s);
  for (auto reduce : body.getOps<kernel::ReduceOp>()) // also of what is the same everywhere: over no points it comes to the identity
    for (StringRef axis : reduce.getAxes().getAsValueRange<StringAttr>())
      used.insert(axis.str());
  SmallVector<Attribute> names, extents;
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
    if (used.count(kernel.getAxisName(i).str())) {
      names.push_back(kernel.getAxisNames()[i]);
      extents.push_back(kernel.getAxisExtents()[i]);
    }
  Builder b(kernel.getContext());
  kernel.setAxisNamesAttr(b.getArrayAttr(names));
  kernel.setAxisExtentsAttr(b.getArrayAttr(extents));
}

/// A kernel that writes the data alone.
static GenericOp makeData(GenericOp kernel) {
  OpBuilder b(kernel);
  auto data = cast<GenericOp>(b.clone(*kernel));
  data.setName((kernel.getName() + "_data").str());
  data.setKernelClass(kernel::KernelClass::Loop);
  data.removeUnfusedAttr();
  data->setAttr("updated", b.getUnitAttr());
  for (StoreOp store : llvm::make_early_inc_range(data.getBody().front().getOps<StoreOp>()))
    if (!store.getIndices().empty())
      store.erase();
  prune(data);
  return data;
}

static void split(GenericOp kernel) {
  Value data = makeData(kernel).getOutputs()[0];
  unsigned number = kernel.getInputs().size();
  kernel.getInputsMutable().append(data);
  StoreOp cover = coverOf(kernel);
  BlockArgument ref = kernel.getBody().insertArgument(number, cover.getRef().getType(), data.getLoc());
  OpBuilder b(cover);
  auto load = b.create<kernel::LoadOp>(cover.getLoc(), cover.getValue().getType(), ref, cover.getOffsetAttr(),
                                       ValueRange(), Value(), Value());
  cover.getValueMutable().assign(load);
  prune(kernel);
  kernel->setAttr("in_place", b.getI64IntegerAttr(ref.getArgNumber()));
}

namespace {
struct SplitScattersPass : target::impl::SplitScattersBase<SplitScattersPass> {
  void runOnOperation() override {
    SmallVector<GenericOp> scatters;
    getOperation().walk([&](GenericOp kernel) {
      if (kernel.getKernelClass() == kernel::KernelClass::Scatter && !kernel->hasAttr("in_place"))
        scatters.push_back(kernel);
    });
    for (GenericOp kernel : scatters) {
      if (std::optional<unsigned> n = dataToUpdate(kernel, coverOf(kernel)))
        kernel->setAttr("in_place", Builder(kernel).getI64IntegerAttr(*n));
      else
        split(kernel);
    }
  }
};
} // namespace
