//===- Branches.cpp - If ---------------------------------------------------===//
//
// A branch that the model's sizes make invalid, or whose results have another rank than the other one's, is no reason to refuse the
// model: it fails when it runs. Speech detectors have one branch for each sampling rate, and exporters write squeeze() as a branch
// on the size.
//
//===----------------------------------------------------------------------===//

#include "Loops.h"
#include "Sequences.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

using Body = GraphImporter::Body;

namespace {
struct Branch {
  const GraphProto &graph;
  llvm::StringRef which;
  Body body = {};
  std::string invalid = {}; ///< why it fails when it runs
  std::vector<int64_t> leastRanks = {}; ///< of results that are single elements
};
} // namespace

static std::string nameOfBranch(Node &n, const Branch &branch) {
  return llvm::cast<mlir::NameLoc>(n.g.loc).getName().str() + "." + branch.which.str();
}

/// Builds the branch. What is wrong in it is wrong only where it runs; what is not supported is reported as anywhere.
static void importBranch(Node &n, Branch &branch) {
  GraphImporter::Attempt attempt = n.importer.startAttempt();
  try {
    branch.body = n.importer.importBody(nameOfBranch(n, branch), {}, /*isBranch=*/true, [&](llvm::ArrayRef<Value>) {
      std::vector<Value> results = n.importer.inlineSubgraph(branch.graph, {});
      for (auto [v, rank] : llvm::zip(results, branch.leastRanks))
        if (rank && n.rank(v) < rank)
          v = n.g.reshape(v, Dims(rank, Expr(1)));
      return results;
    });
  } catch (const Failure &failure) {
    llvm::ArrayRef<Report> found = n.importer.failuresSince(attempt);
    bool unsupported = found.empty() ? failure.isUnsupported : llvm::any_of(found, [](const Report &r) { return r.isUnsupported; });
    if (unsupported)
      throw;
    branch.invalid = found.empty() ? failure.message : found.front().message;
    n.importer.abandon(attempt);
    return;
  }
  if (branch.body.results.size() < n.numOutputs())
    failWrong("the branch '{0}' has {1} results, the node {2}", branch.graph.name(), branch.body.results.size(), n.numOutputs());
  branch.body.results.resize(n.numOutputs());
}

/// The branch as one that fails when it runs, with results as the other's.
static void importInvalid(Node &n, Branch &branch, const Branch &other) {
  SizeModel &model = n.importer.session().sizes;
  for (Value v : other.body.results)
    if (isSequence(v) || isEmptyOptional(v))
      failUnsupported("the branch '{0}' is invalid, and the other one gives a sequence or an optional: {1}", branch.which, branch.invalid);
  branch.body = n.importer.importBody(nameOfBranch(n, branch), {}, /*isBranch=*/true, [&](llvm::ArrayRef<Value>) {
    std::string says = llvm::formatv("{0} takes the branch '{1}', as '{2}' is invalid for this model's sizes: {3}",
                                     llvm::cast<mlir::NameLoc>(n.g.loc).getName().str(), other.which, branch.which, branch.invalid);
    n.require(Expr(1), "le", Expr(0), says);
    std::vector<Value> results;
    for (Value v : other.body.results) {
      Dims dims = n.dims(v);
      for (Expr &e : dims)
        if (model.isLate(e))
          e = Expr(0);
      results.push_back(n.g.splat(0, dims, n.element(v)));
    }
    return results;
  });
}

/// The first result of another rank or type, as text.
static std::string difference(Node &n, const Branch &a, const Branch &b) {
  for (auto [i, x, y] : llvm::enumerate(a.body.results, b.body.results))
    if (!isSequence(x) && !isSequence(y) && !isEmptyOptional(x) && !isEmptyOptional(y) &&
        (n.element(x) != n.element(y) || n.rank(x) != n.rank(y)))
      return llvm::formatv("result {0} is {1} in one branch and {2} in the other", i, describe(x.getType()), describe(y.getType()));
  return "";
}

