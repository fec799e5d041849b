//===- Products.cpp - Products of several tensors, or over several dimensions -===//

#include "Families.h"
#include <set>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value typed(OpContext &c, Value v) { return c.g.cast(v, c.resultElement()); }

/// Sums over the listed dimensions of both. Where one of a pair has a single element, it stands for all.
static llvm::Error tensorDot(OpContext &c) {
  Value x = typed(c, c.tensor("self")), y = typed(c, c.tensor("other"));
  SmallVector<int64_t> left, right;
  for (auto [name, v, list] : {std::tuple("dims_self", x, &left), std::tuple("dims_other", y, &right)})
    for (int64_t d : c.integers(name)) {
      LATHE_TRY(axis, c.axisOf(d, typeOf(v).getRank()));
      if (llvm::is_contained(*list, axis))
        return c.wrong("dimension {0} occurs twice in '{1}'", d, name);
      list->push_back(axis);
    }
  if (left.size() != right.size())
    return c.wrong("{0} dimensions against {1}", left.size(), right.size());
  for (auto [a, b] : llvm::zip(left, right)) {
    Expr m = dimsOf(x)[a], n = dimsOf(y)[b];
    if (m.isOne() && !n.isOne())
      y = c.g.reduce(ReduceKind::Sum, y, {b}, true);
    else if (n.isOne() && !m.isOne())
      x = c.g.reduce(ReduceKind::Sum, x, {a}, true);
    else if (llvm::Error e = c.needEqual(m, n))
      return e;
  }
  return c.give(c.g.contract(x, y, {}, {}, left, right));
}

/// Each element of x times the whole of y.
static llvm::Error kronecker(OpContext &c) {
  Value x = typed(c, c.tensor("self")), y = typed(c, c.tensor("other"));
  int64_t rank = std::max(typeOf(x).getRank(), typeOf(y).getRank());
  auto padded = [&](Value v) {
    Dims dims = dimsOf(v);
    dims.insert(dims.begin(), rank - dims.size(), Expr(1));
    return dims;
  };
  Dims dx = padded(x), dy = padded(y), outer, inner, both, result;
  for (int64_t d = 0; d < rank; ++d) {
    outer.append({dx[d], Expr(1)});
    inner.append({Expr(1), dy[d]});
    both.append({dx[d], dy[d]});
    result.push_back(c.g.facts.simplify(dx[d] * dy[d]));
  }
  Value left = c.g.broadcastTo(c.g.reshape(x, outer), both), right = c.g.broadcastTo(c.g.reshape(y, inner), both);
  bool isBool = elementOf(x).isInteger(1);
  return c.give(c.g.reshape(isBool ? c.g.binary<AndOp>(left, right) : c.g.mul(left, right), result));
}

/// Over the last dimension of both; a number scales.
static llvm::Error inner(OpContext &c) {
  Value both[] = {typed(c, c.tensor("self")), typed(c, c.tensor("other"))};
  int64_t left = typeOf(both[0]).getRank() - 1, right = typeOf(both[1]).getRank() - 1;
  if (left < 0 || right < 0) {
    if (llvm::Error e = c.broadcast(both))
      return e;
    return c.give(c.g.mul(both[0], both[1]));
  }
  if (llvm::Error e = c.needEqual(dimsOf(both[0])[left], dimsOf(both[1])[right]))
    return e;
  return c.give(c.g.contract(both[0], both[1], {}, {}, {left}, {right}));
}

static llvm::Error vectorDot(OpContext &c) {
  Value both[] = {typed(c, c.tensor("x")), typed(c, c.tensor("y"))};
  if (llvm::Error e = c.broadcast(both))
    return e;
  LATHE_TRY(axis, c.axis("dim", both[0]));
  return c.give(c.g.reduce(ReduceKind::Sum, c.g.mul(both[0], both[1]), {axis}, false));
}

