//===- ImportLoops.cpp - Loops and branches that nodes run ------------------===//
//
// A loop's graphs become a function of the host program (docs/Rationale/HostProgram.md): it takes what is carried and what is read
// from outside, and gives what is carried next; of while_loop also whether to go on, of the others what each step adds to the results.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "lathe/Dialect/Lathe/CountedLoop.h"
#include "lathe/Dialect/Lathe/ModelNode.h"
#include "llvm/ADT/ScopeExit.h"

using namespace lathe;
using namespace lathe::fx;

/// Builds an inner graph where the builder stands.
llvm::Expected<SmallVector<Value>> Importer::runGraph(const Node &node, const Graph &inner, llvm::ArrayRef<Value> takes) {
  if (inner.takes.size() != takes.size())
    return userError("{0}a graph takes {1} values and is given {2}", placeOf(file, node), inner.takes.size(), takes.size());
  const Graph *outer = std::exchange(graph, &inner);
  Values outerValues = std::exchange(values, Values());
  std::set<std::string> outerRead = std::exchange(read, readTensors(inner)), outerGiven = std::exchange(given, {}),
                        outerMisdescribed = std::exchange(misdescribed, {});
  auto restore = llvm::make_scope_exit([&] {
    graph = outer;
    values = std::move(outerValues);
    read = std::move(outerRead);
    given = std::move(outerGiven);
    misdescribed = std::move(outerMisdescribed);
  });
  for (auto [argument, v] : llvm::zip(inner.takes, takes)) {
    if (argument.kind != Argument::Kind::Tensor)
      return lathe::unsupported("{0}a graph takes {1}", placeOf(file, node), describe(argument));
    values.define(argument.tensors[0], v);
    given.insert(argument.tensors[0]);
  }
  for (const Node &n : inner.nodes)
    if (llvm::Error e = addNode(n))
      return std::move(e);
  SmallVector<Value> results;
  for (const Argument &argument : inner.gives) {
    if (argument.kind != Argument::Kind::Tensor || !values.has(argument.tensors[0]))
      return lathe::unsupported("{0}a graph gives {1}, which this version does not compute", placeOf(file, node), describe(argument));
    if (llvm::Error e = values.refresh(argument.tensors[0]))
      return std::move(e);
    results.push_back(values.current().at(argument.tensors[0]));
  }
  return results;
}

llvm::Expected<Value> Importer::loopCondition(const Node &node, const Graph &inner, llvm::ArrayRef<Value> takes) {
  LATHE_TRY(results, runGraph(node, inner, takes));
  if (results.size() != 1 || !ir::elementOf(results[0]).isInteger(1) || !g.facts.provablyEqual(shape::product(ir::dimsOf(results[0])), Expr(1)))
    return userError("{0}its condition is no boolean", placeOf(file, node));
  return g.reshape(results[0], {});
}

/// The tensors of an argument that is a list of them.
llvm::Expected<SmallVector<Value>> Importer::listOf(const Node &node, size_t i) {
  SmallVector<Value> list;
  const Argument &given = node.inputs[i].value;
  if (given.kind != Argument::Kind::Tensors && !(given.kind == Argument::Kind::Ints && given.ints.empty()))
    return lathe::unsupported("{0}a loop over {1}", placeOf(file, node), describe(given));
  for (const std::string &name : given.tensors) {
    if (!values.has(name))
      return userError("{0}'{1}' is given by no node", placeOf(file, node), name);
    list.push_back(values.current().at(name));
  }
  return list;
}

/// Loops in the bodies of others may have their nodes' names.
std::string Importer::counterName(const Node &node) {
  std::string name = node.name + ".iteration", free = name;
  for (int i = 1; !counterNames.insert(free).second; ++i)
    free = name + std::to_string(i);
  return free;
}

static const Graph *graphAt(const Node &node, size_t i) { return i < node.inputs.size() ? node.inputs[i].value.graph.get() : nullptr; }

