//===- Trees.cpp - Which ops are computed where they are used --------------===//

#include "Trees.h"
#include "TurnedRows.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;

bool fuse::isPointwise(Operation *op) {
  return isa_and_nonnull<ir::ElementwiseInterface, ir::ConcatOp, ir::PadOp, ir::GatherOp, ir::GatherNdOp>(op) && !isView(op);
}

bool fuse::isHeavy(Operation *op) {
  return isa<ir::ExpOp, ir::Exp2Op, ir::Expm1Op, ir::LogOp, ir::Log1pOp, ir::Log2Op, ir::SinOp, ir::CosOp, ir::TanOp,
             ir::AsinOp, ir::AcosOp, ir::AtanOp, ir::SinhOp, ir::CoshOp, ir::TanhOp, ir::AsinhOp, ir::AcoshOp,
             ir::AtanhOp, ir::ErfOp, ir::PowOp, ir::DivOp, ir::ModOp, ir::SqrtOp, ir::RsqrtOp, ir::Atan2Op, ir::GatherNdOp>(op);
}

bool fuse::hasOwnLoop(Operation *op) { return isa_and_nonnull<ir::ReduceOp, ir::ConvOp, ir::ScanOp, ir::CompactOp, ir::SortOp, ir::FftOp, ir::ScatterOp>(op); }

bool fuse::isHeavyRoot(Operation *op) { return isa_and_nonnull<ir::ContractOp, ir::AttentionOp>(op); }

/// Bits of a constant's words, cast and scaled, seen through views.
static bool isUnpacked(Value v) {
  Operation *op = v.getDefiningOp();
  if (auto bits = dyn_cast_or_null<ir::AndOp>(op))
    return bits.getLhs().getDefiningOp<ir::ShrOp>() != nullptr;
  return op && (isView(op) || isa<ir::CastOp, ir::SubOp, ir::MulOp>(op)) && isUnpacked(op->getOperand(0));
}

static bool multipliesUnpacked(Operation *op) {
  return isa<ir::MulOp>(op) && op->hasOneUse() && isUnpackedProduct(*op->user_begin());
}

bool fuse::isUnpackedProduct(Operation *op) {
  auto sum = dyn_cast<ir::ReduceOp>(op);
  auto mul = sum && sum.getKind() == ir::ReduceKind::Sum ? sum.getX().getDefiningOp<ir::MulOp>() : ir::MulOp();
  return mul && mul->hasOneUse() && isUnpacked(mul.getRhs()) && !isUnpacked(mul.getLhs());
}

bool Trees::isSplat(Value v) {
  auto c = v.getDefiningOp<ir::ConstantOp>();
  auto dense = c ? dyn_cast<DenseElementsAttr>(c.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat();
}

bool Trees::isExternal(Value v) {
  return isa<BlockArgument>(v) || ir::isHostOp(v.getDefiningOp()) || (v.getDefiningOp<ir::ConstantOp>() && !isSplat(v));
}

namespace {

/// The ops that use a value, looking through views; `expanded` when one of the views repeats elements, `turned` when one has another last dimension.
struct Uses {
  llvm::SmallSetVector<Operation *, 4> ops;
  unsigned count = 0;
  bool expanded = false, turned = false;
};

void collectUses(Value v, Uses &uses) {
  for (OpOperand &use : v.getUses()) {
    Operation *op = use.getOwner();
    if (isView(op)) {
      uses.expanded |= isa<ir::BroadcastOp>(op);
      uses.turned |= movesLast(op);
      collectUses(op->getResult(0), uses);
      continue;
    }
    uses.ops.insert(op);
    ++uses.count;
  }
}

/// A list of sizes, of which an element is found by as many choices.
bool isLongList(Operation *op) {
  auto sizes = dyn_cast<ir::SizeOp>(op);
  return sizes && sizes.getExprs().size() > 2;
}

/// Instructions of an element of a vector: integers of a float hold to the ends of their range, by comparisons and choices.
unsigned freeCost(Operation *op) {
  constexpr unsigned saturation = 12;
  auto cast = dyn_cast<ir::CastOp>(op);
  return cast && isa<FloatType>(ir::elementOf(cast.getX())) && isa<IntegerType>(ir::elementOf(cast.getResult())) ? saturation : 1;
}

/// Follows from sizes and splat constants alone, cheaply: everybody computes it anew.
bool isFree(Value v, unsigned budget, unsigned &cost) {
  Operation *op = v.getDefiningOp();
  if (!op || Trees::isExternal(v))
    return false;
  if (isa<ir::ConstantOp, ir::SizeOp, ir::IotaOp>(op))
    return !isLongList(op);
  if (!isView(op) && (!isa<ir::ElementwiseInterface>(op) || isHeavy(op) || (cost += freeCost(op)) > budget))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value o) { return isFree(o, budget, cost); });
}

} // namespace

