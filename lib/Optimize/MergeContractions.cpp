//===- MergeContractions.cpp - Projections of one tensor as one product ----===//

#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace lathe::opt {
#define GEN_PASS_DEF_MERGECONTRACTIONS
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using namespace lathe::ir;
using shape::Expr;

namespace {

/// A product with a constant matrix, and the constant bias that is added to it right away, if any.
struct Projection {
  ContractOp op;
  ConstantOp weights;
  int64_t contracted; ///< the dimension of the weights
  AddOp biased;
  ConstantOp bias;

  Value result() { return biased ? biased.getResult() : op.getResult(); }
  int64_t columns() { return typeOf(weights.getResult()).getDimSize(1 - contracted); }
};

/// What projections must share to be one product.
using Key = std::tuple<void *, std::vector<int64_t>, int64_t, bool>;

class Merger {
public:
  Merger(func::FuncOp func, const shape::Facts &facts) : func(func), facts(facts) {}
  void run();

private:
  std::optional<Projection> projectionOf(ContractOp op);
  void merge(MutableArrayRef<Projection> group);
  ElementsAttr joined(MutableArrayRef<ConstantOp> parts, int64_t axis);

  func::FuncOp func;
  const shape::Facts &facts;
  /// Layers that share weights share the joined ones.
  std::map<std::vector<const void *>, ElementsAttr> cache;
};

} // namespace

/// The constant vector of N elements that is added to every row, or one number that is added to all of them; null when the addition is anything else.
static ConstantOp rowBias(Value other, int64_t columns) {
  if (auto spread = other.getDefiningOp<BroadcastOp>())
    other = spread.getX();
  auto c = other.getDefiningOp<ConstantOp>();
  auto type = c ? typeOf(other) : RankedTensorType();
  bool isRow = c && type.getRank() > 0 && type.getNumElements() == columns && type.getShape().back() == columns;
  return isRow || (c && isa<SplatElementsAttr>(c.getValue())) ? c : ConstantOp();
}

/// A bias as a vector, whatever its rank was; null where it cannot be read.
static ConstantOp asVector(OpBuilder &b, ConstantOp bias, int64_t columns) {
  auto type = typeOf(bias.getResult());
  auto vector = RankedTensorType::get({columns}, type.getElementType());
  if (type == vector)
    return bias;
  if (auto splat = dyn_cast<SplatElementsAttr>(bias.getValue()))
    return b.create<ConstantOp>(bias.getLoc(), DenseElementsAttr::get(vector, splat.getSplatValue<Attribute>()));
  std::optional<ConstantTensor> t = readConstant(bias.getValue());
  if (!t)
    return {};
  t->type = vector;
  return b.create<ConstantOp>(bias.getLoc(), writeConstant(*t, "bias"));
}

std::optional<Projection> Merger::projectionOf(ContractOp op) {
  auto weights = op.getRhs().getDefiningOp<ConstantOp>();
  if (!weights || typeOf(op.getRhs()).getRank() != 2 || !op.getLhsBatch().empty() || op.getRhsContract().size() != 1 ||
      op.getLhs().getDefiningOp<ConstantOp>())
    return std::nullopt;
  Projection p{op, weights, op.getRhsContract()[0], {}, {}};
  if (op.getResult().hasOneUse())
    if (auto add = dyn_cast<AddOp>(*op.getResult().user_begin())) {
      Value other = add.getLhs() == op.getResult() ? add.getRhs() : add.getLhs();
      if (ConstantOp bias = rowBias(other, p.columns())) {
        p.biased = add;
        p.bias = bias;
      }
    }
  // Elementwise work on the result is done where it is stored, and columns of two halves never meet there: only results that
  // are cut up further anyway gain from one product.
  bool onlyViews = llvm::all_of(p.result().getUsers(), [](Operation *user) {
    return isa<ReshapeOp, TransposeOp, SliceOp, AttentionOp>(user);
  });
  return onlyViews ? std::optional(p) : std::nullopt;
}

