//===- Groups.cpp - Which roots share a kernel -----------------------------===//

#include "Groups.h"
#include "TurnedRows.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Dialect/Lathe/ModelNode.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Expr;

std::string fuse::nodeName(Operation *op) {
  std::string name;
  ir::forEachNode(op->getLoc(), [&](StringAttr n, StringRef) {
    if (name.empty())
      name = n.str();
  });
  return name.empty() ? op->getName().stripDialect().str() : name;
}

/// Axes of a contraction's second operand; 0 for other groups.
static size_t columnAxes(const Group &group) {
  if (group.kind != GroupKind::Contraction)
    return 0;
  return group.domain.axesIn(group.domain.reads.find(group.members.front())->second[1]).size();
}

std::set<unsigned> Grouper::producers(Operation *op) const {
  std::set<unsigned> out;
  for (const Trees::Leaf &leaf : trees.leavesOf(op))
    if (Operation *d = leaf.value.getDefiningOp())
      if (auto it = groupOf.find(d); it != groupOf.end())
        out.insert(it->second);
  if (!host.empty())
    for (Operation *inner : trees.opsOf(op))
      for (unsigned owner : host.ownersOf(inner))
        if (auto it = groupOf.find(host.owner(owner)); it != groupOf.end())
          out.insert(it->second);
  return out;
}

bool Grouper::reaches(unsigned from, unsigned to) const {
  std::vector<unsigned> stack{to};
  std::set<unsigned> seen;
  while (!stack.empty()) { // `to` depends on `from`, through any chain
    unsigned g = stack.back();
    stack.pop_back();
    if (g == from)
      return true;
    if (seen.insert(g).second)
      stack.insert(stack.end(), groups[g].deps.begin(), groups[g].deps.end());
  }
  return false;
}

void Grouper::start(Operation *op, Group group) {
  group.weight = trees.weightOf(op);
  groupOf[op] = groups.size();
  groups.push_back(std::move(group));
}

void Grouper::run() {
  for (Operation &op : body)
    if (trees.isRoot(&op)) {
      place(&op);
    } else if (ir::isHostOp(&op)) {
      start(&op, {GroupKind::Host, Domain(facts), {&op}, producers(&op), {}});
    }
}

Value Grouper::storageOf(const Group &group, Value v, Domain &domain) const {
  if (group.kind == GroupKind::Host || group.kind == GroupKind::Scatter)
    return v; // it lies in its own order, and no domain knows its places
  Value storage = v, at = v;
  Domain trial = domain, kept = domain; // `kept`: without what views after the last transpose would split
  Dims indices = domain.known.lookup(v);
  unsigned added = 0;
  while (at.hasOneUse()) {
    Operation *user = *at.getUsers().begin();
    if (!isa<ir::TransposeOp, ir::ReshapeOp>(user) || staysInOrder(group, user, trial, indices))
      break;
    std::optional<Dims> next = trial.forward(user, indices, added);
    // A contraction's columns stay one axis, for its panels.
    // An attention's rows, keys and columns are one axis each, and so is what a scan or a sort goes along.
    bool keepsAxes = group.kind == GroupKind::Attention || group.kind == GroupKind::Ordered;
    if (!next || (keepsAxes && trial.axes.size() != domain.axes.size()) ||
        (group.kind == GroupKind::Contraction && columnAxes({group.kind, trial, group.members, {}, {}}) != columnAxes(group)))
      break;
    indices = *next;
    at = user->getResult(0);
    trial.known[at] = indices; // kept up to date by later splits
    if (isa<ir::TransposeOp>(user)) {
      storage = at;
      kept = trial;
    }
  }
  if (storage != v)
    domain = kept;
  return storage;
}

std::vector<unsigned> Grouper::order() const {
  std::vector<std::vector<unsigned>> readers(groups.size());
  std::vector<size_t> missing;
  std::set<unsigned> ready; // always the earliest group that is ready: program order where possible
  for (auto [g, group] : llvm::enumerate(groups)) {
    missing.push_back(group.deps.size());
    for (unsigned d : group.deps)
      readers[d].push_back(g);
    if (group.deps.empty())
      ready.insert(g);
  }
  std::vector<unsigned> out;
  while (!ready.empty()) {
    out.push_back(*ready.begin());
    ready.erase(ready.begin());
    for (unsigned reader : readers[out.back()])
      if (--missing[reader] == 0)
        ready.insert(reader);
  }
  return out;
}

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

