//===- Products.cpp - Steps: products of matrices --------------------------===//

#include "Graph.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fuzz;

static bool isMatrix(const Value &v) { return v.rank() >= 2; }

static bool matmul(Graph &g) {
  auto x = g.pickFloat(isMatrix);
  if (!x)
    return false;
  const Value &v = g[*x];
  auto fits = [&](const Value &w) {
    if (w.element() != v.element() || w.rank() < 2 || w.dim(w.rank() - 2) != v.shape().back())
      return false;
    for (int64_t i = 3; i <= std::min(v.rank(), w.rank()); ++i)
      if (int64_t a = v.dim(v.rank() - i), b = w.dim(w.rank() - i); a != b && a != 1 && b != 1)
        return false;
    return true;
  };
  if (auto y = g.pick(fits); y && g.rng.chance(0.6))
    return g.add("MatMul", {*x, *y});
  int64_t k = v.shape().back();
  return g.add("MatMul",
               {*x, g.random(v.element(), {k, g.rng.of<int64_t>({1, 3, 8, 16, 33})}, 1 / std::sqrt(double(k)))});
}

/// A product with a value's own transposed form.
static bool gram(Graph &g) {
  auto x = g.pickFloat(isMatrix);
  if (!x)
    return false;
  Shape perm(g[*x].rank());
  for (size_t i = 0; i < perm.size(); ++i)
    perm[i] = i;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return g.add("Transpose", {*x}, {{"perm", perm}}) && g.add("MatMul", {*x, g.last[0]});
}

static bool gemm(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 2; });
  if (!x)
    return false;
  auto e = g[*x].element();
  bool tx = g.rng.chance(0.4), ty = g.rng.chance(0.5);
  int64_t m = g[*x].dim(tx ? 1 : 0), k = g[*x].dim(tx ? 0 : 1), n = g.rng.of<int64_t>({1, 4, 8, 17, 32});
  Names in{*x, g.random(e, ty ? Shape{n, k} : Shape{k, n}, 1 / std::sqrt(double(k)))};
  if (g.rng.chance(0.7))
    in.push_back(g.random(e, g.rng.of<Shape>({{n}, {m, n}, {1, n}, {m, 1}})));
  return g.add("Gemm", in,
               {{"transA", tx ? 1 : 0},
                {"transB", ty ? 1 : 0},
                {"alpha", g.rng.of({1.0, 0.5})},
                {"beta", g.rng.of({1.0, 2.0})}});
}

static bool einsum(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 2 || v.rank() == 3; });
  if (!x)
    return false;
  auto e = g[*x].element();
  const Value &v = g[*x];
  if (v.rank() == 2)
    return g.add("Einsum", {*x, g.random(e, {v.dim(1), g.rng.range(1, 6)})},
                 {{"equation", g.rng.of<const char *>({"ij,jk->ik", "ij,jk->ki", "ij,jk->k", "ij,jk->jik", "ij,jk"})}});
  if (g.rng.chance(0.3))
    return g.add("Einsum", {*x}, {{"equation", g.rng.of<const char *>({"bij->bj", "bij->jib", "bij->b"})}});
  return g.add("Einsum", {*x, g.random(e, {v.dim(0), v.dim(2), g.rng.range(1, 5)}, 0.5)},
               {{"equation", g.rng.of<const char *>({"bij,bjk->bik", "bij,bjk->ik", "bij,bjk->kbi"})}});
}

/// Attention written out, as exporters do: products, a scale, a mask, softmax.
static bool attentionParts(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 3 && v.dim(2) > 1; });
  if (!x)
    return false;
  auto e = g[*x].element();
  int64_t keys = g[*x].dim(1), width = g[*x].dim(2), depth = g.rng.of<int64_t>({4, 8});
  Names parts;
  for (int i = 0; i < 3; ++i) {
    if (!g.add("MatMul", {*x, g.random(e, {width, depth}, 1 / std::sqrt(double(width)))}))
      return false;
    parts.push_back(g.last[0]);
  }
  if (!g.add("Transpose", {parts[1]}, {{"perm", Shape{0, 2, 1}}}) || !g.add("MatMul", {parts[0], g.last[0]}) ||
      !g.add("Mul", {g.last[0], g.scalar(e, 0.5)}))
    return false;
  if (g.rng.chance(0.5) && !g.add("Add", {g.last[0], g.random(e, {keys, keys})}))
    return false;
  return g.add("Softmax", {g.last[0]}, {{"axis", -1}}) && g.add("MatMul", {g.last[0], parts[2]});
}

static bool attention(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 4; });
  if (!x)
    return false;
  auto e = g[*x].element();
  int64_t b = g[*x].dim(0), h = g[*x].dim(1), q = g[*x].dim(2), d = g[*x].dim(3), k = g.rng.range(1, 9);
  Shape groups;
  for (int64_t i = 1; i <= h; ++i)
    if (h % i == 0)
      groups.push_back(i);
  int64_t heads = g.rng.of(groups);
  Names in{*x, g.random(e, {b, heads, k, d}, 0.5), g.random(e, {b, heads, k, g.rng.of<int64_t>({d, 4})})};
  if (g.rng.chance(0.5))
    in.push_back(g.random(e, g.rng.of<Shape>({{q, k}, {1, 1, q, k}, {b, h, q, k}})));
  std::vector<Attr> attrs{{"is_causal", g.rng.range(0, 1)}};
  if (g.rng.chance(0.3))
    attrs.push_back({"softcap", 2.0});
  if (g.rng.chance(0.5))
    attrs.push_back({"scale", 0.4});
  return g.add("Attention", in, attrs);
}

static bool det(Graph &g) {
  auto x = g.pickFloat([](const Value &v) {
    return v.rank() >= 2 && v.dim(v.rank() - 1) == v.dim(v.rank() - 2) && v.shape().back() < 5;
  });
  return x && g.add("Det", {*x});
}

std::vector<Family> fuzz::productSteps() {
  return {{34, matmul}, {6, gram}, {10, gemm}, {8, einsum}, {6, attentionParts}, {6, attention}, {1, det}};
}
