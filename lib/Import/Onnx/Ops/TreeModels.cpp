//===- TreeModels.cpp - ai.onnx.ml: tree regressors and classifiers --------===//
//
// The forms before TreeEnsemble: a node is named by its tree and its number there, leaves are nodes like others, and a list
// says which leaf adds what to which target or class.
//
//===----------------------------------------------------------------------===//

#include "Constants.h"
#include "Forest.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

/// Reads the attributes; those of weights start with `prefix`.
class Reader {
public:
  Reader(Node &n, std::string prefix, int64_t targets) : n(n), prefix(std::move(prefix)) { f.targets = targets; }
  Forest read();
  /// The classes that some leaf adds to, and whether all of it is positive.
  std::set<int64_t> classes;
  bool arePositive = true;

private:
  using Name = std::pair<int64_t, int64_t>;
  SmallVector<int64_t> perNode(const std::string &name);
  void number();
  void readInner();
  void readWeights();
  int64_t placeOf(int64_t tree, int64_t node) const;

  Node &n;
  std::string prefix;
  Forest f;
  SmallVector<int64_t> trees, ids;
  std::vector<int64_t> modes;      ///< -1 for leaves
  std::map<Name, int64_t> places; ///< inner nodes first
};

/// A list of floats, or of doubles as a tensor since version 3.
SmallVector<double> numbers(Node &n, const std::string &name) {
  if (const TensorProto *t = n.tensor(name + "_as_tensor")) {
    std::optional<SmallVector<double>> known = constantNumbers(n.constant(*t));
    if (!known)
      failUnsupported("attribute '{0}_as_tensor' of this size", name);
    return *known;
  }
  const AttributeProto *a = n.attribute(name);
  return a ? SmallVector<double>(a->floats().begin(), a->floats().end()) : SmallVector<double>();
}

SmallVector<int64_t> Reader::perNode(const std::string &name) {
  SmallVector<int64_t> v = n.integers(name);
  if (v.size() != modes.size())
    failWrong("attribute '{0}' has {1} entries for {2} nodes", name, v.size(), modes.size());
  return v;
}

/// Inner nodes and leaves in the order of the file.
void Reader::number() {
  static const std::pair<llvm::StringRef, int64_t> known[] = {
      {"BRANCH_LEQ", Forest::LessEqual}, {"BRANCH_LT", Forest::Less},      {"BRANCH_GTE", Forest::GreaterEqual},
      {"BRANCH_GT", Forest::Greater},    {"BRANCH_EQ", Forest::Equal},     {"BRANCH_NEQ", Forest::NotEqual}, {"LEAF", -1}};
  const AttributeProto *list = n.attribute("nodes_modes");
  if (!list || list->strings().empty())
    failWrong("attribute 'nodes_modes' is missing");
  for (const std::string &text : list->strings()) {
    auto *mode = llvm::find_if(known, [&](const auto &k) { return k.first == text; });
    if (mode == std::end(known))
      failWrong("attribute 'nodes_modes' holds '{0}'", text);
    modes.push_back(mode->second);
    (mode->second < 0 ? f.leaves : f.inner) += 1;
  }
  trees = perNode("nodes_treeids");
  ids = perNode("nodes_nodeids");
  int64_t inner = 0, leaf = f.inner;
  std::set<int64_t> seen;
  for (size_t i = 0; i < modes.size(); ++i) {
    int64_t place = modes[i] < 0 ? leaf++ : inner++;
    if (!places.emplace(Name(trees[i], ids[i]), place).second)
      failWrong("node {0} of tree {1} is there twice", ids[i], trees[i]);
    if (seen.insert(trees[i]).second) // a tree's first node is its root
      f.roots.push_back(place);
  }
}

int64_t Reader::placeOf(int64_t tree, int64_t node) const {
  auto it = places.find({tree, node});
  if (it == places.end())
    failWrong("there is no node {0} of tree {1}", node, tree);
  return it->second;
}