static bool haveSameTypes(Node &n, const Branch &a, const Branch &b) {
  return llvm::all_of(llvm::zip(a.body.results, b.body.results), [&](auto pair) {
    auto [x, y] = pair;
    return isSequence(x) || isEmptyOptional(x) || isSequence(y) || isEmptyOptional(y) || n.element(x) == n.element(y);
  });
}

static bool isSingle(Node &n, Value v) {
  return !isSequence(v) && !isEmptyOptional(v) && llvm::all_of(n.dims(v), [](const Expr &d) { return d.isOne(); });
}

static bool isModelOutput(Node &n, unsigned i) {
  return llvm::any_of(n.importer.session().file.model().graph().output(), [&](const auto &o) { return o.name() == n.proto.output(i); });
}

/// The ranks of results that are single elements in both branches, of another rank in each (functions of the format write a scalar
/// beside what was computed of a tensor with one element): what reads such a result broadcasts it, so that the higher rank does
/// for both. Not where the model gives it to its user.
static std::vector<int64_t> ranksOfSingles(Node &n, const Branch &a, const Branch &b) {
  std::vector<int64_t> ranks;
  for (auto [i, x, y] : llvm::enumerate(a.body.results, b.body.results)) {
    bool differs = isSingle(n, x) && isSingle(n, y) && n.rank(x) != n.rank(y) && !isModelOutput(n, i);
    ranks.push_back(differs ? std::max(n.rank(x), n.rank(y)) : 0);
  }
  return ranks;
}

/// Both branches, of which one may be such that it fails when it runs.
static void importBranches(Node &n, Branch &then, Branch &otherwise) {
  Session &session = n.importer.session();
  GraphImporter::Attempt attempt = n.importer.startAttempt();
  importBranch(n, then);
  importBranch(n, otherwise);
  if (!then.invalid.empty() && !otherwise.invalid.empty())
    failWrong("neither branch can run: {0}; {1}", then.invalid, otherwise.invalid);
  if (then.invalid.empty() && otherwise.invalid.empty())
    if (std::vector<int64_t> ranks = ranksOfSingles(n, then, otherwise); llvm::any_of(ranks, [](int64_t r) { return r != 0; })) {
      n.importer.abandon(attempt);
      for (Branch *branch : {&then, &otherwise}) {
        branch->leastRanks = ranks;
        importBranch(n, *branch);
      }
    }
  Branch *bad = !then.invalid.empty() ? &then : !otherwise.invalid.empty() ? &otherwise : nullptr;
  if (std::string why = bad ? "" : difference(n, then, otherwise); !why.empty()) {
    if (!haveSameTypes(n, then, otherwise))
      failUnsupported("{0}", why);
    session.ranksDiffer = true;
    bad = session.takesElse ? &then : &otherwise;
    bad->invalid = why;
    n.importer.abandon(attempt);
    importBranch(n, bad == &then ? otherwise : then);
  }
  if (bad)
    importInvalid(n, *bad, bad == &then ? otherwise : then);
}

/// Both branches take what either reads.
static SmallVector<Value> shareArguments(Body &then, Body &otherwise) {
  SmallVector<Value> all(then.captures.begin(), then.captures.end());
  all.append(otherwise.captures.begin(), otherwise.captures.end());
  mlir::Block &first = then.function.getBody().front(), &second = otherwise.function.getBody().front();
  for (Value v : otherwise.captures)
    first.addArgument(v.getType(), v.getLoc());
  for (auto [i, v] : llvm::enumerate(then.captures))
    second.insertArgument(unsigned(i), v.getType(), v.getLoc());
  return all;
}

