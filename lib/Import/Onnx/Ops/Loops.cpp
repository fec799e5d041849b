//===- Loops.cpp - Building loops ------------------------------------------===//
//
// The types of a loop's carried values are found by trying: the body is built for the sizes that they have at first; a size
// that comes out otherwise becomes a symbol, and the body is built again, until nothing changes.
//
//===----------------------------------------------------------------------===//

#include "Loops.h"
#include "Sequences.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

class LoopBuilder {
public:
  LoopBuilder(Node &n, const LoopSpec &spec)
      : n(n), spec(spec), sizes(n.importer.session().sizes), name(llvm::cast<mlir::NameLoc>(n.g.loc).getName().str() + spec.suffix) {}
  SmallVector<Value> build();

private:
  GraphImporter::Body buildBody();
  bool widen(const GraphImporter::Body &body);
  Expr tripCount(const GraphImporter::Body &body);
  SmallVector<Value> create(GraphImporter::Body &body);

  Node &n;
  const LoopSpec &spec;
  SizeModel &sizes;
  std::string name, counter, countName;
  bool conditional = false;
  std::vector<Dims> dims; ///< of the carried values in the body
  struct Varying {
    std::string symbol;
    unsigned value, dim;
  };
  std::vector<Varying> varying;
};

GraphImporter::Body LoopBuilder::buildBody() {
  SmallVector<Type> types;
  for (auto [v, d] : llvm::zip(spec.carried, dims))
    types.push_back(ir::tensorType(d, n.element(v)));
  return n.importer.importBody(name, types, /*isBranch=*/false, [&](llvm::ArrayRef<Value> carried) {
    for (const Varying &s : varying)
      sizes.lateSize(s.symbol);
    std::vector<Value> results = spec.body(carried, sizes.lateSize(counter));
    if (llvm::any_of(results, [](Value v) { return isSequence(v) || isEmptyOptional(v); }))
      failUnsupported("its body gives a sequence or an optional");
    if (spec.conditional && !results.empty()) {
      n.requireBool(results[0]);
      n.requireEqual(shape::product(n.dims(results[0])), Expr(1), "the elements of the condition");
    }
    return results;
  });
}

/// Makes symbols of the sizes that the body changes; false when there are none (left).
bool LoopBuilder::widen(const GraphImporter::Body &body) {
  bool changed = false;
  unsigned first = spec.conditional ? 1 : 0;
  if (body.results.size() < first + spec.carried.size())
    failWrong("the body gives {0} results, the loop carries {1}", body.results.size(), spec.carried.size());
  for (unsigned i = 0; i < spec.carried.size(); ++i) {
    Value v = body.results[first + i];
    if (n.element(v) != n.element(spec.carried[i]) || n.rank(v) != int64_t(dims[i].size()))
      failUnsupported("carried value {0} is {1} and becomes {2}", i, describe(spec.carried[i].getType()), describe(v.getType()));
    Dims after = n.dims(v);
    for (unsigned d = 0; d < after.size(); ++d) {
      bool isSymbol = llvm::any_of(varying, [&](const Varying &s) { return s.value == i && s.dim == d; });
      if (isSymbol || n.g.facts.provablyEqual(after[d], dims[i][d]))
        continue;
      varying.push_back({sizes.ownSize(name + ".carried" + std::to_string(i) + "." + std::to_string(d)), i, d});
      dims[i][d] = Expr::symbol(varying.back().symbol);
      changed = true;
    }
  }
  return changed;
}

/// The number of iterations, behind the loop.
Expr LoopBuilder::tripCount(const GraphImporter::Body &body) {
  if (conditional || spec.condition)
    return sizes.lateSize(countName = sizes.ownSize(name + ".iterations"));
  Expr count = Expr::max(Expr(0), *spec.limit);
  return n.readsElement(count) ? n.define("iterations", count) : n.simplify(count);
}