/// The parts side by side along one dimension.
ElementsAttr Merger::joined(MutableArrayRef<ConstantOp> parts, int64_t axis) {
  std::vector<const void *> key{reinterpret_cast<const void *>(axis)};
  for (ConstantOp c : parts)
    key.push_back(c.getValue().getAsOpaquePointer());
  if (auto it = cache.find(key); it != cache.end())
    return it->second;
  auto first = typeOf(parts[0].getResult());
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  int64_t outer = 1, width = std::max<int64_t>(1, first.getElementTypeBitWidth() / 8);
  for (int64_t d = 0; d < axis; ++d)
    outer *= shape[d];
  std::vector<std::vector<char>> copies(parts.size()); // of splats, which have no bytes of their own
  std::vector<ArrayRef<char>> bytes;
  for (size_t i = 0; i < parts.size(); ++i) {
    ConstantOp c = parts[i];
    auto type = typeOf(c.getResult());
    shape[axis] += type.getDimSize(axis);
    std::optional<ArrayRef<char>> raw = rawBytes(c.getValue());
    if (!raw) {
      auto dense = dyn_cast<DenseElementsAttr>(c.getValue());
      if (!dense || !dense.isSplat())
        return {};
      ArrayRef<char> element = dense.getRawData();
      for (int64_t n = type.getNumElements(); n > 0; --n)
        copies[i].insert(copies[i].end(), element.begin(), element.begin() + width);
      raw = ArrayRef<char>(copies[i]);
    }
    bytes.push_back(*raw);
  }
  auto sideBySide = [&](MutableArrayRef<char> all) {
    char *to = all.begin();
    for (int64_t o = 0; o < outer; ++o)
      for (ArrayRef<char> b : bytes)
        to = llvm::copy(b.slice(o * (b.size() / outer), b.size() / outer), to);
  };
  return cache[key] = constantFilled(RankedTensorType::get(shape, first.getElementType()), "joined", sideBySide);
}

void Merger::merge(MutableArrayRef<Projection> group) {
  SmallVector<ConstantOp> weights;
  SmallVector<Location> locations;
  for (Projection &p : group) {
    weights.push_back(p.weights);
    locations.push_back(p.op.getLoc());
    if (p.bias)
      locations.push_back(p.biased.getLoc());
  }
  Projection &first = group.front();
  ElementsAttr all = joined(weights, 1 - first.contracted);
  ElementsAttr allBiases;
  if (first.bias) { // or none has one
    SmallVector<ConstantOp> rows;
    OpBuilder b(first.op);
    for (Projection &p : group)
      rows.push_back(asVector(b, p.bias, p.columns()));
    if (!llvm::all_of(rows, [](ConstantOp c) { return bool(c); }))
      return;
    allBiases = joined(rows, 0);
    if (!allBiases)
      return;
  }
  if (!all)
    return;
  // Constants go first: what is computed from them may stand anywhere.
  OpBuilder b(first.op);
  GraphBuilder g(b, FusedLoc::get(func.getContext(), locations), facts);
  Value w = b.create<ConstantOp>(g.loc, all);
  Value r = g.contract(first.op.getLhs(), w, {}, {}, first.op.getLhsContract(), {first.contracted});
  if (allBiases)
    r = g.add(r, g.broadcastTo(b.create<ConstantOp>(g.loc, allBiases), dimsOf(r)));
  g.loc = UnknownLoc::get(func.getContext()); // taking a part is no node of the model: the product is
  int64_t start = 0;
  for (Projection &p : group) {
    Value part = g.slice(r, typeOf(r).getRank() - 1, Expr(start), Expr(p.columns()));
    start += p.columns();
    p.result().replaceAllUsesWith(g.reshape(part, dimsOf(p.result())));
  }
  for (Projection &p : group) { // the builder stood at the first of them
    if (p.biased)
      p.biased.erase();
    p.op.erase();
  }
}

void Merger::run() {
  llvm::MapVector<Key, SmallVector<Projection>, std::map<Key, unsigned>> groups;
  for (ContractOp op : func.getOps<ContractOp>())
    if (std::optional<Projection> p = projectionOf(op)) {
      std::vector<int64_t> dims(op.getLhsContract().begin(), op.getLhsContract().end());
      groups[Key(op.getLhs().getAsOpaquePointer(), dims, p->contracted, bool(p->bias))].push_back(*p);
    }
  for (auto &[key, group] : groups)
    if (group.size() > 1)
      merge(group);
}

namespace {
struct MergeContractionsPass : opt::impl::MergeContractionsBase<MergeContractionsPass> {
  void runOnOperation() override {
    shape::Facts facts = factsOf(getOperation());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        Merger(func, facts).run();
  }
};
} // namespace
