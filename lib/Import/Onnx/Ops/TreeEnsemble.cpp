//===- TreeEnsemble.cpp - ai.onnx.ml: sums over decision trees -------------===//

#include "Forest.h"
#include <cmath>

using namespace lathe;
using ir::CompareKind;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

/// Reads the operator's attributes.
class Reader {
public:
  Reader(Node &n, Type type) : n(n), type(type) {}
  Forest read();

private:
  Value attribute(const char *name);
  SmallVector<int64_t> perNode(const char *name);
  SmallVector<int64_t> follow(const char *ids, const char *leafs);
  void readModes();
  void readSets();
  void readWeights();
  void check();

  Node &n;
  Type type;
  Forest f;
  SmallVector<int64_t> leafTargets;
};

Value Reader::attribute(const char *name) {
  const TensorProto *t = n.tensor(name);
  if (!t)
    failWrong("attribute '{0}' is missing", name);
  Value v = n.constant(*t);
  n.requireRank(v, 1);
  return v;
}

SmallVector<int64_t> Reader::perNode(const char *name) {
  SmallVector<int64_t> v = n.integers(name);
  if (int64_t(v.size()) != f.inner)
    failWrong("attribute '{0}' has {1} entries for {2} nodes", name, v.size(), f.inner);
  return v;
}

SmallVector<int64_t> Reader::follow(const char *ids, const char *leafs) {
  SmallVector<int64_t> to = perNode(ids), isLeaf = perNode(leafs);
  for (auto [i, t] : llvm::enumerate(to)) {
    if (t < 0 || t >= (isLeaf[i] ? f.leaves : f.inner))
      failWrong("attribute '{0}' holds {1}", ids, t);
    to[i] = isLeaf[i] ? f.inner + t : t;
  }
  for (int64_t leaf = 0; leaf < f.leaves; ++leaf)
    to.push_back(f.inner + leaf);
  return to;
}

void Reader::readModes() {
  Value mode = attribute("nodes_modes");
  mlir::DenseIntElementsAttr dense;
  if (auto c = mode.getDefiningOp<ir::ConstantOp>())
    dense = llvm::dyn_cast<mlir::DenseIntElementsAttr>(c.getValue());
  if (!dense)
    failUnsupported("more than {0} nodes", f.inner);
  for (const llvm::APInt &m : dense.getValues<llvm::APInt>())
    f.modes.push_back(m.getZExtValue());
}

void Reader::check() {
  if (int64_t(f.modes.size()) != f.inner || llvm::any_of(f.modes, [](int64_t m) { return m < 0 || m >= Forest::ModeCount; }))
    failWrong("attribute 'nodes_modes' does not hold a mode for each of {0} nodes", f.inner);
  if (f.roots.empty() || f.leaves < 1 || f.inner < 1 || f.targets < 1)
    failWrong("{0} trees with {1} nodes and {2} leaves for {3} targets", f.roots.size(), f.inner, f.leaves, f.targets);
  auto within = [](const char *name, llvm::ArrayRef<int64_t> values, int64_t end) {
    for (int64_t v : values)
      if (v < 0 || v >= end)
        failWrong("attribute '{0}' holds {1}", name, v);
  };
  within("tree_roots", f.roots, f.inner);
  within("leaf_targetids", leafTargets, f.targets);
  within("nodes_featureids", f.features, INT64_MAX);
}

/// Each leaf has one weight, for one target.
void Reader::readWeights() {
  Value weights = attribute("leaf_weights");
  n.requireEqual(n.dim(weights, 0), Expr(f.leaves), "one weight per leaf");
  Dims table{Expr(f.leaves), Expr(f.targets)};
  auto wide = [&](Value v) { return n.g.broadcastTo(n.g.unsqueeze(v, {1}), table); };
  f.named = n.g.compare(CompareKind::EQ, wide(n.g.integers(leafTargets)), n.g.iota(table, 1, n.g.b.getI64Type()));
  Value w = wide(n.g.cast(weights, type));
  f.weights = n.g.select(f.named, w, n.g.splatLike(0, w));
}

Forest Reader::read() {
  f.features = n.integers("nodes_featureids");
  f.inner = f.features.size();
  leafTargets = n.integers("leaf_targetids");
  f.leaves = leafTargets.size();
  f.targets = n.integer("n_targets", 1);
  f.roots = n.integers("tree_roots");
  f.yes = follow("nodes_truenodeids", "nodes_trueleafs");
  f.no = follow("nodes_falsenodeids", "nodes_falseleafs");
  if (n.hasAttribute("nodes_missing_value_tracks_true"))
    f.missing = perNode("nodes_missing_value_tracks_true");
  readModes();
  check();
  f.splits = attribute("nodes_splits");
  n.requireEqual(n.dim(f.splits, 0), Expr(f.inner), "one split per node");
  readWeights();
  readSets();
  return f;
}

/// The sets of the Member nodes, in order, each ended by NaN, as a table that NaN fills.
void Reader::readSets() {
  f.setOf.assign(f.inner, 0);
  if (!llvm::is_contained(f.modes, int64_t(Forest::Member)))
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
  for (int64_t i = 0; i < f.inner; ++i)
    if (f.modes[i] == Forest::Member)
      f.setOf[i] = next++;
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
  f.sets = n.g.cast(n.constant(mlir::DenseElementsAttr::get(shape, llvm::ArrayRef<double>(table))), type);
}

} // namespace

static Value transformed(Node &n, Value y) {
  int64_t transform = n.integer("post_transform", 0);
  if (transform == 0)
    return y;
  if (transform == 1)
    return n.g.softmax(y, 1);
  if (transform == 2)
    return n.g.sigmoid(y);
  failUnsupported("attribute 'post_transform' is {0}", transform);
}

void treeEnsemble(Node &n) {
  Value input = n.in(0);
  n.requireFloat(input);
  n.requireRank(input, 2);
  int64_t aggregate = n.integer("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3)
    failWrong("attribute 'aggregate_function' is {0}, expected 0 to 3", aggregate);
  Value x = n.wide(input);
  Forest forest = Reader(n, n.element(x)).read();
  n.out(n.g.cast(transformed(n, forest.run(n, x, Forest::Aggregate(aggregate))), n.element(input)));
}

} // namespace lathe::onnx
