//===- VerifyAccesses.cpp - Proves what kernels keep to --------------------===//

#include "Definedness.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Threading.h"

namespace lathe::kernel {
#define GEN_PASS_DEF_VERIFYACCESSES
#include "lathe/Dialect/Kernel/Passes.h.inc"
} // namespace lathe::kernel

using namespace mlir;
using namespace lathe;
using namespace lathe::kernel;
using shape::Expr;

namespace {

class Verifier {
public:
  Verifier(GenericOp kernel, const shape::Facts &given) : kernel(kernel), facts(factsIn(kernel, given)), reader(facts), axesOf(axesOfValues(kernel)) {
    for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
      axes.push_back({kernel.getAxisName(i).str(), kernel.getAxisExtent(i)});
  }
  LogicalResult run();

private:
  bool storesChosen(StoreOp store);
  LogicalResult checkCoverage(unsigned result);
  std::optional<ElementRange> blockOfStore(StoreOp store);
  LogicalResult checkBounds(Operation *op);
  LogicalResult checkOffset(Operation *op, Value ref, const Expr &offset);
  /// The dimensions of the buffer that a block argument stands for; nothing for a constant that was packed in another layout.
  std::optional<ir::Dims> dimsOf(Value ref);

  GenericOp kernel;
  shape::Facts facts;
  ConditionReader reader;
  ValueAxes axesOf;
  std::vector<Extent> axes;
};

} // namespace

std::optional<ir::Dims> Verifier::dimsOf(Value ref) {
  unsigned n = cast<BlockArgument>(ref).getArgNumber(), inputs = kernel.getInputs().size();
  Value tensor = n < inputs ? kernel.getInputs()[n] : kernel.getOutputs()[n - inputs];
  if (tensor.getDefiningOp<PackOp>())
    return std::nullopt;
  return ir::dimsOf(tensor);
}

/// The block that a store writes once; nothing where it may write an element again, or none.
std::optional<ElementRange> Verifier::blockOfStore(StoreOp store) {
  std::optional<ElementRange> block = blockOf(facts.simplify(store.getOffsetExpr()), axes, reader.conjunctsOf(store.getPredicate()), facts);
  if (!block)
    return std::nullopt;
  auto value = axesOf.find(store.getValue());
  Expr offset = store.getOffsetExpr();
  bool repeats = value != axesOf.end() && llvm::any_of(value->second, [&](const std::string &a) {
                   std::optional<Expr> extent = kernel.getExtent(a);
                   return !offset.mentions(a) && extent && !extent->isOne();
                 });
  return repeats ? std::nullopt : block;
}

/// What a clamp is of.
static Value unclamped(Value v) {
  while (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(v.getDefiningOp()))
    v = v.getDefiningOp()->getOperand(0);
  return v;
}

/// Whether a store makes a list of chosen elements: under a predicate, through how often it has held at the points in front.
bool Verifier::storesChosen(StoreOp store) {
  if (store.getIndices().size() != 1 || !store.getPredicate() || store.getOffset() != "$0" || kernel.getNumAxes() != 1)
    return false;
  auto scan = unclamped(store.getIndices()[0]).getDefiningOp<ScanOp>();
  auto counted = scan ? scan.getValue().getDefiningOp<arith::ExtUIOp>() : arith::ExtUIOp();
  if (!counted || scan.getKind() != Combiner::Add || !scan.getExclusive() || scan.getReverse())
    return false;
  std::vector<Conjunct> given = reader.conjunctsOf(store.getPredicate());
  return llvm::all_of(reader.conjunctsOf(counted.getIn()), [&](const Conjunct &c) { return isImplied(c, given, facts); });
}

LogicalResult Verifier::checkCoverage(unsigned result) {
  BlockArgument out = kernel.getOutputRef(result);
  if (out.hasOneUse())
    if (auto store = dyn_cast<StoreOp>(*out.getUsers().begin()); store && storesChosen(store))
      return success();
  Expr size = facts.simplify(shape::product(ir::dimsOf(kernel.getOutputs()[result]))), end(0);
  if (size.isZero())
    return success();
  std::vector<ElementRange> blocks;
  std::string written;
  for (Operation *user : out.getUsers()) {
    auto store = dyn_cast<StoreOp>(user);
    if (!store || !store.getIndices().empty()) // stores through indices come on top of a full cover
      continue;
    std::optional<ElementRange> block = blockOfStore(store);
    if (!block)
      return store.emitOpError("K6: '") << kernel.getName() << "': not proven to write each element of a block once: "
                                        << store.getOffset();
    written += (written.empty() ? "[" : ", [") + block->begin.str() + ", " + facts.simplify(block->begin + block->size).str() + ")";
    blocks.push_back(*block);
  }
  for (bool found = true; found && !blocks.empty();) { // one behind the other
    auto next = llvm::find_if(blocks, [&](const ElementRange &b) { return facts.provablyEqual(b.begin, end); });
    found = next != blocks.end();
    if (found) {
      end = facts.simplify(end + next->size);
      blocks.erase(next);
    }
  }
  if (blocks.empty() && facts.provablyEqual(end, size))
    return success();
  return kernel.emitOpError("K6: '") << kernel.getName() << "': result " << result << " has " << size.str()
                                     << " elements, its stores write " << (written.empty() ? "none" : written);
}