/// beta * self + alpha * the sum of the batch's products
static llvm::Error sumOfProducts(OpContext &c) {
  Value x = c.tensor("batch1"), y = c.tensor("batch2");
  if (typeOf(x).getRank() != 3 || typeOf(y).getRank() != 3 || elementOf(x) != elementOf(y))
    return c.wrong("{0} times {1}", x.getType(), y.getType());
  for (auto [a, b] : {std::pair(0, 0), std::pair(2, 1)})
    if (llvm::Error e = c.needEqual(dimsOf(x)[a], dimsOf(y)[b]))
      return e;
  Value r = c.g.contract(x, y, {}, {}, {0, 2}, {0, 1});
  Type element = elementOf(r);
  r = c.g.mul(r, c.g.broadcastTo(c.scalarOf(c.number("alpha"), element), dimsOf(r)));
  if (c.number("beta").value == 0 && c.number("beta").size.isZero()) // even where self is NaN
    return c.give(r);
  LATHE_TRY(base, c.broadcastTo(c.g.cast(c.tensor("self"), element), dimsOf(r)));
  return c.give(c.g.add(c.g.mul(base, c.g.broadcastTo(c.scalarOf(c.number("beta"), element), dimsOf(r))), r));
}

/// y[o] = x1 weight[o] x2 + bias[o]
static llvm::Error bilinear(OpContext &c) {
  Value x = c.tensor("input1"), y = c.tensor("input2"), weight = c.tensor("weight"), bias = c.tensor("bias");
  int64_t last = typeOf(x).getRank() - 1;
  if (last < 0 || typeOf(y).getRank() != last + 1 || typeOf(weight).getRank() != 3)
    return c.wrong("inputs of {0} and {1} with a weight of {2}", x.getType(), y.getType(), weight.getType());
  for (auto [a, b] : {std::pair(dimsOf(x)[last], dimsOf(weight)[1]), std::pair(dimsOf(y)[last], dimsOf(weight)[2])})
    if (llvm::Error e = c.needEqual(a, b))
      return e;
  Value part = c.g.contract(x, weight, {}, {}, {last}, {1}); // [.., out, in2]
  Value r = c.g.reduce(ReduceKind::Sum, c.g.mul(part, c.g.broadcastTo(c.g.unsqueeze(y, {last}), dimsOf(part))),
                       {last + 1}, false);
  if (!bias)
    return c.give(r);
  LATHE_TRY(wide, c.broadcastTo(bias, dimsOf(r)));
  return c.give(c.g.add(r, wide));
}

/// From the left to the right; the first and the last may be vectors.
static llvm::Error chain(OpContext &c) {
  SmallVector<Value> all = c.tensors(c.has("matrices") ? "matrices" : "tensors");
  if (all.empty())
    return c.wrong("no matrix");
  Value r = all[0];
  for (Value next : llvm::ArrayRef<Value>(all).drop_front()) {
    if (elementOf(next) != elementOf(r) || typeOf(next).getRank() < 1 || typeOf(r).getRank() < 1)
      return c.wrong("{0} times {1}", r.getType(), next.getType());
    Dims left = dimsOf(r), right = dimsOf(next);
    if (llvm::Error e = c.needEqual(left.back(), right[right.size() == 1 ? 0 : right.size() - 2]))
      return e;
    std::string why;
    r = c.g.matmul(r, next, &why);
    if (!r)
      return c.wrong("{0}", why);
  }
  return c.give(r);
}

/// The powers of each element from 0 on, along a new last dimension: what 1, x, x, ... multiply up to.
static Value powers(OpContext &c, Value x, const Expr &count) {
  int64_t last = typeOf(x).getRank();
  Dims dims = dimsOf(x);
  dims.push_back(count);
  Value first = c.g.compare(CompareKind::EQ, c.g.iota(dims, last, c.g.b.getI64Type()), c.g.splat(0, dims, c.g.b.getI64Type()));
  Value factors = c.g.broadcastTo(c.g.unsqueeze(x, {last}), dims);
  return c.g.scan(ScanKind::Prod, c.g.select(first, c.g.splatLike(1, factors), factors), last);
}

static llvm::Error vandermonde(OpContext &c) {
  Value x = atLeastOneDim(c, typed(c, c.tensor("x")));
  return c.give(powers(c, x, c.has("N") ? c.size("N") : dimsOf(x).back()));
}

