//===- GroupStarts.cpp - Kernels of one root --------------------------------===//
//
// The axes that each kind of root has, and at which of their points it reads its operands.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"
#include "lathe/Dialect/Kernel/Legality.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Expr;

Group Grouper::startHeavy(Operation *op) {
  if (auto c = dyn_cast<ir::ContractOp>(op))
    return startContraction(c);
  return startAttention(cast<ir::AttentionOp>(op));
}

/// Whether the columns of an attention's values lie apart: blocks of them are read as vectors.
static bool liesAcross(OpOperand &operand, ArrayRef<Expr> indices, const Expr &offset) {
  if (!isa<ir::AttentionOp>(operand.getOwner()) || operand.getOperandNumber() != 2)
    return false;
  std::optional<std::string> column = indices.back().asSymbol();
  std::optional<Expr::Linear> linear = column ? offset.linearIn(*column) : std::nullopt;
  return column && (!linear || linear->coefficient != Expr(1));
}

Operation *Grouper::copyUnreadable(Group &g, Operation *op) {
  for (auto [operand, indices] : llvm::zip(op->getOpOperands(), g.domain.reads[op])) {
    Value root = operand.get();
    while (isView(root.getDefiningOp()))
      root = root.getDefiningOp()->getOperand(0);
    Value storage = root;
    if (auto it = groupOf.find(root.getDefiningOp()); root.getDefiningOp() && it != groupOf.end()) {
      Domain domain = groups[it->second].domain;
      storage = storageOf(groups[it->second], root, domain);
    }
    auto [base, offset] = locate(g.domain, operand.get(), indices, [&](Value v) { return v == storage; });
    bool computed = !Trees::isExternal(root) && !trees.isRoot(root.getDefiningOp());
    shape::Facts inside = running.clone();
    for (const Axis &a : g.domain.axes)
      inside.setAxis(a.name, a.extent);
    if (!computed && !liesAcross(operand, indices, offset) && !g.domain.divides(offset, /*minimaFine=*/true) &&
        kernel::isInside(inside.simplify(offset), inside.simplify(shape::product(ir::dimsOf(base))), {}, inside))
      continue;
    OpBuilder b(op);
    auto copy = b.create<ir::CastOp>(op->getLoc(), operand.get().getType(), operand.get());
    operand.set(copy);
    trees.addRoot(copy);
    return copy;
  }
  return nullptr;
}
void Grouper::startRow(Operation *op) {
  Group g{GroupKind::Row, Domain(facts), {op}, producers(op), {}};
  Value domainValue = op->getResult(0);
  auto reduce = dyn_cast<ir::ReduceOp>(op);
  if (reduce)
    domainValue = reduce.getX();
  Dims indices = g.domain.addAxes(ir::dimsOf(domainValue));
  g.domain.known[domainValue] = indices;
  if (reduce) {
    Dims kept;
    for (auto [i, e] : llvm::enumerate(indices))
      if (!llvm::is_contained(reduce.getAxes(), int64_t(i)))
        kept.push_back(e);
    g.domain.known[op->getResult(0)] = kept;
    g.domain.reads[op] = {indices};
    checkReads(g, domainValue, indices);
  } else {
    for (Value o : op->getOperands()) // register what it reads; a fresh group has no members to conflict with
      if (isa<ir::ElementwiseInterface>(op))
        checkReads(g, o, indices);
  }
  start(op, std::move(g));
}

