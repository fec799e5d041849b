//===- Einsum.cpp - Sums over named dimensions -----------------------------===//
//
// Operands are combined from the left: each pair is one contraction over the names that nothing later needs. Names that stand
// twice in an operand take its diagonal.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::ReduceKind;
using llvm::SmallVector;
using llvm::StringRef;

namespace lathe::onnx {

namespace {

/// A value with the name of each of its dimensions. The dimensions of an ellipsis are named from 1 upwards, right-aligned.
struct Term {
  Value value;
  std::string names;
};

class Einsum {
public:
  explicit Einsum(Node &n) : n(n) {}
  Value build();

private:
  std::string expand(StringRef text, int64_t rank);
  Value takeDiagonal(Value v, int64_t first, int64_t second);
  Term diagonal(Term t);
  Term sumOut(Term t, const std::string &needed);
  Term combine(Term a, Term b, const std::string &needed);
  Value arrange(Term t, const std::string &names);

  Node &n;
  std::map<char, Expr> sizes;
};

bool has(const std::string &names, char c) { return names.find(c) != std::string::npos; }

std::string Einsum::expand(StringRef text, int64_t rank) {
  std::string plain, out;
  for (char c : text)
    if (c != ' ')
      plain += c;
  size_t dots = plain.find("...");
  int64_t named = int64_t(plain.size()) - (dots == std::string::npos ? 0 : 3), open = rank - named;
  if (open < 0 || (dots == std::string::npos && open != 0) || open > 30)
    failWrong("'{0}' does not name the dimensions of rank {1}", text, rank);
  for (size_t i = 0; i < plain.size(); ++i) {
    if (i == dots) {
      for (int64_t k = open; k > 0; --k)
        out += char(k); // the last dimension of an ellipsis is 1
      i += 2;
    } else if (llvm::isAlpha(plain[i])) {
      out += plain[i];
    } else {
      failWrong("'{0}' in the equation", plain.substr(i, 1));
    }
  }
  return out;
}

/// The elements with equal indices at two dimensions, in the place of the first one: of a matrix of n rows every (n + 1)th.
Value Einsum::takeDiagonal(Value v, int64_t first, int64_t second) {
  Dims dims = n.dims(v), flat{dims[first] * dims[first]};
  SmallVector<int64_t> to{first, second}, back;
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    if (d != first && d != second) {
      to.push_back(d);
      flat.push_back(dims[d]);
    }
  Type i64 = n.g.b.getI64Type();
  Value place = n.g.iota({dims[first]}, 0, i64), step = n.g.broadcastTo(n.g.size(dims[first] + Expr(1)), {dims[first]});
  Value taken = n.g.gather(n.g.reshape(n.g.transpose(v, to), flat), n.g.mul(place, step), 0);
  for (int64_t d = 0; d < int64_t(dims.size()) - 1; ++d)
    back.push_back(d < first ? d + 1 : d == first ? 0 : d);
  return n.g.transpose(taken, back);
}

/// Where a name stands twice, only the elements with equal indices remain.
Term Einsum::diagonal(Term t) {
  for (size_t i = 0; i < t.names.size(); ++i) {
    size_t j = t.names.find(t.names[i], i + 1);
    if (j == std::string::npos)
      continue;
    Dims dims = n.dims(t.value);
    n.requireEqual(dims[i], dims[j], llvm::formatv("the dimensions named '{0}'", t.names[i]).str());
    t.value = takeDiagonal(t.value, i, j);
    t.names.erase(j, 1);
    --i;
  }
  return t;
}

Term Einsum::sumOut(Term t, const std::string &needed) {
  SmallVector<int64_t> axes;
  std::string kept;
  for (size_t i = 0; i < t.names.size(); ++i)
    if (has(needed, t.names[i]))
      kept += t.names[i];
    else
      axes.push_back(i);
  return {n.g.reduce(ReduceKind::Sum, t.value, axes, false), kept};
}

Term Einsum::combine(Term a, Term b, const std::string &needed) {
  // A dimension of size 1 of an ellipsis meets any size: it is dropped where the other operand has the name.
  for (Term *t : {&a, &b}) {
    Term &other = t == &a ? b : a;
    for (int64_t i = int64_t(t->names.size()) - 1; i >= 0; --i)
      if (has(other.names, t->names[i]) && n.simplify(n.dims(t->value)[i]).isOne() && !sizes[t->names[i]].isOne()) {
        t->value = n.g.squeeze(t->value, {i});
        t->names.erase(i, 1);
      }
  }
  a = sumOut(a, needed + b.names);
  b = sumOut(b, needed + a.names);
  SmallVector<int64_t> aBatch, bBatch, aSum, bSum;
  Term r;
  for (size_t i = 0; i < a.names.size(); ++i) {
    size_t j = b.names.find(a.names[i]);
    if (j == std::string::npos)
      continue;
    bool keep = has(needed, a.names[i]);
    (keep ? aBatch : aSum).push_back(i);
    (keep ? bBatch : bSum).push_back(j);
    if (keep)
      r.names += a.names[i];
  }
  for (char c : a.names)
    if (!has(b.names, c))
      r.names += c;
  for (char c : b.names)
    if (!has(a.names, c))
      r.names += c;
  r.value = n.g.contract(a.value, b.value, aBatch, bBatch, aSum, bSum);
  return r;
}

/// The value with its dimensions in the order of the names; names that it lacks are new dimensions that repeat it.
Value Einsum::arrange(Term t, const std::string &names) {
  SmallVector<int64_t> perm, added;
  for (auto [i, c] : llvm::enumerate(names))
    if (has(t.names, c))
      perm.push_back(t.names.find(c));
    else
      added.push_back(i);
  Value v = n.g.unsqueeze(n.g.transpose(t.value, perm), added);
  Dims dims;
  for (char c : names)
    dims.push_back(sizes[c]);
  return n.broadcastTo(v, dims);
}

Value Einsum::build() {
  std::string equation = n.text("equation", "");
  auto [left, right] = StringRef(equation).split("->");
  bool isExplicit = StringRef(equation).contains("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != n.numInputs() || n.numInputs() == 0)
    failWrong("the equation '{0}' has {1} operands, the node {2}", equation, parts.size(), n.numInputs());
  std::vector<Term> terms;
  std::map<char, unsigned> uses;
  size_t ellipsis = 0;
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value v = n.in(i);
    n.requireNumber(v);
    n.requireSameElement({n.in(0), v});
    Term t{v, expand(part, n.rank(v))};
    for (auto [d, c] : llvm::enumerate(t.names)) {
      ++uses[c];
      ellipsis = std::max<size_t>(ellipsis, c < 32 ? c : 0);
      Expr size = n.simplify(n.dim(v, d));
      auto known = sizes.emplace(c, size);
      if (!known.second && known.first->second.isOne())
        known.first->second = size;
      else if (!known.second && !(c < 32 && size.isOne()))
        n.requireEqual(known.first->second, size, llvm::formatv("the dimensions named '{0}'", c).str());
    }
    terms.push_back(diagonal(t));
  }
  std::string result;
  for (size_t k = ellipsis; k > 0; --k)
    result += char(k);
  if (isExplicit) {
    size_t named = right.count("...") ? ellipsis : 0;
    std::string letters = right.str();
    size_t count = llvm::count_if(letters, llvm::isAlpha);
    result = expand(right, int64_t(count + named));
  } else { // the names that stand once, in order
    for (auto [c, count] : uses)
      if (c >= 32 && count == 1)
        result += c;
  }
  for (size_t i = 0; i < result.size(); ++i)
    if (!sizes.count(result[i]) || result.find(result[i], i + 1) != std::string::npos)
      failWrong("the equation '{0}' names a dimension of the result twice or not among the operands", equation);
  Term total = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = result;
    for (size_t k = i + 1; k < terms.size(); ++k)
      needed += terms[k].names;
    total = combine(total, terms[i], needed);
  }
  return arrange(sumOut(total, result), result);
}

} // namespace

void einsum(Node &n) { n.out(Einsum(n).build()); }

} // namespace lathe::onnx
