//===- TreeEnsemble.cpp - ai.onnx.ml: sums over decision trees -------------===//
//
// All trees are walked at once, for all rows: the state is a node per row and tree, and a step reads that node's row of the
// tables. Leaves follow the inner nodes and lead to themselves, so that every tree takes as many steps as the deepest one.
//
//===----------------------------------------------------------------------===//

#include "Node.h"
#include <cmath>

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

enum Mode : int64_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member, ModeCount };
constexpr int64_t kMaxDepth = 256;

class Ensemble {
public:
  explicit Ensemble(Node &n) : n(n) {}
  void build();

private:
  Value attribute(const char *name);
  void readNodes();
  void readSets();
  int64_t depth();
  Value step(Value at);
  Value total(Value leaf);
  Value transformed(Value y);
  Value at(Value table, Value node) { return n.g.gather(table, node, 0); }

  Node &n;
  Type type;
  int64_t inner = 0, leaves = 0, trees = 0, targets = 1;
  SmallVector<int64_t> roots, yes, no, features, modes, missing, leafTargets;
  Value x, splits, weights, sets;
  SmallVector<int64_t> setOf; ///< of each node, 0 where it has none
};

Value Ensemble::attribute(const char *name) {
  const TensorProto *t = n.tensor(name);
  if (!t)
    failWrong("attribute '{0}' is missing", name);
  Value v = n.constant(*t);
  n.requireRank(v, 1);
  return v;
}

void Ensemble::readNodes() {
  features = n.integers("nodes_featureids");
  inner = features.size();
  leafTargets = n.integers("leaf_targetids");
  leaves = leafTargets.size();
  targets = n.integer("n_targets", 1);
  roots = n.integers("tree_roots");
  trees = roots.size();
  auto perNode = [&](const char *name) {
    SmallVector<int64_t> v = n.integers(name);
    if (int64_t(v.size()) != inner)
      failWrong("attribute '{0}' has {1} entries for {2} nodes", name, v.size(), inner);
    return v;
  };
  auto follow = [&](const char *ids, const char *leafs) {
    SmallVector<int64_t> to = perNode(ids), isLeaf = perNode(leafs);
    for (auto [i, t] : llvm::enumerate(to)) {
      if (t < 0 || t >= (isLeaf[i] ? leaves : inner))
        failWrong("attribute '{0}' holds {1}", ids, t);
      to[i] = isLeaf[i] ? inner + t : t;
    }
    for (int64_t leaf = 0; leaf < leaves; ++leaf)
      to.push_back(inner + leaf);
    return to;
  };
  yes = follow("nodes_truenodeids", "nodes_trueleafs");
  no = follow("nodes_falsenodeids", "nodes_falseleafs");
  missing = n.hasAttribute("nodes_missing_value_tracks_true") ? perNode("nodes_missing_value_tracks_true") : SmallVector<int64_t>(inner, 0);
  Value mode = attribute("nodes_modes");
  mlir::DenseIntElementsAttr dense;
  if (auto c = mode.getDefiningOp<ir::ConstantOp>())
    dense = llvm::dyn_cast<mlir::DenseIntElementsAttr>(c.getValue());
  if (!dense)
    failUnsupported("more than {0} nodes", inner);
  for (const llvm::APInt &m : dense.getValues<llvm::APInt>())
    modes.push_back(m.getZExtValue());
  splits = attribute("nodes_splits");
  weights = attribute("leaf_weights");
  n.requireEqual(n.dim(splits, 0), Expr(inner), "one split per node");
  n.requireEqual(n.dim(weights, 0), Expr(leaves), "one weight per leaf");
  if (int64_t(modes.size()) != inner || llvm::any_of(modes, [](int64_t m) { return m < 0 || m >= ModeCount; }))
    failWrong("attribute 'nodes_modes' does not hold a mode for each of {0} nodes", inner);
  if (trees < 1 || leaves < 1 || inner < 1 || targets < 1)
    failWrong("{0} trees with {1} nodes and {2} leaves for {3} targets", trees, inner, leaves, targets);
  for (int64_t r : roots)
    if (r < 0 || r >= inner)
      failWrong("attribute 'tree_roots' holds {0}", r);
  for (int64_t t : leafTargets)
    if (t < 0 || t >= targets)
      failWrong("attribute 'leaf_targetids' holds {0}", t);
  for (int64_t f : features)
    if (f < 0)
      failWrong("attribute 'nodes_featureids' holds {0}", f);
}

/// The sets of the Member nodes, in order, each ended by NaN, as a table that NaN fills.
void Ensemble::readSets() {
  setOf.assign(inner + leaves, 0);
  if (!llvm::is_contained(modes, int64_t(Member)))
    return;
  Value given = attribute("membership_values");
  auto c = given.getDefiningOp<ir::ConstantOp>();
  auto dense = c ? llvm::dyn_cast<mlir::DenseFPElementsAttr>(c.getValue()) : nullptr;
  if (!dense)
    failUnsupported("more members than are read when compiling");
  std::vector<std::vector<double>> all(1);
  for (const llvm::APFloat &v : dense.getValues<llvm::APFloat>()) {
    llvm::APFloat wide = v;
    bool lossy;
    wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
    if (wide.isNaN())
      all.emplace_back();
    else
      all.back().push_back(wide.convertToDouble());
  }
  int64_t next = 0;
  size_t width = 1;
  for (int64_t i = 0; i < inner; ++i)
    if (modes[i] == Member)
      setOf[i] = next++;
  if (next > int64_t(all.size()))
    failWrong("attribute 'membership_values' has {0} sets for {1} nodes", all.size(), next);
  for (const auto &set : all)
    width = std::max(width, set.size());
  std::vector<double> table;
  for (auto &set : all) {
    set.resize(width, NAN);
    table.insert(table.end(), set.begin(), set.end());
  }
  auto shape = RankedTensorType::get({int64_t(all.size()), int64_t(width)}, n.g.b.getF64Type());
  sets = n.g.cast(n.constant(mlir::DenseElementsAttr::get(shape, llvm::ArrayRef<double>(table))), type);
}