static SmallVector<Value> joined(llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b) {
  SmallVector<Value> both(a.begin(), a.end());
  both.append(b.begin(), b.end());
  return both;
}

/// What is carried keeps its type.
llvm::Error Importer::keepTypes(const Node &node, llvm::MutableArrayRef<Value> next, llvm::ArrayRef<Value> carried) {
  for (auto [v, was] : llvm::zip(next, carried)) {
    if (ir::typeOf(v).getRank() == ir::typeOf(was).getRank() && ir::elementOf(v) == ir::elementOf(was) &&
        llvm::all_of(llvm::zip(ir::dimsOf(v), ir::dimsOf(was)), [&](auto p) { return g.facts.provablyEqual(std::get<0>(p), std::get<1>(p)); }))
      v = g.reshape(v, ir::dimsOf(was));
    else
      return lathe::unsupported("{0}a carried value is {1} and becomes {2}", placeOf(file, node), was.getType(), v.getType());
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// while_loop
//===----------------------------------------------------------------------===//

llvm::Error Importer::whileLoop(const Node &node) {
  const Graph *condition = graphAt(node, 0), *body = graphAt(node, 1);
  if (!condition || !body || node.inputs.size() != 4)
    return userError("{0}a loop has a condition, a body, what it carries and what it reads", placeOf(file, node));
  if (llvm::Error e = refreshOperands(node))
    return e;
  LATHE_TRY(carried, listOf(node, 2));
  LATHE_TRY(others, listOf(node, 3));
  SmallVector<Value> inside;
  mlir::Location loc = g.loc = ir::nodeLocation(builder.getContext(), node.name, node.target);
  LATHE_TRY(first, loopCondition(node, *condition, joined(carried, others)));
  auto before = builder.saveInsertionPoint();
  auto restore = llvm::make_scope_exit([&] { builder.restoreInsertionPoint(before); });
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<mlir::func::FuncOp>(loc, "body" + std::to_string(counters.size()), builder.getFunctionType({}, {}));
  auto leave = llvm::make_scope_exit([&] { symbols.leave(); });
  if (llvm::Error e = symbols.enter(*body, {}, function.getName(), file))
    return e;
  counters.push_back(Expr::size(counterName(node)).str());
  std::string counter = counters.back();
  mlir::Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  SmallVector<Value> arguments, captured;
  for (Value v : carried)
    arguments.push_back(block->addArgument(v.getType(), loc));
  for (Value v : others) // constants are cloned, so that weights are packed as anywhere
    if (auto constant = v.getDefiningOp<ir::ConstantOp>()) {
      inside.push_back(builder.clone(*constant)->getResult(0));
    } else {
      captured.push_back(v);
      inside.push_back(block->addArgument(v.getType(), loc));
    }
  LATHE_TRY(next, runGraph(node, *body, inCanonicalSizes(joined(arguments, inside))));
  if (next.size() != carried.size())
    return userError("{0}its body gives {1} values and carries {2}", placeOf(file, node), next.size(), carried.size());
  if (llvm::Error e = keepTypes(node, next, carried))
    return e;
  LATHE_TRY(again, loopCondition(node, *condition, joined(next, inside)));
  SmallVector<Value> gives = joined({again}, next);
  builder.create<mlir::func::ReturnOp>(loc, gives);
  function.setType(builder.getFunctionType(block->getArgumentTypes(), mlir::ValueRange(gives).getTypes()));
  builder.restoreInsertionPoint(before);
  mlir::ArrayAttr none = builder.getArrayAttr({});
  auto loop = builder.create<ir::LoopOp>(loc, mlir::ValueRange(carried).getTypes(), first, carried, captured, function.getName(), "",
                                         /*conditional=*/true, counter, "", none, none, none, none);
  std::vector<std::string> names = resultNames(node);
  for (size_t i = 0; i < names.size() && i < carried.size(); ++i)
    if (!names[i].empty())
      values.define(names[i], loop.getResult(i));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// map, scan, associative_scan
//===----------------------------------------------------------------------===//

/// map(f, xs, others), scan(f, carried, xs, others), associative_scan(f, xs, others).
struct Importer::Scan {
  bool carries, isAssociative;
  SmallVector<Value> carried, xs, others;
  Expr length = Expr(0);
};

llvm::Expected<Importer::Scan> Importer::readScan(const Node &node) {
  Scan scan{node.target == "higher_order.scan", node.target == "higher_order.associative_scan", {}, {}, {}};
  size_t xsAt = scan.carries ? 2 : 1;
  if (!graphAt(node, 0) || node.inputs.size() < xsAt + 1 || node.inputs.size() > xsAt + 2)
    return userError("{0}it has a body, what it carries, what it goes over and what it reads", placeOf(file, node));
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    LATHE_TRY(list, listOf(node, i));
    (i < xsAt ? scan.carried : i == xsAt ? scan.xs : scan.others) = list;
  }
  if (scan.xs.empty())
    return lathe::unsupported("{0}it goes over nothing", placeOf(file, node));
  for (Value x : scan.xs)
    if (ir::typeOf(x).getRank() == 0)
      return userError("{0}it goes over a tensor without dimensions", placeOf(file, node));
  scan.length = ir::dimsOf(scan.xs[0])[0];
  return scan;
}

/// The element `at` of each along their first dimension.
static SmallVector<Value> elementsAt(ir::GraphBuilder &g, llvm::ArrayRef<Value> xs, const Expr &at) {
  SmallVector<Value> elements;
  for (Value x : xs)
    elements.push_back(g.squeeze(g.slice(x, 0, at, Expr(1)), {0}));
  return elements;
}

/// What a step carries on, then what is collected.
llvm::Expected<SmallVector<Value>> Importer::scanStep(const Node &node, const Scan &scan, llvm::ArrayRef<Value> carried,
                                                      llvm::ArrayRef<Value> elements, llvm::ArrayRef<Value> others) {
  auto function = llvm::cast<mlir::func::FuncOp>(builder.getInsertionBlock()->getParentOp());
  auto leave = llvm::make_scope_exit([&] { symbols.leave(); });
  if (llvm::Error e = symbols.enter(*graphAt(node, 0), {}, function.getName(), file))
    return std::move(e);
  LATHE_TRY(gives, runGraph(node, *graphAt(node, 0), inCanonicalSizes(joined(joined(carried, elements), others))));
  if (gives.size() < carried.size())
    return userError("{0}its body gives {1} values and carries {2}", placeOf(file, node), gives.size(), carried.size());
  if (llvm::Error e = keepTypes(node, llvm::MutableArrayRef<Value>(gives).take_front(carried.size()), carried))
    return std::move(e);
  return scan.isAssociative ? joined(gives, gives) : gives;
}

/// The loop's results. Of associative_scan the first elements are the first results, and what is carried into the loop over the others.
llvm::Expected<SmallVector<Value>> Importer::buildScan(const Node &node, Scan scan) {
  if (scan.isAssociative)
    scan.carried = elementsAt(g, scan.xs, Expr(0));
  ir::CountedLoop loop;
  loop.name = counterName(node);
  loop.steps = scan.isAssociative ? g.facts.simplify(scan.length - Expr(1)) : scan.length;
  loop.carried = scan.carried;
  loop.captured = joined(scan.xs, scan.others);
  std::optional<llvm::Error> failed;
  loop.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value> inside, const Expr &step) {
    SmallVector<Value> elements = elementsAt(g, inside.take_front(scan.xs.size()), scan.isAssociative ? step + Expr(1) : step);
    auto gives = scanStep(node, scan, carried, elements, inside.drop_front(scan.xs.size()));
    if (gives)
      return *gives;
    failed.emplace(gives.takeError());
    return SmallVector<Value>(carried.begin(), carried.end());
  };
  SmallVector<Value> results = ir::buildLoop(g, loop);
  if (failed)
    return std::move(*failed);
  if (!scan.isAssociative)
    return results;
  results.erase(results.begin(), results.begin() + scan.carried.size());
  for (auto [result, first] : llvm::zip(results, scan.carried))
    result = g.concat({g.unsqueeze(first, {0}), result}, 0);
  return results;
}

llvm::Error Importer::scanLoop(const Node &node) {
  if (llvm::Error e = refreshOperands(node))
    return e;
  LATHE_TRY(scan, readScan(node));
  OpContext c = contextOf(node);
  g.loc = ir::nodeLocation(builder.getContext(), node.name, node.target);
  if (llvm::Error e = readResultTypes(c, /*inPlace=*/false))
    return e;
  for (Value x : scan.xs)
    if (llvm::Error e = c.needEqual(scan.length, ir::dimsOf(x)[0]))
      return e;
  if (scan.isAssociative)
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(1), scan.length)))
      return e;
  LATHE_TRY(results, buildScan(node, scan));
  c.results = results;
  return giveResults(c, OpEntry{"scan", nullptr, nullptr}, /*inPlace=*/false);
}