static llvm::Error vandermondeOfOne(OpContext &c) {
  Value x = c.g.cast(c.tensor("x"), c.resultElement());
  if (typeOf(x).getRank() != 1)
    return c.wrong("the input has rank {0}", typeOf(x).getRank());
  Expr count = c.has("N") ? c.size("N") : dimsOf(x)[0];
  Value rising = powers(c, x, count);
  if (c.flag("increasing"))
    return c.give(rising);
  return c.give(c.g.slice(rising, 1, c.g.facts.simplify(count - Expr(1)), count, -1));
}

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

namespace {
/// An operand or an intermediate product, with a label for each dimension.
struct Labelled {
  Value v;
  std::string labels;
};
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};
} // namespace

/// The dimensions that "..." stands for have labels from the end of the bytes' range, the last dimension '\xff'.
static std::string withEllipsis(llvm::StringRef labels, size_t hidden) {
  auto [before, after] = labels.split("...");
  std::string all = before.str();
  for (size_t i = 0; labels.contains("...") && i < hidden; ++i)
    all += char(0xff - (hidden - 1 - i));
  return all + after.str();
}

static std::optional<Equation> parse(llvm::StringRef text, llvm::ArrayRef<Value> operands) {
  std::string compact;
  for (char ch : text)
    if (ch != ' ')
      compact += ch;
  auto [inputs, result] = llvm::StringRef(compact).split("->");
  SmallVector<llvm::StringRef> lists;
  inputs.split(lists, ',');
  if (lists.size() != operands.size())
    return std::nullopt;
  Equation eq;
  size_t most = 0;
  std::map<char, int> uses;
  for (auto [list, v] : llvm::zip(lists, operands)) {
    size_t rank = typeOf(v).getRank(), named = list.size() - (list.contains("...") ? 3 : 0);
    if (named > rank || (!list.contains("...") && named != rank))
      return std::nullopt;
    most = std::max(most, rank - named);
    eq.operands.push_back(withEllipsis(list, rank - named));
    for (char ch : eq.operands.back())
      ++uses[ch];
  }
  eq.result = withEllipsis(result, most);
  if (!llvm::StringRef(compact).contains("->")) { // what appears once, by the alphabet, behind the hidden ones
    eq.result = withEllipsis("...", most);
    for (auto [ch, count] : uses)
      if (count == 1 && llvm::isAlpha(ch))
        eq.result += ch;
  }
  std::set<char> seen;
  for (char ch : eq.result)
    if (!uses.count(ch) || !seen.insert(ch).second)
      return std::nullopt;
  for (auto [ch, count] : uses)
    if (!llvm::isAlpha(ch) && uint8_t(ch) < 0x80)
      return std::nullopt;
  return eq;
}

/// A label that stands twice takes the diagonal.
static llvm::Error takeDiagonals(OpContext &c, Labelled &x) {
  for (size_t i = 0; i < x.labels.size(); ++i)
    for (size_t j = x.labels.find(x.labels[i], i + 1); j != std::string::npos; j = x.labels.find(x.labels[i], i + 1)) {
      Dims dims = dimsOf(x.v);
      if (llvm::Error e = c.needEqual(dims[i], dims[j]))
        return e;
      Type i64 = c.g.b.getI64Type();
      Value on = c.g.compare(CompareKind::EQ, c.g.iota(dims, i, i64), c.g.iota(dims, j, i64));
      x.v = c.g.reduce(ReduceKind::Sum, c.g.select(on, x.v, c.g.splatLike(0, x.v)), {int64_t(j)}, false);
      x.labels.erase(j, 1);
    }
  return llvm::Error::success();
}

/// Sums over the labels that nothing else has.
static void sumLonely(OpContext &c, Labelled &x, const std::string &others) {
  SmallVector<int64_t> axes;
  std::string kept;
  for (auto [i, label] : llvm::enumerate(x.labels))
    if (others.find(label) == std::string::npos)
      axes.push_back(i);
    else
      kept += label;
  if (!axes.empty())
    x = {c.g.reduce(ReduceKind::Sum, x.v, axes, false), kept};
}

