//===- UpdateInPlace.cpp - Results that take the place of an operand -------===//
//
// A residual connection reads each element of a tensor once, adds to it and writes the sum somewhere else: three streams
// through the memory where two would do. When nobody reads the tensor afterwards, the result is written over it.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/States.h"
#include "lathe/Lower/BodyInfo.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::target {
#define GEN_PASS_DEF_UPDATEINPLACE
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::BodyInfo;

namespace {

class Updater {
public:
  explicit Updater(kernel::GenericOp kernel) : kernel(kernel) {}
  void run();

private:
  bool isNewValueOf(Value before);
  bool isLastUse(unsigned input);
  bool fits(Value operand, Value result);
  bool readsOnlyWhatItWrites(const BodyInfo &info, unsigned input, kernel::StoreOp store);
  void findEarlyReads(const BodyInfo &info);

  kernel::GenericOp kernel;
  bool resultIsBetween = false;      ///< nobody but kernels reads the result
  llvm::DenseSet<Operation *> early; ///< what the body computes before a sum is complete
};

} // namespace

static bool readByKernels(Value v, Block *block) {
  return v.getParentBlock() == block && llvm::all_of(v.getUsers(), [&](Operation *user) {
           return isa<kernel::GenericOp>(user) && user->getBlock() == block;
         });
}

static bool isMadeAndReadByKernels(Value v, Block *block) { return v.getDefiningOp<kernel::GenericOp>() && readByKernels(v, block); }

/// Whether the result is what a state holds behind the run, and this value what it holds before.
bool Updater::isNewValueOf(Value before) {
  if (!ir::isStateBefore(before))
    return false;
  auto main = cast<func::FuncOp>(kernel->getParentOp());
  StringAttr name = ir::stateOfArgument(main, cast<BlockArgument>(before).getArgNumber());
  return llvm::any_of(kernel.getOutputs()[0].getUses(), [&](OpOperand &use) {
    return isa<func::ReturnOp>(use.getOwner()) && ir::stateOfResult(main, use.getOperandNumber()) == name;
  });
}

/// A tensor between kernels, or a state of the model, that no later kernel reads, and this one once.
bool Updater::isLastUse(unsigned input) {
  Value v = kernel.getInputs()[input];
  bool fromKernel = isMadeAndReadByKernels(v, kernel->getBlock()), isState = isNewValueOf(v) && readByKernels(v, kernel->getBlock());
  if ((!(fromKernel && resultIsBetween) && !isState) || llvm::count(kernel.getInputs(), v) != 1)
    return false;
  return llvm::all_of(v.getUsers(), [&](Operation *user) { return user == kernel || user->isBeforeInBlock(kernel); });
}

bool Updater::fits(Value operand, Value result) {
  auto from = cast<RankedTensorType>(operand.getType()), to = cast<RankedTensorType>(result.getType());
  return from.getElementType() == to.getElementType() && shape::product(ir::dimsOf(from)) == shape::product(ir::dimsOf(to));
}

/// What a sum is made of is read again for other elements of the result.
void Updater::findEarlyReads(const BodyInfo &info) {
  SmallVector<Value> work;
  for (Operation *op : info.ops)
    if (auto sum = dyn_cast<kernel::ReduceOp>(op))
      work.push_back(sum.getValue());
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && early.insert(op).second)
      work.append(op->operand_begin(), op->operand_end());
}

bool Updater::readsOnlyWhatItWrites(const BodyInfo &info, unsigned input, kernel::StoreOp store) {
  return llvm::all_of(kernel.getInputRef(input).getUsers(), [&](Operation *user) {
    auto load = dyn_cast<kernel::LoadOp>(user);
    return load && load->getParentOp() == kernel && load.getIndices().empty() && !load.getPredicate() && !early.contains(load) &&
           info.exprOf(load) == info.exprOf(store);
  });
}

/// Does its code compute every element once? A depthwise convolution's tiles overlap at the end of a row.
static bool computesOnce(kernel::GenericOp kernel) {
  switch (kernel.getKernelClass()) {
  case kernel::KernelClass::Loop:
  case kernel::KernelClass::Contraction:
    return true;
  case kernel::KernelClass::Reduction:
    return llvm::any_of(kernel.getBody().getOps<kernel::LoadOp>(), [](kernel::LoadOp load) { return load->hasAttr("packed"); });
  case kernel::KernelClass::Attention:
  case kernel::KernelClass::Scan:
  case kernel::KernelClass::Sort:
  case kernel::KernelClass::Transform:
  case kernel::KernelClass::Scatter: // --lathe-split-scatters has seen to it
    return false;
  }
  return false;
}

void Updater::run() {
  if (kernel.getOutputs().size() != 1 || !computesOnce(kernel))
    return;
  Value result = kernel.getOutputs()[0];
  Operation *writer = nullptr;
  BlockArgument out = kernel.getOutputRef(0);
  if (out.hasOneUse())
    writer = *out.getUsers().begin();
  auto store = dyn_cast_if_present<kernel::StoreOp>(writer);
  if (!store || !store.getIndices().empty() || store.getPredicate())
    return;
  resultIsBetween = isMadeAndReadByKernels(result, kernel->getBlock());
  BodyInfo info(kernel);
  findEarlyReads(info);
  for (unsigned i = 0; i < kernel.getInputs().size(); ++i)
    if (isLastUse(i) && fits(kernel.getInputs()[i], result) && readsOnlyWhatItWrites(info, i, store)) {
      kernel->setAttr("in_place", Builder(kernel).getI64IntegerAttr(i));
      return;
    }
}

namespace {
struct UpdateInPlacePass : target::impl::UpdateInPlaceBase<UpdateInPlacePass> {
  void runOnOperation() override {
    getOperation().walk([&](kernel::GenericOp kernel) { Updater(kernel).run(); });
  }
};
} // namespace