//===----------------------------------------------------------------------===//
// cond
//===----------------------------------------------------------------------===//

/// What holds where the branch runs: the condition, where that is one of sizes, and what earlier attempts found that its nodes need.
std::vector<Statement> Importer::statedOfBranch(const Node &node, bool isElse) const {
  std::vector<Statement> stated;
  std::string place = placeOf(file, node);
  if (auto known = graph->conditions.find(node.inputs[0].value.symbol); known != graph->conditions.end() && known->second.condition) {
    Condition holds = isElse ? Condition::negation(*known->second.condition) : *known->second.condition;
    stated.push_back({holds, place + "its condition"});
  }
  llvm::copy_if(needs.stated, std::back_inserter(stated), [&](const Statement &s) { return s.place == late.branch; });
  return stated;
}

/// A body may know more of the sizes of what it takes than is known outside.
SmallVector<Value> Importer::inCanonicalSizes(llvm::ArrayRef<Value> list) {
  SmallVector<Value> result;
  for (Value v : list) {
    Dims dims = ir::dimsOf(v);
    for (Expr &e : dims)
      e = g.facts.simplify(e);
    result.push_back(g.reshape(v, dims));
  }
  return result;
}

/// Sizes of a cond's results that the branch which runs decides, as symbols of their own.
static std::vector<std::string> decidedSizes(const OpContext &c) {
  std::vector<std::string> symbols;
  for (mlir::RankedTensorType type : c.resultTypes)
    for (const Expr &size : ir::dimsOf(type))
      if (auto symbol = size.asSymbol(); symbol && c.late->isLate(*symbol) && !c.late->bound.count(*symbol) && !llvm::is_contained(symbols, *symbol))
        symbols.push_back(*symbol);
  return symbols;
}