void Reader::readInner() {
  SmallVector<int64_t> features = perNode("nodes_featureids"), yes = perNode("nodes_truenodeids"), no = perNode("nodes_falsenodeids");
  SmallVector<int64_t> missing(modes.size(), 0);
  if (n.hasAttribute("nodes_missing_value_tracks_true"))
    missing = perNode("nodes_missing_value_tracks_true");
  SmallVector<double> values = numbers(n, "nodes_values"), splits;
  if (values.size() != modes.size())
    failWrong("attribute 'nodes_values' has {0} entries for {1} nodes", values.size(), modes.size());
  for (size_t i = 0; i < modes.size(); ++i) {
    if (modes[i] < 0)
      continue;
    if (features[i] < 0)
      failWrong("attribute 'nodes_featureids' holds {0}", features[i]);
    f.modes.push_back(modes[i]);
    f.features.push_back(features[i]);
    f.missing.push_back(missing[i]);
    f.yes.push_back(placeOf(trees[i], yes[i]));
    f.no.push_back(placeOf(trees[i], no[i]));
    splits.push_back(values[i]);
  }
  for (int64_t leaf = 0; leaf < f.leaves; ++leaf) {
    f.yes.push_back(f.inner + leaf);
    f.no.push_back(f.inner + leaf);
  }
  f.splits = n.constant(mlir::DenseElementsAttr::get(RankedTensorType::get({f.inner}, n.g.b.getF64Type()), llvm::ArrayRef<double>(splits)));
}

void Reader::readWeights() {
  SmallVector<int64_t> tree = n.integers(prefix + "_treeids"), node = n.integers(prefix + "_nodeids"), target = n.integers(prefix + "_ids");
  SmallVector<double> weights = numbers(n, prefix + "_weights");
  if (node.size() != tree.size() || target.size() != tree.size() || weights.size() != tree.size())
    failWrong("attributes '{0}_treeids', '{0}_nodeids', '{0}_ids' and '{0}_weights' have {1}, {2}, {3} and {4} entries", prefix,
              tree.size(), node.size(), target.size(), weights.size());
  if (f.targets < 1 || f.leaves > (int64_t(1) << 31) / f.targets)
    failUnsupported("{0} leaves for {1} targets", f.leaves, f.targets);
  std::vector<double> table(f.leaves * f.targets, 0.0);
  SmallVector<bool> named(table.size(), false);
  for (size_t i = 0; i < tree.size(); ++i) {
    int64_t leaf = placeOf(tree[i], node[i]) - f.inner;
    if (leaf < 0 || target[i] < 0 || target[i] >= f.targets)
      failWrong("node {0} of tree {1} adds to target {2} of {3}, and must be a leaf", node[i], tree[i], target[i], f.targets);
    table[leaf * f.targets + target[i]] += weights[i];
    named[leaf * f.targets + target[i]] = true;
    classes.insert(target[i]);
    arePositive &= weights[i] >= 0;
  }
  auto shaped = [&](Type type) { return RankedTensorType::get({f.leaves, f.targets}, type); };
  f.weights = n.constant(mlir::DenseElementsAttr::get(shaped(n.g.b.getF64Type()), llvm::ArrayRef<double>(table)));
  f.named = n.constant(mlir::DenseElementsAttr::get(shaped(n.g.b.getI1Type()), llvm::ArrayRef<bool>(named)));
}

Forest Reader::read() {
  number();
  readInner();
  readWeights();
  return f;
}

} // namespace

/// x in the type that the trees compare in.
static Value operand(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  n.requireRank(x, 2);
  return n.element(x).isF64() ? x : n.g.cast(x, n.g.b.getF32Type());
}

static Value withBase(Node &n, Value scores, int64_t targets) {
  SmallVector<double> base = numbers(n, "base_values");
  if (base.empty())
    return scores;
  if (int64_t(base.size()) != targets)
    failUnsupported("attribute 'base_values' with {0} numbers for {1} targets", base.size(), targets);
  auto type = RankedTensorType::get({targets}, n.g.b.getF64Type());
  Value v = n.g.cast(n.constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef<double>(base))), n.element(scores));
  return n.g.add(scores, n.broadcastTo(v, n.dims(scores)));
}