void Grouper::place(Operation *op) {
  if (isHeavyRoot(op)) {
    // Operands are read from memory by plain strides; one that no stride describes is copied into order first.
    for (unsigned tries = 0; tries <= op->getNumOperands(); ++tries) {
      Group g = startHeavy(op);
      Operation *copy = tries < op->getNumOperands() ? copyUnreadable(g, op) : nullptr;
      if (!copy)
        return start(op, std::move(g)); // what was copied and still is not proven is for the verifier to say
      place(copy);
    }
  }
  if (auto c = dyn_cast<ir::ConvOp>(op))
    return startConv(c);
  if (isa<ir::ScanOp, ir::SortOp>(op))
    return startOrdered(op);
  if (auto t = dyn_cast<ir::FftOp>(op))
    return startTransform(t);
  if (auto s = dyn_cast<ir::ScatterOp>(op))
    return startScatter(s);
  if (auto c = dyn_cast<ir::CompactOp>(op))
    return startCompact(c);
  if (isUnpackedProduct(op))
    return startRow(op);
  std::set<unsigned> from = producers(op);
  std::vector<unsigned> candidates(from.rbegin(), from.rend()); // the latest first, contractions before all
  std::stable_partition(candidates.begin(), candidates.end(),
                        [&](unsigned g) { return groups[g].kind == GroupKind::Contraction; });
  std::vector<std::string> refusals;
  // Rows that already read one of its operands come last: nothing is passed on, but the operand is read once.
  llvm::DenseSet<Value> read;
  for (const Trees::Leaf &leaf : trees.leavesOf(op))
    if (ir::typeOf(leaf.value).getRank() > 1)
      read.insert(leaf.value);
  size_t producing = candidates.size();
  for (unsigned g = groups.size(), tried = 0; g-- > 0 && tried < 4;) {
    bool shares = groups[g].kind == GroupKind::Row && !groups[g].domain.reads.empty() && !from.count(g) && !isUnpackedProduct(groups[g].members.front()) &&
                  llvm::any_of(groups[g].domain.known, [&](auto &entry) { return read.count(entry.first) != 0; });
    if (shares && ++tried)
      candidates.push_back(g);
  }
  for (auto [i, g] : llvm::enumerate(candidates)) {
    std::string why = tryJoin(g, op);
    if (why.empty()) {
      std::move(refusals.begin(), refusals.end(), std::back_inserter(groups[g].unfused));
      return;
    }
    if (i >= producing)
      continue;
    refusals.push_back(nodeName(groups[g].members.back()) + " -> " + nodeName(op) + ": " + why);
  }
  startRow(op);
  groups.back().unfused = refusals;
}

//===----------------------------------------------------------------------===//
// Starting groups
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// A value that a row program needs in two passes over the row is computed in both, and products and sums may be contracted to fused
/// operations in one and not in the other. A maximum then equals none of the values that it is the maximum of.
std::string Grouper::checkEquality(const Group &group, Operation *op) const {
  for (Operation *inner : trees.opsOf(op)) {
    auto compare = dyn_cast<ir::CompareOp>(inner);
    bool equality = compare && (compare.getKind() == ir::CompareKind::EQ || compare.getKind() == ir::CompareKind::NE);
    if (!equality || !isa<FloatType>(ir::elementOf(compare.getLhs())))
      continue;
    for (Value v : compare->getOperands())
      for (const Trees::Leaf &leaf : trees.leaves(v))
        if (Operation *member = leaf.value.getDefiningOp(); member && !isa<ir::ReduceOp>(member) && llvm::is_contained(group.members, member))
          return "it compares values of this kernel for equality, which are computed anew at each pass";
  }
  return "";
}

/// A gather along the last dimension by what a sort of the group gives, each row in its own order.
static bool isTakenInOrder(Operation *op, const Group &group) {
  auto gather = dyn_cast<ir::GatherNdOp>(op);
  if (!gather || !isa<ir::SortOp>(group.members.front()) || gather.getBatchDims() + 1 != uint64_t(ir::typeOf(gather.getX()).getRank()) ||
      gather.getBatchDims() + 2 != uint64_t(ir::typeOf(gather.getIndices()).getRank()))
    return false;
  Value order = gather.getIndices();
  while (isa_and_nonnull<ir::ReshapeOp, ir::TransposeOp>(order.getDefiningOp()))
    order = order.getDefiningOp()->getOperand(0);
  return order.getDefiningOp() == group.members.front();
}