/// The type of a branch's result: as the file says, with the branch's own values of the sizes that it decides.
static mlir::RankedTensorType typeInBranch(mlir::RankedTensorType told, Value v, llvm::ArrayRef<std::string> symbols, Dims &decided) {
  Dims dims = ir::dimsOf(told), own = ir::dimsOf(v);
  for (size_t d = 0; d < dims.size() && d < own.size(); ++d)
    for (auto [symbol, value] : llvm::zip(symbols, decided))
      if (dims[d].asSymbol() == std::optional(symbol)) {
        if (value.isUnknown())
          value = own[d];
        dims[d] = value;
      }
  return ir::tensorType(dims, told.getElementType());
}

/// One of the branches, whose results have the types that the file says. Both take what is no constant.
llvm::Expected<mlir::func::FuncOp> Importer::branchFunction(OpContext &c, const Graph &inner, llvm::ArrayRef<Value> operands, bool isElse,
                                                            Dims &decided) {
  mlir::Location loc = g.loc;
  auto before = builder.saveInsertionPoint();
  std::string outer = late.branch;
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<mlir::func::FuncOp>(loc, "branch" + std::to_string(branchCount++), builder.getFunctionType({}, {}));
  late.branch += "/" + c.node.name + (isElse ? ".else" : ".then");
  auto restore = llvm::make_scope_exit([&] {
    builder.restoreInsertionPoint(before);
    symbols.leave();
    late.branch = outer;
  });
  if (llvm::Error e = symbols.enter(inner, statedOfBranch(c.node, isElse), function.getName(), file))
    return std::move(e);
  mlir::Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  SmallVector<Value> inside;
  for (Value v : operands)
    if (auto constant = v.getDefiningOp<ir::ConstantOp>())
      inside.push_back(builder.clone(*constant)->getResult(0));
    else
      inside.push_back(block->addArgument(v.getType(), loc));
  LATHE_TRY(results, runGraph(c.node, inner, inCanonicalSizes(inside)));
  if (results.size() < c.resultTypes.size())
    return userError("{0}a branch gives {1} values, the node {2}", placeOf(file, c.node), results.size(), c.resultTypes.size());
  results.resize(c.resultTypes.size());
  std::vector<std::string> symbols = decidedSizes(c);
  decided.assign(symbols.size(), Expr::unknown());
  for (auto [i, v] : llvm::enumerate(results)) {
    LATHE_TRY(told, conform(c, v, typeInBranch(c.resultTypes[i], v, symbols, decided), i));
    v = told;
  }
  builder.create<mlir::func::ReturnOp>(loc, results);
  function.setType(builder.getFunctionType(block->getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  return function;
}

llvm::Error Importer::branches(const Node &node) {
  const Graph *then = graphAt(node, 1), *otherwise = graphAt(node, 2);
  if (!then || !otherwise || node.inputs.size() != 4 || node.inputs[0].value.kind != Argument::Kind::Tensor)
    return lathe::unsupported("{0}a branch on {1}", placeOf(file, node), node.inputs.empty() ? "nothing" : describe(node.inputs[0].value));
  if (llvm::Error e = refreshOperands(node))
    return e;
  LATHE_TRY(operands, listOf(node, 3));
  OpContext c = contextOf(node);
  g.loc = ir::nodeLocation(builder.getContext(), node.name, node.target);
  if (llvm::Error e = readResultTypes(c, /*inPlace=*/false))
    return e;
  Value condition = values.current().at(node.inputs[0].value.tensors[0]);
  if (!ir::elementOf(condition).isInteger(1) || !g.facts.provablyEqual(shape::product(ir::dimsOf(condition)), Expr(1)))
    return userError("{0}its condition is no boolean", placeOf(file, node));
  Dims thenSizes, elseSizes;
  LATHE_TRY(first, branchFunction(c, *then, operands, /*isElse=*/false, thenSizes));
  LATHE_TRY(second, branchFunction(c, *otherwise, operands, /*isElse=*/true, elseSizes));
  SmallVector<Value> passed;
  llvm::copy_if(operands, std::back_inserter(passed), [](Value v) { return !v.getDefiningOp<ir::ConstantOp>(); });
  g.loc = ir::nodeLocation(builder.getContext(), node.name, node.target);
  SmallVector<mlir::Attribute> symbols;
  for (const std::string &symbol : decidedSizes(c)) {
    symbols.push_back(builder.getStringAttr(symbol));
    late.bind(symbol, builder);
  }
  SmallVector<Type> types(c.resultTypes.begin(), c.resultTypes.end());
  auto op = builder.create<ir::IfOp>(g.loc, types, g.reshape(condition, {}), passed, first.getName(), second.getName(),
                                     builder.getArrayAttr(symbols), ir::exprArray(builder, thenSizes), ir::exprArray(builder, elseSizes));
  c.results.append(op.getResults().begin(), op.getResults().end());
  return giveResults(c, OpEntry{"cond", nullptr, nullptr}, /*inPlace=*/false);
}