LogicalResult Verifier::checkOffset(Operation *op, Value ref, const Expr &offset) {
  std::optional<ir::Dims> dims = dimsOf(ref);
  if (!dims || kernel::isInside(facts.simplify(offset), facts.simplify(shape::product(*dims)), {}, facts))
    return success();
  return op->emitOpError("K7: '") << kernel.getName() << "': offset " << offset.str() << " is not proven to stay inside of "
                                  << shape::product(*dims).str() << " elements";
}

LogicalResult Verifier::checkBounds(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op); store && store.getIndices().empty())
    return success(); // it writes a block of those that partition the result
  if (isa<LoadOp, StoreOp>(op)) {
    Value ref = isa<LoadOp>(op) ? cast<LoadOp>(op).getRef() : cast<StoreOp>(op).getRef();
    std::optional<ir::Dims> dims = dimsOf(ref);
    if (!dims || accessStaysInside(op, *dims, reader))
      return success();
    std::string where;
    for (const Conjunct &c : reader.conjunctsOf(isa<LoadOp>(op) ? cast<LoadOp>(op).getPredicate() : cast<StoreOp>(op).getPredicate()))
      where += (where.empty() ? " where 0 <= " : ", ") + (c.value ? "(a condition on data)" : c.notNegative.str());
    return op->emitOpError("K7: '") << kernel.getName() << "': offset " << reader.offsetOf(op).str() << where
                                    << " is not proven to stay inside of " << shape::product(*dims).str() << " elements";
  }
  if (auto c = dyn_cast<ContractOp>(op))
    return success(succeeded(checkOffset(op, c.getLhs(), c.getLhsExpr())) && succeeded(checkOffset(op, c.getRhs(), c.getRhsExpr())));
  if (auto a = dyn_cast<AttentionOp>(op)) {
    std::pair<Value, StringRef> reads[] = {{a.getQ(), a.getQOffset()}, {a.getK(), a.getKOffset()}, {a.getV(), a.getVOffset()}};
    for (auto [ref, text] : reads) {
      if (failed(checkOffset(op, ref, Expr::parsed(text))))
        return failure();
    }
  }
  return success();
}

LogicalResult Verifier::run() {
  for (unsigned i = 0; i < kernel.getOutputs().size(); ++i)
    if (failed(checkCoverage(i)))
      return failure();
  WalkResult inside = kernel.getBody().walk([&](Operation *op) {
    return failed(checkBounds(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (inside.wasInterrupted())
    return failure();
  if (Operation *op = Definedness(kernel, reader).firstMisuse())
    return op->emitOpError("K8: '") << kernel.getName() << "': uses a value where its predicate is false";
  return success();
}

LogicalResult kernel::verifyAccesses(GenericOp kernel, const shape::Facts &facts) { return Verifier(kernel, facts).run(); }

/// Between kernels and at the end buffers are taken for ones of other dimensions: of as many elements. Where data decide sizes, that they are
/// equal is often known only when they are read; then it is a relation that is checked.
static LogicalResult verifyReshape(ir::ReshapeOp op, const shape::Facts &facts) {
  Expr from = facts.simplify(shape::product(ir::dimsOf(op.getX()))), to = facts.simplify(shape::product(ir::dimsOf(op.getResult())));
  if (!facts.provablyLess(from, to) && !facts.provablyLess(to, from))
    return success();
  return op.emitOpError("K7: a buffer of ") << from.str() << " elements is taken for one of " << to.str();
}

namespace {
struct VerifyAccessesPass : kernel::impl::VerifyAccessesBase<VerifyAccessesPass> {
  void runOnOperation() override {
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      shape::Facts facts = ir::factsWhileRunning(getOperation(), f.getName());
      SmallVector<GenericOp> kernels(f.getOps<GenericOp>());
      if (failed(failableParallelForEach(&getContext(), kernels, [&](GenericOp k) { return verifyAccesses(k, facts); })))
        return signalPassFailure();
      for (auto r : f.getOps<ir::ReshapeOp>())
        if (failed(verifyReshape(r, facts)))
          return signalPassFailure();
    }
  }
};
} // namespace