Group Grouper::startContraction(ir::ContractOp op) {
  Domain d(facts);
  Dims result = d.addAxes(ir::dimsOf(op.getResult())), contracted;
  for (int64_t k : op.getLhsContract())
    contracted.push_back(ir::dimsOf(op.getLhs())[k]);
  contracted = d.addAxes(contracted);
  auto assemble = [&](Value v, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, size_t firstFree) {
    Dims out(ir::typeOf(v).getRank(), Expr(0));
    for (size_t i = 0; i < out.size(); ++i) {
      auto b = llvm::find(batch, int64_t(i)), c = llvm::find(contract, int64_t(i));
      out[i] = b != batch.end() ? result[b - batch.begin()]
               : c != contract.end() ? contracted[c - contract.begin()]
                                     : result[firstFree++];
    }
    return out;
  };
  size_t batch = op.getLhsBatch().size();
  size_t lhsFree = ir::typeOf(op.getLhs()).getRank() - batch - op.getLhsContract().size();
  d.known[op.getResult()] = result;
  d.reads[op] = {assemble(op.getLhs(), op.getLhsBatch(), op.getLhsContract(), batch),
                 assemble(op.getRhs(), op.getRhsBatch(), op.getRhsContract(), batch + lhsFree)};
  return {GroupKind::Contraction, std::move(d), {op}, producers(op), {}};
}

Group Grouper::startAttention(ir::AttentionOp op) {
  Domain d(facts);
  Dims q = ir::dimsOf(op.getQ()), k = ir::dimsOf(op.getK()), v = ir::dimsOf(op.getV());
  Expr b = d.addAxis(q[0]), group(0), head(0);
  if (facts.provablyEqual(q[1], k[1])) {
    head = group = d.addAxis(q[1]);
  } else { // query heads in groups that share a key head
    Expr repeat = d.facts.simplify(Expr::floordiv(q[1], k[1]));
    group = d.addAxis(k[1]);
    head = group * repeat + d.addAxis(repeat);
  }
  // The four axes that the op names exist whatever their extents.
  Expr row = d.addAxis(q[2], true), e = d.addAxis(v[3], true), key = d.addAxis(k[2], true), depth = d.addAxis(q[3], true);
  d.known[op.getResult()] = {b, head, row, e};
  d.reads[op] = {{b, head, row, depth}, {b, group, key, depth}, {b, group, key, e}};
  for (size_t i = 0; i < op.getExtras().size(); ++i) {
    Dims at{b, head, row, key}, dims = ir::dimsOf(op.getExtras()[i]);
    for (size_t j = 0; j < 4; ++j)
      if (dims[j].isOne())
        at[j] = Expr(0);
    d.reads[op].push_back(at);
  }
  return {GroupKind::Attention, std::move(d), {op}, producers(op), {}};
}

void Grouper::startConv(ir::ConvOp op) {
  Domain d(facts);
  Dims w = ir::dimsOf(op.getW()), x = ir::dimsOf(op.getX()), result{d.addAxis(x[0])};
  // Groups and the channels of a group are axes of their own, so that no division is left in the indices.
  Expr groups(int64_t(op.getGroups())), perGroup = d.facts.simplify(Expr::floordiv(w[0], groups)), group = d.addAxis(groups);
  result.push_back(group * perGroup + d.addAxis(perGroup));
  Dims pixels = d.addAxes(ArrayRef<Expr>(ir::dimsOf(op.getResult())).drop_front(2)),
       inner = d.addAxes(ArrayRef<Expr>(w).drop_front());
  result.append(pixels);
  Dims xAt{result[0], group * w[1] + inner[0]}, wAt{result[1]}, pads = ir::exprsOf(op.getPads());
  wAt.append(inner.begin(), inner.end());
  for (size_t s = 0; s + 2 < x.size(); ++s)
    xAt.push_back(result[s + 2] * Expr(op.getStrides()[s]) + inner[s + 1] * Expr(op.getDilations()[s]) - pads[s]);
  d.known[op.getResult()] = result;
  d.reads[op] = {xAt, wAt};
  std::vector<std::string> refusals;
  for (const Trees::Leaf &leaf : trees.leaves(op.getX()))
    if (Operation *made = leaf.value.getDefiningOp(); made && trees.repeatsOf(made))
      refusals.push_back(nodeName(made) + " -> " + nodeName(op) + ": it would be computed again at each place of the window, " +
                         std::to_string(trees.repeatsOf(made)) + " times");
  start(op, {GroupKind::Row, std::move(d), {op}, producers(op), refusals});
}