/// Instructions beside which writing an element to memory and reading it again does not count.
constexpr unsigned memoryTrip = 4;

/// A convolution of bytes has its padding made before; one without groups, or of single channels, reads what is padded once, where it copies it.
static bool packsOnce(Operation *user) {
  auto conv = dyn_cast<ir::ConvOp>(user);
  return conv && (conv.getGroups() == 1 || ir::dimsOf(conv.getW())[1].isOne()) && !isa<FloatType>(ir::elementOf(conv.getX()));
}

/// Groups of bytes that windows step over by more than one: no vector of them is read under a mask.
static bool stepsOverBytes(Operation *pad) {
  auto conv = pad->hasOneUse() ? dyn_cast<ir::ConvOp>(*pad->user_begin()) : ir::ConvOp();
  return conv && !packsOnce(conv) && !isa<FloatType>(ir::elementOf(conv.getX())) && llvm::any_of(conv.getStrides(), [](int64_t s) { return s > 1; });
}

/// A cast to floats of more bits. Whoever reads its value reads less memory without it, and makes it by one instruction.
static bool widens(Operation *op) {
  auto cast = dyn_cast_or_null<ir::CastOp>(op);
  auto from = cast ? dyn_cast<FloatType>(ir::elementOf(cast.getX())) : FloatType();
  auto to = cast ? dyn_cast<FloatType>(ir::elementOf(cast.getResult())) : FloatType();
  return from && to && from.getWidth() < to.getWidth() && from.getWidth() >= 16;
}

/// What is widened, a value that is not its own.
static Value narrowOf(Value v) {
  while (widens(v.getDefiningOp()))
    v = v.getDefiningOp()->getOperand(0);
  return v;
}

/// How often an op reads each element of a value, on average.
static int64_t readsOf(Operation *user, bool packsImages) {
  if (widens(user)) {
    Uses uses;
    collectUses(user->getResult(0), uses);
    int64_t reads = 1;
    for (Operation *op : uses.ops)
      reads = std::max(reads, isa<ir::PadOp>(op) ? readsOf(op, packsImages) : 1);
    return reads;
  }
  if (auto conv = dyn_cast<ir::ConvOp>(user)) {
    int64_t places = 1, steps = 1;
    Dims w = ir::dimsOf(conv.getW());
    for (auto [kernel, stride] : llvm::zip(ArrayRef(w).drop_front(2), conv.getStrides())) {
      places *= kernel.constant().value_or(2);
      steps *= stride;
    }
    return (places + steps - 1) / steps;
  }
  if (!isa<ir::PadOp>(user))
    return 1;
  if (!user->hasOneUse()) // a pool: a padding with one slice for each place
    return 2;
  Uses uses;
  collectUses(user->getResult(0), uses);
  int64_t reads = 1;
  for (Operation *op : uses.ops)
    if (!packsImages || !packsOnce(op))
      reads = std::max(reads, readsOf(op, packsImages));
  return reads;
}

/// What it takes to compute an element again, in instructions, without the loads of a single operand.
static unsigned costAgain(Operation *op) {
  if (auto concat = dyn_cast<ir::ConcatOp>(op))
    return 2 * concat.getInputs().size(); // each operand under a mask, and a choice
  return isa<ir::GatherOp, ir::GatherNdOp>(op) ? 8 : isHeavy(op) ? 16 : 1;
}