/// A dimension of one element stands for all of the other operand's.
static void dropSingles(OpContext &c, Labelled &x, const Labelled &y) {
  for (size_t i = x.labels.size(); i-- > 0;)
    if (size_t other = y.labels.find(x.labels[i]);
        other != std::string::npos && dimsOf(x.v)[i].isOne() && !dimsOf(y.v)[other].isOne()) {
      x.v = c.g.squeeze(x.v, {int64_t(i)});
      x.labels.erase(i, 1);
    }
}

/// The product of two, summed over what only they have.
static llvm::Expected<Labelled> pairwise(OpContext &c, Labelled x, Labelled y, const std::string &later) {
  dropSingles(c, x, y);
  dropSingles(c, y, x);
  sumLonely(c, x, y.labels + later);
  sumLonely(c, y, x.labels + later);
  SmallVector<int64_t> xBatch, yBatch, xOver, yOver;
  std::string batch, left, right;
  for (auto [i, label] : llvm::enumerate(x.labels)) {
    size_t other = y.labels.find(label);
    if (other == std::string::npos) {
      left += label;
      continue;
    }
    if (!c.fits(dimsOf(x.v)[i], dimsOf(y.v)[other]))
      return c.wrong("a label stands for {0} and {1}", dimsOf(x.v)[i].str(), dimsOf(y.v)[other].str());
    bool isBatch = later.find(label) != std::string::npos;
    (isBatch ? xBatch : xOver).push_back(i);
    (isBatch ? yBatch : yOver).push_back(other);
    if (isBatch)
      batch += label;
  }
  for (char label : y.labels)
    if (x.labels.find(label) == std::string::npos)
      right += label;
  return Labelled{c.g.contract(x.v, y.v, xBatch, yBatch, xOver, yOver), batch + left + right};
}

static llvm::Error einsum(OpContext &c) {
  SmallVector<Value> in = c.tensors("tensors");
  auto eq = parse(c.text("equation"), in);
  if (!eq || in.empty())
    return c.cannot("the equation '{0}' of {1} operands", c.text("equation"), in.size());
  std::vector<Labelled> operands;
  for (auto [v, labels] : llvm::zip(in, eq->operands)) {
    operands.push_back({typed(c, v), labels});
    if (llvm::Error e = takeDiagonals(c, operands.back()))
      return e;
  }
  Labelled all = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string later = eq->result;
    for (size_t k = i + 1; k < operands.size(); ++k)
      later += operands[k].labels;
    LATHE_TRY(next, pairwise(c, all, operands[i], later));
    all = next;
  }
  sumLonely(c, all, eq->result);
  SmallVector<int64_t> perm;
  for (char label : eq->result) {
    size_t at = all.labels.find(label);
    if (at == std::string::npos)
      return c.wrong("the equation '{0}' has a result label that no operand has", c.text("equation"));
    perm.push_back(at);
  }
  if (in.size() == 1 && llvm::all_of(eq->operands[0], [&](char label) { return eq->result.find(label) != std::string::npos; }))
    c.share("tensors"); // permuted, and no sum
  return c.give(c.g.transpose(all.v, perm));
}

llvm::ArrayRef<OpEntry> fx::productOps() {
  static const OpEntry table[] = {
      {"tensordot.default", "self:T other:T dims_self:I* dims_other:I*", tensorDot},
      {"kron.default", "self:T other:T", kronecker},
      {"inner.default", "self:T other:T", inner},
      {"linalg_vecdot.default", "x:T y:T dim:I=-1", vectorDot},
      {"vdot.default", "self:T other:T", inner},
      {"addbmm.default", "self:T batch1:T batch2:T beta:S=1 alpha:S=1", sumOfProducts},
      {"bilinear.default", "input1:T input2:T weight:T bias:T?", bilinear},
      {"linalg_multi_dot.default", "tensors:T*", chain},
      {"chain_matmul.default", "matrices:T*", chain},
      {"linalg_vander.default", "x:T N:N?", vandermonde},
      {"vander.default", "x:T N:N? increasing:B=false", vandermondeOfOne},
      {"einsum.default", "equation:X tensors:T* path:I*?", einsum},
  };
  return table;
}