static Value transformed(Node &n, Value y) {
  std::string transform = n.text("post_transform", "NONE");
  if (transform == "NONE")
    return y;
  if (transform == "SOFTMAX")
    return n.g.softmax(y, 1);
  if (transform == "LOGISTIC")
    return n.g.sigmoid(y);
  failUnsupported("attribute 'post_transform' is '{0}'", transform);
}

void treeEnsembleRegressor(Node &n) {
  static const std::pair<llvm::StringRef, Forest::Aggregate> known[] = {{"AVERAGE", Forest::Aggregate::Average},
      {"SUM", Forest::Aggregate::Sum}, {"MIN", Forest::Aggregate::Min}, {"MAX", Forest::Aggregate::Max}};
  std::string text = n.text("aggregate_function", "SUM");
  auto *aggregate = llvm::find_if(known, [&](const auto &k) { return k.first == text; });
  if (aggregate == std::end(known))
    failWrong("attribute 'aggregate_function' is '{0}', expected AVERAGE, SUM, MIN or MAX", text);
  int64_t targets = n.integer("n_targets", 1);
  if (targets < 1)
    failWrong("attribute 'n_targets' is {0}", targets);
  Value x = operand(n);
  Value y = Reader(n, "target", targets).read().run(n, x, aggregate->second);
  n.out(n.g.cast(transformed(n, withBase(n, y, targets)), n.g.b.getF32Type()));
}

/// Two classes of which the trees score one, which they call the first: it is the second that the scores are of, and the
/// first has what is left.
static Value bothScores(Node &n, Value one, bool arePositive) {
  Value other = arePositive ? n.g.sub(n.g.splatLike(1, one), one) : n.g.unary<ir::NegOp>(one);
  Value both = n.g.concat({other, one}, 1);
  std::string transform = n.text("post_transform", "NONE");
  if (transform == "NONE" || (transform == "LOGISTIC" && !arePositive))
    return transformed(n, both);
  failUnsupported("attribute 'post_transform' is '{0}' with scores of one of two classes", transform);
}

void treeEnsembleClassifier(Node &n) {
  SmallVector<int64_t> labels = n.integers("classlabels_int64s");
  if (labels.empty() && n.hasAttribute("classlabels_strings"))
    failUnsupported("labels that are strings");
  int64_t count = labels.size();
  if (count < 2)
    failUnsupported("{0} classes", count);
  Value x = operand(n);
  Reader reader(n, "class", count);
  Value scores = reader.read().run(n, x, Forest::Aggregate::Sum);
  Type i64 = n.g.b.getI64Type(), f32 = n.g.b.getF32Type();
  Value names = n.g.integers(labels), place;
  if (count == 2 && reader.classes.size() == 1) {
    // As ONNX Runtime has it; the text says nothing of two classes.
    Value one = withBase(n, n.g.slice(scores, 1, Expr(*reader.classes.begin()), Expr(1)), 1);
    Value limit = n.g.splatLike(reader.arePositive ? 0.5 : 0, one);
    place = n.g.squeeze(n.g.cast(n.g.compare(CompareKind::GT, one, limit), i64), {1});
    bool isFirst = *reader.classes.begin() == 0;
    if (!isFirst && !numbers(n, "base_values").empty())
      failUnsupported("attribute 'base_values' with scores of the second of two classes alone");
    n.out(1, n.g.cast(isFirst ? bothScores(n, one, reader.arePositive) : transformed(n, scores), f32));
  } else {
    scores = withBase(n, scores, count);
    Value best = n.g.broadcastTo(n.g.reduce(ReduceKind::Max, scores, {1}, true), n.dims(scores));
    Value at = n.g.iota(n.dims(scores), 1, i64);
    Value last = n.g.splatLike(double(count - 1), at);
    place = n.g.reduce(ReduceKind::Min, n.g.select(n.g.compare(CompareKind::EQ, scores, best), at, last), {1}, false);
    n.out(1, n.g.cast(transformed(n, scores), f32));
  }
  n.out(0, n.g.gather(names, place, 0));
}

} // namespace lathe::onnx
