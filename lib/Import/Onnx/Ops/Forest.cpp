//===- Forest.cpp - Decision trees as tables -------------------------------===//

#include "Forest.h"
#include <cmath>

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

static constexpr int64_t kMaxDepth = 256;

/// The steps from the roots to the farthest leaf.
int64_t Forest::depth() const {
  std::set<int64_t> level;
  for (int64_t root : roots)
    if (root < inner)
      level.insert(root);
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

Value Forest::step(Node &n, Value x, Value node) const {
  Type type = n.element(x);
  auto at = [&](Value table) { return n.g.gather(table, node, 0); };
  auto table = [&](llvm::ArrayRef<int64_t> values) {
    SmallVector<int64_t> all(values.begin(), values.end());
    all.resize(inner + leaves, 0);
    return at(n.g.integers(all));
  };
  Dims dims = n.dims(node); // [rows, trees]
  Value row = n.g.unsqueeze(n.g.iota(dims, 0, n.g.b.getI64Type()), {2}), feature = n.g.unsqueeze(table(features), {2});
  Value v = n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(dims, type), x, n.g.concat({row, feature}, 2), 0);
  Value limit = at(n.g.concat({n.g.cast(splits, type), n.g.splat(0, {Expr(leaves)}, type)}, 0)), mode = table(modes);
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
    Value members = n.g.gather(sets, table(setOf), 0);
    Value same = n.g.compare(CompareKind::EQ, members, n.g.broadcastTo(n.g.unsqueeze(v, {2}), n.dims(members)));
    where(Member, n.g.reduce(ReduceKind::Or, same, {2}, false));
  }
  if (llvm::any_of(missing, [](int64_t m) { return m != 0; })) {
    Value tracks = n.g.cast(table(missing), n.g.b.getI1Type());
    isTrue = n.g.binary<ir::OrOp>(isTrue, n.g.binary<ir::AndOp>(tracks, n.g.compare(CompareKind::NE, v, v)));
  }
  return n.g.select(isTrue, at(n.g.integers(yes)), at(n.g.integers(no)));
}

/// The leaves' weights, combined per target.
Value Forest::total(Node &n, Value leaf, Type type, Aggregate aggregate) const {
  Value w = n.g.gather(n.g.cast(weights, type), leaf, 0); // [rows, trees, targets]
  if (aggregate == Aggregate::Sum || aggregate == Aggregate::Average) {
    Value y = n.g.reduce(ReduceKind::Sum, w, {1}, false);
    return aggregate == Aggregate::Sum ? y : n.g.binary<ir::DivOp>(y, double(roots.size()));
  }
  bool isMin = aggregate == Aggregate::Min;
  Value hit = n.g.gather(named, leaf, 0);
  Value chosen = n.g.select(hit, w, n.g.splatLike(isMin ? INFINITY : -INFINITY, w));
  Value y = n.g.reduce(isMin ? ReduceKind::Min : ReduceKind::Max, chosen, {1}, false);
  return n.g.select(n.g.reduce(ReduceKind::Or, hit, {1}, false), y, n.g.splatLike(0, y)); // 0 where no tree names it
}

Value Forest::run(Node &n, Value x, Aggregate aggregate) const {
  Dims state{n.dim(x, 0), Expr(int64_t(roots.size()))};
  Value node = n.g.broadcastTo(n.g.integers(roots), state);
  for (int64_t i = 0, steps = depth(); i < steps; ++i)
    node = step(n, x, node);
  return total(n, n.g.sub(node, n.g.splatLike(double(inner), node)), n.element(x), aggregate);
}

} // namespace lathe::onnx