/// The axis that it goes along exists whatever its extent; a sort has another one for its results.
void Grouper::startOrdered(Operation *op) {
  Group g{GroupKind::Ordered, Domain(facts), {op}, producers(op), {}};
  Value x = op->getOperand(0);
  auto scan = dyn_cast<ir::ScanOp>(op);
  auto sort = dyn_cast<ir::SortOp>(op);
  size_t axis = scan ? scan.getAxis() : sort.getAxis();
  Dims read;
  for (auto [d, extent] : llvm::enumerate(ir::dimsOf(x)))
    read.push_back(g.domain.addAxis(extent, d == axis));
  Dims result = read;
  if (sort)
    result[axis] = g.domain.addAxis(ir::dimsOf(sort.getResult())[axis], true);
  g.domain.known[x] = read;
  g.domain.known[op->getResult(0)] = result;
  g.domain.reads[op] = {read};
  checkReads(g, x, read);
  start(op, std::move(g));
}

/// The axis that it goes along, that of its frequencies and that of real and imaginary parts exist whatever their extents.
void Grouper::startTransform(ir::FftOp op) {
  Group g{GroupKind::Ordered, Domain(facts), {op}, producers(op), {}};
  Dims from = ir::dimsOf(op.getX()), to = ir::dimsOf(op.getResult()), read, result;
  for (auto [d, extent] : llvm::enumerate(to))
    result.push_back(d == op.getParts() ? Expr(0) : g.domain.addAxis(extent, d == op.getAxis() || d == op.getTurnDim().value_or(op.getAxis())));
  read = result;
  Expr parts = g.domain.addAxis(Expr(2), true);
  for (auto [dims, indices] : {std::pair(&to, &result), std::pair(&from, &read)})
    if (!(*dims)[op.getParts()].isOne())
      (*indices)[op.getParts()] = parts;
  read[op.getAxis()] = g.domain.addAxis(from[op.getAxis()], true);
  g.domain.known[op.getX()] = read;
  g.domain.known[op.getResult()] = result;
  g.domain.reads[op] = {read};
  checkReads(g, op.getX(), read);
  start(op, std::move(g));
}

/// An axis for each dimension of the data, and for each of the updates that is none of the data's.
void Grouper::startScatter(ir::ScatterOp op) {
  Domain d(facts);
  Dims dims = ir::dimsOf(op.getData()), given = ir::dimsOf(op.getUpdates());
  Dims data = d.addAxes(dims);
  std::map<int64_t, Expr> shared;
  for (auto [i, place] : llvm::enumerate(op.getPlaces()))
    if (place >= 0 && facts.provablyEqual(given[place], dims[i]))
      shared.emplace(place, data[i]);
    else if (place >= 0 && !running.provablyLessEqual(given[place], dims[i]))
      given[place] = Expr::min(given[place], dims[i]); // it is the first of them, which the entry checks
  Dims updates;
  for (size_t k = 0; k < given.size(); ++k)
    updates.push_back(shared.count(k) ? shared.at(k) : d.addAxis(given[k]));
  d.known[op.getResult()] = data;
  d.reads[op] = {data, updates};
  start(op, {GroupKind::Scatter, std::move(d), {op}, producers(op), {}});
}

/// An axis for the list; where in the result an element lies, a scan along it says.
void Grouper::startCompact(ir::CompactOp op) {
  Group g{GroupKind::Scatter, Domain(facts), {op}, producers(op), {}};
  Dims read{g.domain.addAxis(ir::dimsOf(op.getX())[0], /*evenOfOne=*/true)};
  for (Value list : op->getOperands()) {
    g.domain.known[list] = read;
    checkReads(g, list, read);
  }
  g.domain.reads[op] = {read};
  start(op, std::move(g));
}
