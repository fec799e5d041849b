//===- ImportLoops.cpp - while_loop -----------------------------------------===//
//
// The loop's graphs become a function of the host program (docs/Rationale/HostProgram.md): it takes what is carried and what is read
// from outside, and gives whether to go on and what is carried next.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
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

llvm::Error Importer::whileLoop(const Node &node) {
  auto graphOf = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i].value.graph.get() : nullptr; };
  const Graph *condition = graphOf(0), *body = graphOf(1);
  if (!condition || !body || node.inputs.size() != 4)
    return userError("{0}a loop has a condition, a body, what it carries and what it reads", placeOf(file, node));
  if (llvm::Error e = refreshOperands(node))
    return e;
  SmallVector<Value> carried, others, inside;
  for (size_t i : {2, 3}) {
    const Argument &list = node.inputs[i].value;
    if (list.kind != Argument::Kind::Tensors && !(list.kind == Argument::Kind::Ints && list.ints.empty()))
      return lathe::unsupported("{0}a loop over {1}", placeOf(file, node), describe(list));
    for (const std::string &name : list.tensors) {
      if (!values.has(name))
        return userError("{0}'{1}' is given by no node", placeOf(file, node), name);
      (i == 2 ? carried : others).push_back(values.current().at(name));
    }
  }
  mlir::Location loc = g.loc = ir::nodeLocation(builder.getContext(), node.name, node.target);
  size_t bound = late.bound.size() + late.again.size();
  auto all = [](llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b) {
    SmallVector<Value> both(a.begin(), a.end());
    both.append(b.begin(), b.end());
    return both;
  };
  LATHE_TRY(first, loopCondition(node, *condition, all(carried, others)));
  auto before = builder.saveInsertionPoint();
  auto restore = llvm::make_scope_exit([&] { builder.restoreInsertionPoint(before); });
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<mlir::func::FuncOp>(loc, "body" + std::to_string(counters.size()), builder.getFunctionType({}, {}));
  counters.push_back(Expr::size(node.name + ".iteration").str());
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
  LATHE_TRY(next, runGraph(node, *body, all(arguments, inside)));
  if (next.size() != carried.size())
    return userError("{0}its body gives {1} values and carries {2}", placeOf(file, node), next.size(), carried.size());
  for (auto [v, was] : llvm::zip(next, carried)) {
    if (ir::typeOf(v).getRank() == ir::typeOf(was).getRank() && ir::elementOf(v) == ir::elementOf(was) &&
        llvm::all_of(llvm::zip(ir::dimsOf(v), ir::dimsOf(was)), [&](auto p) { return g.facts.provablyEqual(std::get<0>(p), std::get<1>(p)); }))
      v = g.reshape(v, ir::dimsOf(was));
    else
      return lathe::unsupported("{0}a carried value is {1} and becomes {2}", placeOf(file, node), was.getType(), v.getType());
  }
  LATHE_TRY(again, loopCondition(node, *condition, all(next, inside)));
  if (late.bound.size() + late.again.size() != bound)
    return lathe::unsupported("{0}sizes that depend on data in a loop", placeOf(file, node));
  SmallVector<Value> gives = all({again}, next);
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
