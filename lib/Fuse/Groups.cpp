//===- Groups.cpp - Which roots share a kernel -----------------------------===//

#include "Groups.h"
#include "TornImages.h"
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

size_t fuse::columnAxes(const Group &group) {
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
  Value last = v;
  while (last.hasOneUse() && isView(*last.getUsers().begin()))
    last = (*last.getUsers().begin())->getResult(0);
  if (last.hasOneUse() && tearsDepthwise(trees, group.members, *last.getUsers().begin()))
    return v;
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