/// Results that differ in a size have a symbol there, which the branch that ran decides.
static void ifOnData(Node &n, const GraphProto &thenGraph, const GraphProto &elseGraph) {
  SizeModel &model = n.importer.session().sizes;
  Branch thenBranch{thenGraph, "then"}, elseBranch{elseGraph, "else"};
  importBranches(n, thenBranch, elseBranch);
  Body &then = thenBranch.body, &otherwise = elseBranch.body;
  SmallVector<Type> types;
  SmallVector<mlir::Attribute> symbols;
  Dims thenSizes, elseSizes;
  std::string name = llvm::cast<mlir::NameLoc>(n.g.loc).getName().str();
  // Of sequences the elements are results, as many in either branch.
  std::vector<Value> shapes = then.results;
  for (auto [i, a, b] : llvm::enumerate(then.results, otherwise.results))
    if (isEmptyOptional(a) || isEmptyOptional(b) || isSequence(a) != isSequence(b) ||
        (isSequence(a) && elementsOf(a).size() != elementsOf(b).size()))
      failUnsupported("result {0} is a sequence of another length, or an optional that is empty, in one of the branches", i);
  then.results = withoutSequences(then.results);
  otherwise.results = withoutSequences(otherwise.results);
  for (auto [i, a, b] : llvm::enumerate(then.results, otherwise.results)) {
    Dims left = n.dims(a), right = n.dims(b), dims = left;
    for (size_t d = 0; d < dims.size(); ++d) {
      // Equal wherever either branch runs, or where the one runs that says it in its own words.
      if (n.g.facts.provablyEqual(left[d], right[d]) || otherwise.facts.provablyEqual(left[d], right[d]))
        dims[d] = left[d];
      else if (then.facts.provablyEqual(left[d], right[d]))
        dims[d] = right[d];
      else
        dims[d] = Expr::unknown();
      if (!dims[d].isUnknown() && !model.isLate(dims[d]))
        continue;
      std::string symbol = model.ownSize(name + ".result" + std::to_string(i) + "." + std::to_string(d));
      dims[d] = model.lateSize(symbol);
      symbols.push_back(n.g.b.getStringAttr(symbol));
      thenSizes.push_back(left[d]);
      elseSizes.push_back(right[d]);
    }
    types.push_back(ir::tensorType(dims, n.element(a)));
  }
  SmallVector<Value> operands = shareArguments(then, otherwise);
  n.importer.finishBody(then);
  n.importer.finishBody(otherwise);
  auto op = n.g.b.create<ir::IfOp>(n.g.loc, types, n.in(0), operands, then.function.getName(), otherwise.function.getName(),
                                   n.g.b.getArrayAttr(symbols), ir::exprArray(n.g.b, thenSizes), ir::exprArray(n.g.b, elseSizes));
  unsigned next = 0;
  for (unsigned i = 0; i < n.numOutputs(); ++i) {
    if (!isSequence(shapes[i])) {
      n.out(i, op.getResult(next++));
      continue;
    }
    std::vector<Value> elements;
    for (size_t count = elementsOf(shapes[i]).size(); elements.size() < count;)
      elements.push_back(op.getResult(next++));
    n.out(i, makeSequence(n.g.b, n.g.loc, elements));
  }
}

/// A condition that follows from constants and sizes chooses its branch here; exporters write such branches around squeezes.
void ifOp(Node &n) {
  Value condition = n.in(0);
  n.requireBool(condition);
  n.requireEqual(shape::product(n.dims(condition)), Expr(1), "the elements of the condition");
  const GraphProto *then = n.graph("then_branch"), *otherwise = n.graph("else_branch");
  if (!then || !otherwise)
    failWrong("the attribute of a branch is missing");
  std::optional<Dims> known = ir::symbolicValue(condition);
  if (!known || !(*known)[0].constant())
    return ifOnData(n, *then, *otherwise);
  std::vector<Value> results = n.importer.inlineSubgraph((*known)[0].isZero() ? *otherwise : *then, {});
  if (results.size() < n.numOutputs())
    failWrong("the branch has {0} results, the node {1}", results.size(), n.numOutputs());
  for (unsigned i = 0; i < n.numOutputs(); ++i)
    n.out(i, results[i]);
}

} // namespace lathe::onnx
