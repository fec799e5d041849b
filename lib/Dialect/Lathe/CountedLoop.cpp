//===- CountedLoop.cpp - Loops over a known number of steps -----------------===//

#include "lathe/Dialect/Lathe/CountedLoop.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using llvm::SmallVector;
using shape::Expr;

/// A name that no function of the module has.
static std::string freeName(ModuleOp module) {
  unsigned number = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.getName().starts_with("steps"))
      ++number;
  return "steps" + std::to_string(number);
}

SmallVector<Value> ir::buildLoop(GraphBuilder &g, const CountedLoop &loop) {
  auto module = g.b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string counter = Expr::size(loop.name).str();
  auto before = g.b.saveInsertionPoint();
  g.b.setInsertionPointToStart(module.getBody());
  g.b.create<SymbolOp>(g.loc, counter, 0, -1, llvm::ArrayRef<int64_t>(), StringAttr(), DenseI64ArrayAttr());
  g.b.setInsertionPointToEnd(module.getBody());
  auto function = g.b.create<func::FuncOp>(g.loc, freeName(module), g.b.getFunctionType({}, {}));
  Block *block = function.addEntryBlock();
  g.b.setInsertionPointToEnd(block);
  SmallVector<Value> arguments, inside, captured;
  for (Value v : loop.carried)
    arguments.push_back(block->addArgument(v.getType(), g.loc));
  for (Value v : loop.captured)
    if (!v) {
      inside.push_back({});
    } else if (auto constant = v.getDefiningOp<ConstantOp>()) { // so that weights are packed as anywhere
      inside.push_back(g.b.clone(*constant)->getResult(0));
    } else {
      captured.push_back(v);
      inside.push_back(block->addArgument(v.getType(), g.loc));
    }
  SmallVector<Value> results = loop.body(arguments, inside, Expr::symbol(counter));
  g.b.create<func::ReturnOp>(g.loc, results);
  function.setType(g.b.getFunctionType(block->getArgumentTypes(), ValueRange(results).getTypes()));
  g.b.restoreInsertionPoint(before);
  SmallVector<Type> types;
  for (auto [i, v] : llvm::enumerate(llvm::ArrayRef<Value>(results).drop_front(loop.condition ? 1 : 0))) {
    Dims dims = dimsOf(v);
    if (i >= loop.carried.size())
      dims.insert(dims.begin(), loop.steps);
    types.push_back(tensorType(dims, elementOf(v)));
  }
  ArrayAttr none = g.b.getArrayAttr({});
  auto op = g.b.create<LoopOp>(g.loc, types, loop.condition, loop.carried, captured, function.getName(), loop.steps.str(),
                               /*conditional=*/bool(loop.condition), counter, "", none, none, none, none);
  return SmallVector<Value>(op.getResults().begin(), op.getResults().end());
}