std::string Grouper::tryJoin(unsigned id, Operation *op) {
  for (unsigned p : producers(op))
    if (p != id && reaches(id, p))
      return "another operand is made from this kernel's results";
  if (groups[id].kind == GroupKind::Host)
    return "it is a step of the host program";
  if (groups[id].kind == GroupKind::Attention)
    return "attention takes no epilogue";
  if (groups[id].kind == GroupKind::Scatter)
    return isa<ir::CompactOp>(groups[id].members.front()) ? "where an element goes is known at its end" : "a scatter's updates are complete at its end";
  if (groups[id].weight + trees.weightOf(op) > largestKernel)
    return "the kernel is large enough";
  if (std::string why = checkEquality(groups[id], op); !why.empty())
    return why;
  if (readsTurned(groups[id], op))
    return "its elements would lie along another axis";
  Group trial = groups[id];
  auto reduce = dyn_cast<ir::ReduceOp>(op);
  if (reduce && llvm::any_of(trial.members, isCopy))
    return "its rows are brought into order first";
  if (reduce && (trial.kind == GroupKind::Contraction || isUnpackedProduct(trial.members.front())))
    return "a reduction does not fit a contraction's epilogue";
  if (reduce && trial.kind == GroupKind::Ordered)
    return "a reduction does not fit behind a scan, a sort or a transform";
  auto taken = isTakenInOrder(op, groups[id]) ? cast<ir::GatherNdOp>(op) : ir::GatherNdOp();
  if (!reduce && !taken && !isa<ir::ElementwiseInterface>(op))
    return "gathers, pads and concatenations read from memory";
  unsigned added = 0;
  size_t columnsBefore = columnAxes(trial);
  Value placed = reduce ? Value(reduce.getX()) : taken ? Value(taken.getIndices()) : Value(op->getResult(0));
  std::optional<Dims> indices = derive(trial, placed, added);
  if (indices && taken)
    indices->pop_back(); // the one coordinate
  if (!indices)
    return "the iteration domains are not provably compatible";
  if (trial.kind == GroupKind::Ordered && trial.domain.axes.size() != groups[id].domain.axes.size())
    return "it has more axes than the scan, sort or transform";
  std::string why = reduce  ? joinReduce(trial, reduce, *indices, added)
                    : taken ? joinTaken(trial, taken, *indices)
                            : joinPointwise(trial, op, *indices, added, columnsBefore);
  if (!why.empty())
    return why;
  trial.members.push_back(op);
  trial.weight += trees.weightOf(op);
  for (unsigned p : producers(op))
    if (p != id)
      trial.deps.insert(p);
  groups[id] = std::move(trial);
  groupOf[op] = id;
  return "";
}

/// A list of numbers, read at what each element of the indices says: the result has the indices' places.
static bool readsTable(Operation *op) {
  auto gather = dyn_cast<ir::GatherOp>(op);
  return gather && gather.getX().getDefiningOp<ir::ConstantOp>() && ir::typeOf(gather.getX()).getRank() == 1;
}

std::optional<Dims> Grouper::derive(Group &trial, Value value, unsigned &added) {
  if (auto it = trial.domain.known.find(value); it != trial.domain.known.end())
    return it->second;
  std::optional<Dims> best;
  Domain bestDomain = trial.domain;
  Operation *op = value.getDefiningOp();
  // A root's own op is passed last; below a view or an inlined op the path of leaves() already ends at the value.
  std::vector<Trees::Leaf> leaves = op && trees.isRoot(op) ? trees.leavesOf(op) : trees.leaves(value);
  for (const Trees::Leaf &leaf : leaves) {
    // The nearest value on the way up whose indices are known.
    size_t first = leaf.path.size();
    auto it = trial.domain.known.end();
    for (; it == trial.domain.known.end() && first > 0; --first)
      it = trial.domain.known.find(leaf.path[first - 1]->getResult(0));
    first += it != trial.domain.known.end();
    if (it == trial.domain.known.end())
      it = trial.domain.known.find(leaf.value);
    if (it == trial.domain.known.end())
      continue;
    Domain d = trial.domain;
    std::optional<Dims> at = it->second;
    unsigned mine = 0;
    for (Operation *step : ArrayRef<Operation *>(leaf.path).drop_front(first)) {
      if (isView(step))
        at = d.forward(step, *at, mine);
      else if (!isa<ir::ElementwiseInterface>(step) && !readsTable(step))
        at = std::nullopt;
      if (!at)
        break;
    }
    if (at && (!best || mine < added)) {
      best = at;
      bestDomain = d;
      added = mine;
    }
  }
  trial.domain = bestDomain;
  return best;
}