SmallVector<Value> LoopBuilder::create(GraphImporter::Body &body) {
  ir::GraphBuilder &g = n.g;
  if (spec.conditional && !conditional)
    body.results.erase(body.results.begin());
  SmallVector<Type> types;
  SmallVector<mlir::Attribute> symbols, finals;
  Dims initial, next;
  unsigned first = conditional ? 1 : 0;
  for (const Varying &s : varying) { // behind the loop it is another size than in the body
    std::string last = sizes.ownSize(shape::nameOf(s.symbol) + ".last");
    dims[s.value][s.dim] = sizes.lateSize(last);
    finals.push_back(g.b.getStringAttr(last));
    symbols.push_back(g.b.getStringAttr(s.symbol));
    initial.push_back(n.dims(spec.carried[s.value])[s.dim]);
    next.push_back(n.dims(body.results[first + s.value])[s.dim]);
  }
  for (auto [v, d] : llvm::zip(spec.carried, dims))
    types.push_back(ir::tensorType(d, n.element(v)));
  for (size_t i = first + spec.carried.size(); i < body.results.size(); ++i) {
    Dims whole{tripCount(body)};
    for (auto [d, e] : llvm::enumerate(n.dims(body.results[i]))) {
      if (!sizes.isLate(e)) {
        whole.push_back(e);
        continue;
      } // the first iteration says, the others are checked
      std::string base = name + ".collected" + std::to_string(i - first) + "." + std::to_string(d);
      std::string symbol = sizes.ownSize(base), soFar = sizes.ownSize(base + ".so_far");
      whole.push_back(sizes.lateSize(symbol));
      finals.push_back(g.b.getStringAttr(symbol));
      symbols.push_back(g.b.getStringAttr(soFar));
      sizes.lateSize(soFar);
      initial.push_back(Expr(0));
      next.push_back(e);
    }
    types.push_back(ir::tensorType(whole, n.element(body.results[i])));
  }
  n.importer.finishBody(body);
  auto loop = g.b.create<ir::LoopOp>(
      g.loc, types, spec.condition, spec.carried, body.captures, body.function.getName(), spec.limit ? spec.limit->str() : "",
      conditional, counter, countName, g.b.getArrayAttr(symbols), ir::exprArray(g.b, initial), ir::exprArray(g.b, next),
      g.b.getArrayAttr(finals));
  return SmallVector<Value>(loop.getResults().begin(), loop.getResults().end());
}

SmallVector<Value> LoopBuilder::build() {
  counter = sizes.ownSize(name + ".iteration");
  for (Value v : spec.carried)
    dims.push_back(n.dims(v));
  for (;;) {
    GraphImporter::Attempt attempt = n.importer.startAttempt();
    GraphImporter::Body body = buildBody();
    if (widen(body)) {
      n.importer.abandon(attempt);
      continue;
    }
    if (spec.conditional) { // exporters give the condition back as it came
      std::optional<Dims> known = ir::symbolicValue(body.results[0]);
      conditional = !known || !known->front().isOne();
    }
    if (!conditional && !spec.limit)
      failWrong("the loop never ends: it has neither a limit nor a condition that can fail");
    return create(body);
  }
}

} // namespace

SmallVector<Value> buildLoop(Node &n, const LoopSpec &spec) { return LoopBuilder(n, spec).build(); }

SmallVector<Value> buildLoop(Node &n, const ir::CountedLoop &loop) {
  LoopSpec spec;
  spec.suffix = loop.name;
  spec.limit = loop.steps;
  spec.carried = loop.carried;
  spec.body = [&](llvm::ArrayRef<Value> carried, const Expr &step) {
    SmallVector<Value> captured;
    for (Value v : loop.captured)
      captured.push_back(n.importer.bring(v));
    SmallVector<Value> results = loop.body(carried, captured, step);
    return std::vector<Value>(results.begin(), results.end());
  };
  return buildLoop(n, spec);
}

} // namespace lathe::onnx
