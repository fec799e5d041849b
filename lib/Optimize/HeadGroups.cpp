//===- HeadGroups.cpp - Keys and values behind repetition and scaling ------===//

#include "HeadGroups.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using namespace lathe::ir;
using shape::Expr;

/// The axes of all indices, in order; nothing when one is more than a run of axes.
static std::optional<SmallVector<unsigned>> flatten(const Indices &at, AxisSpace &axes) {
  SmallVector<unsigned> out;
  for (const Index &i : at) {
    if (!i.isPure())
      return std::nullopt;
    SmallVector<unsigned> parts = axes.refined(i.axes);
    out.append(parts.begin(), parts.end());
  }
  return out;
}

/// Where only trailing parts of the head axis are missing from `present`: the parts of it that are there.
static std::optional<SmallVector<unsigned>> presentHeads(ArrayRef<unsigned> present, AxisSpace &axes) {
  SmallVector<unsigned> heads = axes.refined({1}), kept;
  for (unsigned a : axes.refined({0, 2, 3}))
    if (!llvm::is_contained(present, a))
      return std::nullopt;
  for (unsigned a : heads)
    if (llvm::is_contained(present, a))
      kept.push_back(a);
  bool isPrefix = std::equal(kept.begin(), kept.end(), heads.begin());
  return isPrefix && kept.size() < heads.size() ? std::optional(kept) : std::nullopt;
}

Value opt::unrepeatHeads(Value x, GraphBuilder &g) {
  Dims dims = dimsOf(x);
  AxisSpace axes(g.facts, /*maySplit=*/true);
  Indices at;
  for (const Expr &e : dims)
    axes.add(e);
  for (unsigned d = 0; d < 4; ++d)
    at.push_back(axes.spanning({d}));
  for (Value v = x; isView(v.getDefiningOp());) {
    Operation *view = v.getDefiningOp();
    std::optional<Indices> inner = axes.operandOf(view, at);
    if (!inner)
      return {};
    v = view->getOperand(0);
    at = *inner;
    std::optional<SmallVector<unsigned>> present = flatten(at, axes);
    if (!present)
      return {};
    std::optional<SmallVector<unsigned>> heads = presentHeads(*present, axes);
    if (!heads)
      continue;
    // Bring what is there into the order of x.
    SmallVector<unsigned> order = axes.refined({0});
    order.append(heads->begin(), heads->end());
    order.append(axes.refined({2, 3}));
    Dims atoms;
    SmallVector<int64_t> perm;
    for (unsigned a : *present)
      atoms.push_back(axes.extent(a));
    for (unsigned a : order)
      perm.push_back(llvm::find(*present, a) - present->begin());
    Value split = g.reshape(v, atoms);
    return g.reshape(llvm::is_sorted(perm) ? split : g.transpose(split, perm), {dims[0], axes.product(*heads), dims[2], dims[3]});
  }
  return {};
}

/// One factor; x itself when there is none.
static Value stripOne(Value x, double &factor, GraphBuilder &g) {
  SmallVector<Operation *> views;
  Value v = x;
  for (; isView(v.getDefiningOp()); v = v.getDefiningOp()->getOperand(0))
    views.push_back(v.getDefiningOp());
  Operation *op = v.getDefiningOp();
  if (!op || !isa<MulOp, DivOp>(op))
    return x;
  std::optional<double> c = splatValue(op->getOperand(1));
  Value rest = op->getOperand(0);
  if (!c && isa<MulOp>(op)) {
    c = splatValue(op->getOperand(0));
    rest = op->getOperand(1);
  }
  if (!c || !std::isfinite(*c) || *c == 0)
    return x;
  factor *= isa<MulOp>(op) ? *c : 1.0 / *c;
  for (Operation *view : llvm::reverse(views)) {
    Operation *copy = g.b.clone(*view);
    copy->setOperand(0, rest);
    rest = copy->getResult(0);
  }
  return rest;
}

Value opt::stripFactor(Value x, double &factor, GraphBuilder &g) {
  for (unsigned step = 0; step < 8; ++step) {
    Value rest = stripOne(x, factor, g);
    if (rest == x)
      break;
    x = rest;
  }
  return x;
}