std::string Grouper::checkReads(Group &trial, Value value, const Dims &indices) {
  Operation *op = value.getDefiningOp();
  bool leaf = Trees::isExternal(value) || (op && trees.isRoot(op));
  if (leaf) {
    auto it = trial.domain.known.find(value);
    bool member = op && llvm::is_contained(trial.members, op);
    if (member && (it == trial.domain.known.end() || !trial.domain.sameIndices(it->second, indices)))
      return "it reads another element than the one computed at the same point";
    if (it == trial.domain.known.end() && !trial.domain.divides(indices))
      trial.domain.known[value] = indices;
    return "";
  }
  if (!op || Trees::isSplat(value))
    return "";
  if (isView(op)) {
    // A view is where later readers may meet the same elements, also where the elements below it need divisions.
    if (!trial.domain.known.count(value) && !trial.domain.divides(indices))
      trial.domain.known[value] = indices;
    return checkReads(trial, op->getOperand(0), trial.domain.backward(op, indices));
  }
  if (isa<ir::ElementwiseInterface>(op)) {
    for (Value o : op->getOperands())
      if (std::string why = checkReads(trial, o, indices); !why.empty())
        return why;
    return "";
  }
  // Gathers, pads and concatenations read elsewhere: nothing below them may come from this kernel. Where a gather reads is computed at a point.
  auto gather = dyn_cast<ir::GatherOp>(op);
  for (const Trees::Leaf &l : trees.leaves(gather ? gather.getX() : value))
    if (llvm::is_contained(trial.members, l.value.getDefiningOp()))
      return "it gathers from a value of the same kernel";
  if (!gather)
    return "";
  auto first = indices.begin() + gather.getAxis();
  return checkReads(trial, gather.getIndices(), Dims(first, first + ir::typeOf(gather.getIndices()).getRank()));
}

std::string Grouper::checkExtension(const Group &group, unsigned oldAxes) {
  std::set<std::string> reduced = group.domain.reducedAxes();
  if (reduced.empty())
    return "its domain is larger and the producer would be repeated";
  std::set<std::string> rows;
  for (const auto &[op, operands] : group.domain.reads)
    for (const std::string &a : group.domain.axesIn(group.domain.known.lookup(op->getResult(0))))
      rows.insert(a);
  for (unsigned i = 0; i < oldAxes; ++i)
    if (!rows.count(group.domain.axes[i].name) && !reduced.count(group.domain.axes[i].name))
      return "its domain is larger than the producer's rows";
  for (Operation *m : group.members)
    if (isHeavy(m) && !isa<ir::DivOp, ir::SqrtOp, ir::RsqrtOp>(m) &&
        llvm::any_of(group.domain.axesIn(group.domain.known.lookup(m->getResult(0))),
                     [&](const std::string &a) { return reduced.count(a); }))
      return "its domain is larger and an expensive row would be repeated";
  return "";
}

static Expr extentOf(ArrayRef<Axis> axes, llvm::function_ref<bool(const Axis &)> counts) {
  Expr extent(1);
  for (const Axis &axis : axes)
    if (counts(axis))
      extent = extent * axis.extent;
  return extent;
}

/// Whether another sum over the rows, in more axes, would compute much of each element again. A row of a few elements is written out, and what is the
/// same in all of its places is computed before the loop over these.
bool Grouper::repeatsRow(const Group &group) const {
  constexpr int64_t few = 8;
  constexpr unsigned mostRepeated = 16;
  std::set<std::string> reduced = group.domain.reducedAxes();
  auto isReduced = [&](const std::string &a) { return reduced.count(a) > 0; };
  Expr length = extentOf(group.domain.axes, [&](const Axis &axis) { return isReduced(axis.name); });
  unsigned weight = 0;
  for (Operation *m : group.members)
    if (llvm::any_of(group.domain.axesIn(group.domain.known.lookup(m->getResult(0))), isReduced))
      weight += trees.weightOf(m);
  return length.constant().value_or(few + 1) > few && weight > mostRepeated;
}

bool Grouper::repeatsSum(const Group &group, unsigned oldAxes) const {
  constexpr int64_t few = 8; // as many products cost less than a trip through memory, as many elements less than another launch
  constexpr int64_t longest = 256; // a longer sum is more work than another launch, however few elements it is made for again
  constexpr int64_t mostOfWindow = 64; // a convolution over more is a product of tiles, which have no places for more than their own results
  std::set<std::string> reduced = group.domain.reducedAxes();
  ArrayRef<Axis> axes = group.domain.axes;
  Expr length = extentOf(axes.take_front(oldAxes), [&](const Axis &axis) { return reduced.count(axis.name) > 0; });
  Expr elements = extentOf(axes.drop_front(oldAxes), [](const Axis &) { return true; });
  int64_t sum = length.constant().value_or(INT64_MAX), most = llvm::any_of(group.members, llvm::IsaPred<ir::ConvOp>) ? mostOfWindow : longest;
  return !reduced.empty() && sum > few && elements.constant().value_or(few + 1) > (sum > most ? 1 : few);
}