/// The steps from the roots to the farthest leaf.
int64_t Ensemble::depth() {
  std::set<int64_t> level(roots.begin(), roots.end());
  int64_t steps = 0;
  while (!level.empty()) {
    if (++steps > kMaxDepth)
      failUnsupported("trees deeper than {0} (or nodes in a circle)", kMaxDepth);
    std::set<int64_t> next;
    for (int64_t node : level)
      for (int64_t to : {yes[node], no[node]})
        if (to < inner)
          next.insert(to);
    level = std::move(next);
  }
  return steps;
}

Value Ensemble::step(Value node) {
  auto table = [&](llvm::ArrayRef<int64_t> values, int64_t leaf) {
    SmallVector<int64_t> all(values.begin(), values.end());
    all.resize(inner + leaves, leaf);
    return at(n.g.integers(all), node);
  };
  Dims dims = n.dims(node); // [rows, trees]
  Value row = n.g.unsqueeze(n.g.iota(dims, 0, n.g.b.getI64Type()), {2}), feature = n.g.unsqueeze(table(features, 0), {2});
  Value v = n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(dims, type), x, n.g.concat({row, feature}, 2), 0);
  Value limit = at(n.g.concat({n.g.cast(splits, type), n.g.splat(0, {Expr(leaves)}, type)}, 0), node), mode = table(modes, 0);
  static const std::pair<int64_t, CompareKind> kinds[] = {{LessEqual, CompareKind::LE}, {Less, CompareKind::LT},
      {GreaterEqual, CompareKind::GE}, {Greater, CompareKind::GT}, {Equal, CompareKind::EQ}, {NotEqual, CompareKind::NE}};
  Value isTrue = n.g.splat(0, dims, n.g.b.getI1Type());
  auto where = [&](int64_t m, Value condition) {
    isTrue = n.g.select(n.g.compare(CompareKind::EQ, mode, n.g.splatLike(double(m), mode)), condition, isTrue);
  };
  for (auto [m, kind] : kinds)
    if (llvm::is_contained(modes, m))
      where(m, n.g.compare(kind, v, limit));
  if (sets) {
    Value members = at(sets, table(setOf, 0));
    Value same = n.g.compare(CompareKind::EQ, members, n.g.broadcastTo(n.g.unsqueeze(v, {2}), n.dims(members)));
    where(Member, n.g.reduce(ReduceKind::Or, same, {2}, false));
  }
  if (llvm::any_of(missing, [](int64_t m) { return m != 0; })) {
    Value tracks = n.g.cast(table(missing, 0), n.g.b.getI1Type());
    isTrue = n.g.binary<ir::OrOp>(isTrue, n.g.binary<ir::AndOp>(tracks, n.g.compare(CompareKind::NE, v, v)));
  }
  return n.g.select(isTrue, at(n.g.integers(yes), node), at(n.g.integers(no), node));
}

/// The leaves' weights, combined per target.
Value Ensemble::total(Value leaf) {
  int64_t aggregate = n.integer("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3)
    failWrong("attribute 'aggregate_function' is {0}, expected 0 to 3", aggregate);
  Dims d = n.dims(leaf), cube{d[0], d[1], Expr(targets)};
  Type i64 = n.g.b.getI64Type();
  auto wide = [&](Value v) { return n.g.broadcastTo(n.g.unsqueeze(v, {2}), cube); };
  Value hit = n.g.compare(CompareKind::EQ, wide(at(n.g.integers(leafTargets), leaf)), n.g.iota(cube, 2, i64));
  Value w = wide(at(n.g.cast(weights, type), leaf));
  bool isMin = aggregate == 2, isMax = aggregate == 3;
  double none = isMin ? INFINITY : isMax ? -INFINITY : 0;
  Value chosen = n.g.select(hit, w, n.g.splatLike(none, w));
  Value y = n.g.reduce(isMin ? ReduceKind::Min : isMax ? ReduceKind::Max : ReduceKind::Sum, chosen, {1}, false);
  if (isMin || isMax) // a target that no tree names
    y = n.g.select(n.g.reduce(ReduceKind::Or, hit, {1}, false), y, n.g.splatLike(0, y));
  return aggregate == 0 ? n.g.binary<ir::DivOp>(y, double(trees)) : y;
}

Value Ensemble::transformed(Value y) {
  int64_t transform = n.integer("post_transform", 0);
  if (transform == 0)
    return y;
  if (transform == 1)
    return n.g.softmax(y, 1);
  if (transform == 2)
    return n.g.sigmoid(y);
  failUnsupported("attribute 'post_transform' is {0}", transform);
}

void Ensemble::build() {
  Value input = n.in(0);
  n.requireFloat(input);
  n.requireRank(input, 2);
  readNodes();
  x = n.wide(input);
  type = n.element(x);
  readSets();
  Expr rows = n.dim(x, 0);
  Dims state{rows, Expr(trees)};
  Value node = n.g.broadcastTo(n.g.integers(roots), state);
  for (int64_t i = 0, steps = depth(); i < steps; ++i)
    node = step(node);
  Value leaf = n.g.sub(node, n.g.splatLike(double(inner), node));
  n.out(n.g.cast(transformed(total(leaf)), n.element(input)));
}

} // namespace

void treeEnsemble(Node &n) { Ensemble(n).build(); }

} // namespace lathe::onnx