/// The values whose elements an element is made of, views and what has one reader looked through.
static void collectElements(Value v, llvm::SmallSetVector<Value, 4> &elements, unsigned depth = 0) {
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<ir::BroadcastOp, ir::ConstantOp>(op))
    return;
  bool through = op && depth < 16 && (isView(op) || (isa<ir::ElementwiseInterface>(op) && op->hasOneUse()));
  if (!through)
    elements.insert(v);
  for (Value x : through ? op->getOperands() : OperandRange(nullptr, 0))
    collectElements(x, elements, depth + 1);
}

/// The op that a value comes from, looking through views; null for an argument.
static Operation *sourceOf(Value v) {
  Operation *op = v.getDefiningOp();
  while (op && isView(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// Does a value follow from what `source` makes, within a few steps?
static bool followsFrom(Value v, Operation *source, unsigned &steps) {
  Operation *op = v.getDefiningOp();
  if (!op || !source || isa<ir::ConstantOp>(op) || ++steps > 32)
    return false;
  return op == source || llvm::any_of(op->getOperands(), [&](Value o) { return followsFrom(o, source, steps); });
}

/// Channels that are scaled by what follows from themselves (squeeze and excitation, Hu et al. 2018): whoever makes them has ended
/// before the scales are known, so no producer takes the product.
static bool isExcited(Operation *op) {
  for (Value scale : op->getOperands()) {
    if (!isa_and_nonnull<ir::BroadcastOp>(scale.getDefiningOp()))
      continue;
    for (Value v : op->getOperands())
      if (unsigned steps = 0; v != scale && followsFrom(scale, sourceOf(v), steps))
        return true;
  }
  return false;
}

/// Does a convolution or a product make one of the values? What stands behind it is its epilogue.
static bool haveEpilogue(ArrayRef<Value> values) {
  return llvm::any_of(values, [](Value v) {
    Operation *op = sourceOf(v);
    while (isa_and_nonnull<ir::ElementwiseInterface>(op) && op->getNumOperands())
      op = sourceOf(op->getOperand(0));
    return isa_and_nonnull<ir::ConvOp, ir::ContractOp>(op);
  });
}

/// How often a gather reads each element of what an op joins, on average: frames of a signal overlap.
static int64_t readsByFrames(Operation *user, Operation *joined) {
  auto gather = dyn_cast<ir::GatherOp>(user);
  if (!isa<ir::ConcatOp>(joined) || !gather || sourceOf(gather.getX()) != joined)
    return 1;
  std::optional<int64_t> reads = shape::product(ir::dimsOf(gather.getResult())).constant(), size = shape::product(ir::dimsOf(gather.getX())).constant();
  return reads && size && *size ? std::max<int64_t>(1, *reads / *size) : 1;
}

/// A value that windows read is made once, by its producer where that takes it, not at every place of the windows: unless
/// making it again costs less than a trip through memory. A convolution with a single place reads each element once per
/// channel, all from one packed copy: what stands before it may stay there, unless its producer takes it (which then reads a second
/// image once, and here nothing is left to pack), or it is a pool, which reads several elements for each.
static int64_t readsByWindows(Operation *op, const Uses &uses, bool packsImages) {
  if (!isa<ir::ElementwiseInterface, ir::GatherOp, ir::GatherNdOp, ir::ConcatOp>(op))
    return 0;
  int64_t reads = 1;
  bool slides = false;
  for (Operation *user : uses.ops) {
    reads = std::max({reads, readsOf(user, packsImages), readsByFrames(user, op)});
    slides |= isa<ir::ConvOp>(user);
  }
  if (reads > 1)
    return isa<ir::ElementwiseInterface>(op) || (reads - 1) * costAgain(op) > memoryTrip ? reads : 0;
  if (!slides || isa<ir::ConcatOp>(op))
    return 0;
  llvm::SmallSetVector<Value, 4> elements;
  for (Value v : op->getOperands())
    collectElements(v, elements);
  bool taken = elements.size() <= 1 || haveEpilogue(elements.getArrayRef());
  return (taken && !(packsImages && isExcited(op))) || elements.size() > 2;
}

/// Bytes that a convolution reads behind a padding: the kernel that makes what they are made of stores them, rather than that.
bool Trees::areStoredBytes(Operation *op) const {
  Type element = isa<ir::ElementwiseInterface>(op) ? ir::elementOf(op->getResult(0)) : Type();
  if (!isa_and_nonnull<IntegerType>(element) || element.getIntOrFloatBitWidth() != 8)
    return false;
  bool packed = llvm::any_of(op->getUsers(), [](Operation *u) { return isa<ir::PadOp>(u) && u->hasOneUse() && isa<ir::ConvOp>(*u->user_begin()); });
  return packed && llvm::any_of(leaves(op->getResult(0)), [&](const Leaf &l) { return !isExternal(l.value); });
}

/// Does all that is made of a transposed value, element by element or place by place, come back to the order before? Then windows over it are read as they lie.
static bool isTurnedBack(ir::TransposeOp turned) {
  constexpr size_t most = 256;
  llvm::SetVector<Operation *> path;
  path.insert(turned);
  for (size_t i = 0; i < path.size(); ++i)
    for (Operation *user : path[i]->getUsers()) {
      if (auto back = dyn_cast<ir::TransposeOp>(user)) {
        if (!turnsBack(back, turned))
          return false;
        continue;
      }
      auto gather = dyn_cast<ir::GatherOp>(user);
      if (path.size() > most || !(isa<ir::ElementwiseInterface, ir::SliceOp, ir::PadOp>(user) || (gather && path[i]->getResult(0) == gather.getX())))
        return false;
      path.insert(user);
    }
  return true;
}

/// Whether the op is the last of what follows a product element by element, and nobody else needs what lies between: the product's kernel stores it.
static bool endsEpilogue(Operation *op) {
  if (!isa<ir::ElementwiseInterface>(op))
    return false;
  return llvm::any_of(op->getOperands(), [](Value v) {
    Operation *below = v.getDefiningOp();
    return below && below->hasOneUse() && (isa<ir::ConvOp, ir::ContractOp>(below) || endsEpilogue(below));
  });
}

int64_t fuse::lastStep(Operation *op) {
  auto slice = dyn_cast<ir::SliceOp>(op);
  return slice && !slice.getSteps().empty() ? slice.getSteps().back() : 1;
}

Trees::Taps Trees::tapsOf(Operation *root) const {
  Taps taps;
  llvm::SetVector<Operation *> tree;
  tree.insert(root);
  for (size_t i = 0; i < tree.size(); ++i) {
    taps.count += isa<ir::SliceOp>(tree[i]);
    taps.stepped |= std::abs(lastStep(tree[i])) > 1;
    taps.repeated |= repeatsInRows(tree[i]);
    if (tree[i] == root || isView(tree[i]) || isa<ir::ElementwiseInterface, ir::PadOp>(tree[i]))
      for (Value v : tree[i]->getOperands())
        if (Operation *below = v.getDefiningOp(); below && !isExternal(v) && !isRoot(below))
          tree.insert(below);
  }
  return taps;
}

bool Trees::takesEach(Operation *op) const {
  if (!gathersLanes)
    return false;
  if (auto gather = dyn_cast<ir::GatherOp>(op))
    return int64_t(gather.getAxis()) == ir::typeOf(gather.getX()).getRank() - 1 && ir::typeOf(gather.getIndices()).getRank() == 1;
  return isa<ir::ElementwiseInterface>(op) && llvm::any_of(op->getOperands(), [&](Value v) {
    Operation *below = v.getDefiningOp();
    return below && !isExternal(v) && !isRoot(below) && !isView(below) && takesEach(below);
  });
}

bool Trees::mustBeRoot(Operation *op) {
  if (hasOwnLoop(op) || isHeavyRoot(op))
    return true;
  if (isCopy(op))
    return true;
  Uses uses;
  collectUses(op->getResult(0), uses);
  // What something unpacked is multiplied with is read from memory, as for a contraction; of a half type as that.
  bool unpacked = isUnpacked(op->getResult(0)), multiplies = !unpacked && llvm::any_of(uses.ops, multipliesUnpacked);
  Operation *narrow = multiplies && widens(op) ? sourceOf(narrowOf(op->getResult(0))) : nullptr;
  if (isPointwise(narrow))
    roots.insert(narrow);
  bool fromMemory = (multiplies && !widens(op)) || llvm::any_of(uses.ops, [&](Operation *u) {
    return isHeavyRoot(u) || isa<func::ReturnOp>(u) || ir::isHostOp(u);
  });
  unsigned cost = 0;
  if (!fromMemory && isFree(op->getResult(0), 12, cost))
    return false;
  if (fromMemory)
    return true;
  // A padding is no more than a predicate.
  if (isa<ir::PadOp>(op) && stepsOverBytes(op))
    return true;
  auto isInMemory = [&](Value v) {
    auto turned = [&] { return v.getDefiningOp<ir::TransposeOp>(); };
    while (v.getDefiningOp<ir::ReshapeOp>() || (turned() && isTurnedBack(turned()))) // the same elements, in other words for their sizes, or as they lie
      v = v.getDefiningOp()->getOperand(0);
    return isExternal(v) || roots.contains(v.getDefiningOp());
  };
  if (isa<ir::PadOp>(op) && isInMemory(narrowOf(op->getOperand(0))))
    return false;
  if (widens(op) && uses.count == 1 && isa<ir::PadOp>(uses.ops[0]) && isInMemory(narrowOf(op->getResult(0))))
    return false;
  // Windows without a padding read places of it, an enlarged image lines: what is stored is what it is made of.
  auto readsPlaces = [&](Operation *user) {
    auto gather = dyn_cast<ir::GatherOp>(user);
    return isView(user) || (gather && gather.getX() == op->getResult(0));
  };
  if (widens(op) && uses.count > 1 && llvm::all_of(op->getUsers(), readsPlaces)) {
    Value narrow = narrowOf(op->getResult(0));
    if (!isInMemory(narrow) && isPointwise(narrow.getDefiningOp()))
      roots.insert(narrow.getDefiningOp());
    if (isInMemory(narrow))
      return false;
  }
  if (uses.count != 1 || areStoredBytes(op))
    return true;
  // Lanes of a reduction have no elements side by side where these are taken from places apart; lanes of a loop of its own are shuffled.
  // So are those of whoever takes its elements again, or in another order.
  auto movesElements = [](Operation *user) { return isa<ir::ReduceOp, ir::GatherOp>(user) || lastStep(user) != 1; };
  if (isa<ir::ElementwiseInterface, ir::ConcatOp>(op) && (uses.expanded || movesElements(uses.ops[0]) || llvm::any_of(op->getUsers(), movesElements)))
    if (Taps taps = tapsOf(op); taps.stepped && taps.count > 1)
      return true;
  // A part of a concatenation is read as it is stored, by whatever reads that; so is what is brought into order.
  if ((isa<ir::ConcatOp>(uses.ops[0]) || isCopy(uses.ops[0])) && endsEpilogue(op))
    return true;
  if (int64_t reads = readsByWindows(op, uses, packsImages)) {
    if (reads > 1)
      repeats[op] = reads;
    return true;
  }
  // Repeating elements repeats the work below. An index along one axis is asked for at every place of the others.
  auto gather = dyn_cast<ir::GatherOp>(uses.ops[0]);
  bool isIndex = gather && sourceOf(gather.getIndices()) == op && ir::dimsOf(gather.getX()).size() > 1;
  if ((uses.expanded || uses.turned || isa<ir::ReduceOp>(uses.ops[0])) && takesEach(op))
    return true;
  if (!uses.expanded && !isIndex)
    return false;
  std::function<bool(Value)> heavyBelow = [&](Value v) {
    Operation *d = v.getDefiningOp();
    if (!d || roots.contains(d) || isExternal(v))
      return false;
    return isHeavy(d) || isLongList(d) || freeCost(d) > 1 || llvm::any_of(d->getOperands(), heavyBelow);
  };
  return heavyBelow(op->getResult(0));
}

/// Instructions of the op alone, about.
static unsigned ownWeight(Operation *op) {
  if (isa<ir::DivOp, ir::SqrtOp, ir::RsqrtOp>(op))
    return 4;
  return isHeavy(op) ? 50 : 1;
}

/// The op that could be kept in memory: the one below views.
static Operation *belowViews(Value v) {
  Operation *op = sourceOf(v);
  return isPointwise(op) ? op : nullptr;
}

void Trees::weigh(Operation *op) {
  auto isPart = [&](Value v) { return v.getDefiningOp() && !isExternal(v) && !isRoot(v.getDefiningOp()); };
  auto total = [&] {
    unsigned sum = ownWeight(op);
    for (Value v : op->getOperands())
      sum += isPart(v) ? weights.lookup(v.getDefiningOp()) : 1;
    return sum;
  };
  unsigned weight = total();
  while (weight > largestTree) {
    Operation *heaviest = nullptr;
    for (Value v : op->getOperands())
      if (Operation *below = isPart(v) ? belowViews(v) : nullptr; below && !isRoot(below))
        if (!heaviest || weights.lookup(below) > weights.lookup(heaviest))
          heaviest = below;
    if (!heaviest)
      break;
    roots.insert(heaviest);
    for (Value v : op->getOperands()) // views of what is in memory weigh no more than themselves
      for (Operation *view = v.getDefiningOp(); belowViews(v) == heaviest && isView(view); view = view->getOperand(0).getDefiningOp())
        weights[view] = 1;
    weight = total();
  }
  weights[op] = weight;
}

Trees::Trees(Block &body, bool packsImages, bool gathersLanes) : packsImages(packsImages), gathersLanes(gathersLanes) {
  for (Operation &op : body) {
    if (isPointwise(&op) || hasOwnLoop(&op) || isHeavyRoot(&op))
      if (mustBeRoot(&op))
        roots.insert(&op);
    weigh(&op);
    if (isPointwise(&op) && !isRoot(&op) && llvm::any_of(op.getUsers(), turnsRows) && isLargeToTurn(&op))
      roots.insert(&op);
  }
}

bool Trees::isLargeToTurn(Operation *op) const {
  constexpr unsigned largestTurned = 24; // instructions
  if (weightOf(op) <= largestTurned)
    return false;
  SmallVector<Value> work(op->getOperands());
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *below = work.pop_back_val().getDefiningOp();
    if (!below || isRoot(below) || !seen.insert(below).second)
      continue;
    if (isa<ir::GatherOp, ir::GatherNdOp>(below)) // elements from anywhere have no order to keep
      return false;
    llvm::append_range(work, below->getOperands());
  }
  return true;
}

void Trees::collect(Value v, std::vector<Operation *> &path, std::vector<Leaf> &out, llvm::DenseSet<Value> &seen) const {
  Operation *op = v.getDefiningOp();
  if (isExternal(v) || (op && isRoot(op))) {
    if (seen.insert(v).second)
      out.push_back({v, {path.rbegin(), path.rend()}});
    return;
  }
  if (!op || !seen.insert(v).second)
    return;
  path.push_back(op);
  for (Value o : op->getOperands())
    collect(o, path, out, seen);
  path.pop_back();
}

std::vector<Trees::Leaf> Trees::leaves(Value value) const {
  std::vector<Leaf> out;
  std::vector<Operation *> path;
  llvm::DenseSet<Value> seen;
  collect(value, path, out, seen);
  return out;
}

std::vector<Trees::Leaf> Trees::leavesOf(Operation *root) const {
  std::vector<Leaf> out;
  std::vector<Operation *> path;
  llvm::DenseSet<Value> seen;
  for (Value o : root->getOperands())
    collect(o, path, out, seen);
  return out;
}

std::vector<Operation *> Trees::opsOf(Operation *root) const {
  std::vector<Operation *> out{root};
  llvm::DenseSet<Operation *> seen{root};
  for (size_t i = 0; i < out.size(); ++i)
    for (Value v : out[i]->getOperands())
      if (Operation *op = v.getDefiningOp(); op && !isExternal(v) && !isRoot(op) && seen.insert(op).second)
        out.push_back(op);
  return out;
}
