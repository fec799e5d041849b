//===- FoldConstants.cpp - Constant subgraphs at compile time --------------===//
//
// Shape arithmetic comes first: an integer tensor that follows from sizes becomes a constant or a lathe.size of its own.
// Then every op whose operands all are known is found; then the known values that something unknown reads are decided upon
// one by one, from the last to the first, and computed with all that leads to them. A value that is not worth a constant
// hands the question on to its operands.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/Evaluate.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace lathe::opt {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using namespace lathe::ir;

namespace {

constexpr int64_t kSmall = 512;            ///< bytes that are always worth a constant
constexpr int64_t kLargest = 4 << 20;      ///< bytes of a result that may exceed its operands
constexpr int64_t kMaxElements = 16 << 20; ///< of any value on the way
constexpr unsigned kMaxDepth = 500;        ///< of a subgraph: the recursion over it is bounded

class Folder {
public:
  explicit Folder(func::FuncOp func) : func(func) {}
  void run();

private:
  void foldEmpty();
  void foldSizes();
  void findKnown();
  bool isKnown(Value v) const { return known.contains(v); }
  bool needed(Value v) const;
  bool worthwhile(Operation *op);
  /// The constants that the op is computed from, and whether an op of (nearly) its own size on the way is costly.
  void inspect(Operation *op, int64_t size, int64_t &leafBytes, bool &costly);
  const ConstantTensor *compute(Value v);
  void fold(Operation *op);

  func::FuncOp func;
  DenseSet<Value> known, seen;
  DenseMap<Value, std::unique_ptr<ConstantTensor>> values;
};

} // namespace

/// What has no elements is known, whatever it is computed from; no kernel has to deal with it.
void Folder::foldEmpty() {
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
    if (op.getNumResults() != 1 || isa<ConstantOp>(op) || isHostOp(&op) || !isa<LatheDialect>(op.getDialect()))
      continue;
    auto type = typeOf(op.getResult(0));
    if (!type.hasStaticShape() || type.getNumElements() || !isNumber(type.getElementType()))
      continue;
    OpBuilder b(&op);
    op.getResult(0).replaceAllUsesWith(
        b.create<ConstantOp>(op.getLoc(), writeConstant(ConstantTensor(type), "empty")).getResult());
    op.erase();
  }
}

/// Lists of sizes are as long as shapes. Of longer ones, indices along an axis, an element would be found by as many choices.
constexpr size_t longestList = 32;

/// Each op right behind a lathe.size becomes one, so that the next one is right behind it.
void Folder::foldSizes() {
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
    if (op.getNumResults() != 1 || isa<SizeOp, ConstantOp>(op) ||
        llvm::none_of(op.getOperands(), [](Value v) { return v.getDefiningOp<SizeOp>(); }))
      continue;
    std::optional<Dims> exprs = symbolicValue(op.getResult(0));
    if (!exprs)
      continue;
    auto type = typeOf(op.getResult(0));
    OpBuilder b(&op);
    Value value;
    if (llvm::all_of(*exprs, [](const shape::Expr &e) { return e.constant().has_value(); })) {
      ConstantTensor t(type);
      for (auto [i, e] : llvm::enumerate(*exprs))
        t.ints[i] = wrapTo(*e.constant(), type.getElementType());
      value = b.create<ConstantOp>(op.getLoc(), writeConstant(t, "folded"));
    } else if (type.getRank() <= 1 && exprs->size() <= longestList && type.getElementType().isSignlessInteger(64)) {
      value = b.create<SizeOp>(op.getLoc(), type, exprArray(b, *exprs));
    }
    if (!value)
      continue;
    op.getResult(0).replaceAllUsesWith(value);
    op.erase();
  }
}

void Folder::findKnown() {
  DenseMap<Value, unsigned> depths;
  for (Operation &op : func.getBody().front()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (isNumber(elementOf(constant.getResult())))
        known.insert(constant.getResult());
      continue;
    }
    if (!canEvaluate(&op) || !llvm::all_of(op.getOperands(), [&](Value v) { return isKnown(v); }) ||
        typeOf(op.getResult(0)).getNumElements() > kMaxElements)
      continue;
    unsigned depth = 1;
    for (Value v : op.getOperands())
      depth = std::max(depth, depths.lookup(v) + 1);
    if (depth > kMaxDepth) // what it reads becomes a constant, as for any op that stays
      continue;
    depths[op.getResult(0)] = depth;
    known.insert(op.getResult(0));
  }
}

bool Folder::needed(Value v) const {
  return llvm::any_of(v.getUsers(), [&](Operation *user) {
    return user->getNumResults() != 1 || !isKnown(user->getResult(0));
  });
}