std::string Grouper::checkCoverage(const Group &trial, Value value, const Dims &indices) const {
  return trial.domain.covers(ir::dimsOf(value), indices) ? "" : "the kernel's points are only some of its elements";
}

std::string Grouper::joinPointwise(Group &trial, Operation *op, const Dims &indices, unsigned added, size_t columnsBefore) {
  if (added && trial.kind == GroupKind::Contraction)
    return "its domain is larger than the contraction's result";
  if (added)
    if (std::string why = checkExtension(trial, trial.domain.axes.size() - added); !why.empty())
      return why;
  if (added && !extendsRows && repeatsSum(trial, trial.domain.axes.size() - added))
    return "each of its elements would make the sum again";
  // Packed panels want one column axis.
  if (trial.kind == GroupKind::Contraction && columnAxes(trial) != columnsBefore)
    return "it would split the contraction's columns";
  std::set<std::string> reduced = trial.domain.reducedAxes();
  std::vector<std::string> mine = trial.domain.axesIn(indices);
  for (const Axis &a : trial.domain.axes)
    if (!reduced.count(a.name) && !llvm::is_contained(mine, a.name))
      return "its domain is smaller";
  if (std::string why = checkCoverage(trial, op->getResult(0), indices); !why.empty())
    return why;
  if (liesAcrossRows(trial, op->getResult(0), indices))
    return "its elements would lie along another axis than the rows";
  for (Value o : op->getOperands())
    if (std::string why = checkReads(trial, o, indices); !why.empty())
      return why;
  trial.domain.known[op->getResult(0)] = indices;
  return "";
}

std::string Grouper::joinTaken(Group &trial, ir::GatherNdOp op, const Dims &indices) {
  if (std::string why = checkCoverage(trial, op.getResult(), indices); !why.empty())
    return why;
  for (const Trees::Leaf &l : trees.leaves(op.getX()))
    if (llvm::is_contained(trial.members, l.value.getDefiningOp()))
      return "it gathers from a value of the same kernel";
  Dims coordinates = indices;
  coordinates.push_back(Expr(0));
  if (std::string why = checkReads(trial, op.getIndices(), coordinates); !why.empty())
    return why;
  trial.domain.known[op.getResult()] = indices;
  return "";
}

/// Whether a group that reduces these axes has too few rows left for work that has many of its own: what reduces a whole tensor is done in parts, of which there are as many as
/// there is room for, while rows of it would all wait for one another.
bool Grouper::leavesFewRows(const Group &group, const std::set<std::string> &reduced) const {
  constexpr int64_t fewRows = 16, fewPoints = 1 << 12;
  Expr points = extentOf(group.domain.axes, [](const Axis &) { return true; });
  Expr rows = extentOf(group.domain.axes, [&](const Axis &axis) { return !reduced.count(axis.name); });
  return rows.constant().value_or(fewRows) < fewRows && points.constant().value_or(fewPoints + 1) > fewPoints;
}

std::string Grouper::joinReduce(Group &trial, ir::ReduceOp op, const Dims &indices, unsigned added) {
  if (added)
    if (std::string why = checkExtension(trial, trial.domain.axes.size() - added); !why.empty())
      return why;
  if (added && repeatsRow(trial))
    return "its domain is larger and much of each row would be repeated";
  Dims kept, gone;
  for (auto [i, e] : llvm::enumerate(indices))
    (llvm::is_contained(op.getAxes(), int64_t(i)) ? gone : kept).push_back(e);
  std::vector<std::string> goneAxes = trial.domain.axesIn(gone), keptAxes = trial.domain.axesIn(kept);
  for (const std::string &a : goneAxes)
    if (llvm::is_contained(keptAxes, a))
      return "it reduces a part of an axis";
  std::set<std::string> reduced = trial.domain.reducedAxes();
  bool compatible = reduced.empty() ? !keptAxes.empty() || trial.domain.axes.empty()
                                    : llvm::all_of(goneAxes, [&](const std::string &a) { return reduced.count(a); });
  if (!compatible)
    return reduced.empty() ? "it reduces everything and no parallel axis would be left" : "it reduces other axes";
  if (goneAxes.size() < reduced.size() && leavesFewRows(trial, reduced))
    return "it keeps axes of which another reduction leaves few rows";
  if (std::string why = checkCoverage(trial, op.getX(), indices); !why.empty())
    return why;
  if (std::string why = checkReads(trial, op.getX(), indices); !why.empty())
    return why;
  trial.domain.known[op.getResult()] = kept;
  trial.domain.reads[op] = {indices};
  return "";
}