/// Floats become integers of 64 bits in many steps where vectors have none for it, and each point that is gathered takes them again.
static bool makesIndices(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && isa<FloatType>(elementOf(cast->getOperand(0))) && elementOf(cast->getResult(0)).isInteger(64);
}

void Folder::inspect(Operation *op, int64_t size, int64_t &leafBytes, bool &costly) {
  if (!seen.insert(op->getResult(0)).second)
    return;
  if (auto c = dyn_cast<ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(c.getValue());
    if (!dense || !dense.isSplat())
      leafBytes += bytesOf(typeOf(c.getResult()));
    return;
  }
  costly |= (isCostly(op) || makesIndices(op)) && 4 * typeOf(op->getResult(0)).getNumElements() >= size;
  for (Value v : op->getOperands())
    inspect(v.getDefiningOp(), size, leafBytes, costly);
}

/// Weights that are made of others (dequantised, say) and read by a product: what they are made of is read once, they in every run.
static bool feedsProduct(Operation *op) {
  Operation *source = op;
  while (isa_and_nonnull<ReshapeOp, TransposeOp, SliceOp>(source))
    source = source->getOperand(0).getDefiningOp();
  return source && !isa<ConstantOp>(source) && llvm::any_of(op->getUsers(), [](Operation *user) { return isa<ContractOp, ConvOp>(user); });
}

bool Folder::worthwhile(Operation *op) {
  auto type = typeOf(op->getResult(0));
  // A filter is laid out anew for its convolution, whose artifact holds nothing of what it was computed from.
  if (llvm::any_of(op->getUsers(), [&](Operation *user) { return isa<ConvOp>(user) && user->getOperand(1) == op->getResult(0); }))
    return true;
  if (isa<BroadcastOp, IotaOp>(op)) // cheaper to compute than to load, whatever the size
    return false;
  int64_t bytes = bytesOf(type), leafBytes = 0;
  bool costly = false;
  if (bytes <= kSmall)
    return true;
  if (feedsProduct(op))
    return true;
  seen.clear();
  inspect(op, type.getNumElements(), leafBytes, costly);
  if (bytes <= kLargest)
    return costly || bytes <= leafBytes;
  // A view of a large constant is free at run time and a copy of it in the artifact is not.
  return bytes <= leafBytes && !isa<ReshapeOp, TransposeOp, SliceOp>(op);
}

const ConstantTensor *Folder::compute(Value v) {
  if (auto it = values.find(v); it != values.end())
    return it->second.get();
  std::optional<ConstantTensor> result;
  Operation *op = v.getDefiningOp();
  if (auto c = dyn_cast<ConstantOp>(op)) {
    result = readConstant(c.getValue());
  } else {
    SmallVector<const ConstantTensor *> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(compute(operand));
      if (!operands.back())
        break;
    }
    if (operands.size() == op->getNumOperands() && (operands.empty() || operands.back()))
      result = evaluate(op, operands);
  }
  auto owned = result ? std::make_unique<ConstantTensor>(std::move(*result)) : nullptr;
  return (values[v] = std::move(owned)).get();
}

/// A reshaped constant shares the bytes of the original.
static ElementsAttr reshapedConstant(ReshapeOp op) {
  auto c = op.getX().getDefiningOp<ConstantOp>();
  auto type = typeOf(op.getResult());
  if (!c || !type.hasStaticShape())
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(c.getValue()))
    return dense.reshape(type);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(c.getValue()))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  return {};
}

void Folder::fold(Operation *op) {
  ElementsAttr attr;
  if (auto r = dyn_cast<ReshapeOp>(op))
    attr = reshapedConstant(r);
  if (!attr && worthwhile(op)) {
    if (const ConstantTensor *value = compute(op->getResult(0)))
      attr = writeConstant(*value, "folded");
    values.clear(); // Intermediate values can be large, and few are shared between results.
  }
  if (!attr)
    return;
  OpBuilder b(op);
  auto constant = b.create<ConstantOp>(op->getLoc(), attr);
  op->getResult(0).replaceAllUsesWith(constant.getResult());
  known.insert(constant.getResult());
}

void Folder::run() {
  foldEmpty();
  foldSizes();
  findKnown();
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    if (op->getNumResults() != 1 || !isKnown(op->getResult(0)))
      continue;
    if (!isa<ConstantOp>(op) && needed(op->getResult(0)))
      fold(op);
    // Once nothing reads it, its operands are read by fewer, too; where it stays, it reads them itself.
    known.erase(op->getResult(0));
    if (op->use_empty())
      op->erase();
  }
}

namespace {
struct FoldConstantsPass : opt::impl::FoldConstantsBase<FoldConstantsPass> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        Folder(func).run();
  }
};
} // namespace
