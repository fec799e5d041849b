//===- HostOps.cpp - Ops that run between kernels --------------------------===//

#include "lathe/Dialect/Lathe/Lathe.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

bool ir::isHostOp(Operation *op) { return isa_and_nonnull<ReadOp, CallOp, IfOp, LoopOp>(op); }

SmallVector<StringRef> ir::definedSymbols(Operation *op) {
  SmallVector<StringRef> out;
  auto add = [&](ArrayAttr names) {
    for (Attribute a : names)
      out.push_back(cast<StringAttr>(a).getValue());
  };
  if (auto read = dyn_cast<ReadOp>(op))
    add(read.getSymbols());
  if (auto branch = dyn_cast<IfOp>(op))
    add(branch.getSymbols());
  if (auto loop = dyn_cast<LoopOp>(op)) {
    add(loop.getSymbols());
    out.push_back(loop.getCounter());
  }
  return out;
}

static void addSymbolsOf(ArrayRef<Expr> exprs, std::set<std::string> &symbols) {
  for (const Expr &e : exprs)
    for (const std::string &s : e.symbols())
      symbols.insert(s);
}

void ir::collectSymbols(Operation *op, std::set<std::string> &symbols) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type t : types)
      if (auto tensor = dyn_cast<RankedTensorType>(t); tensor && tensor.getEncoding())
        addSymbolsOf(dimsOf(t), symbols);
  if (auto loop = dyn_cast<LoopOp>(op))
    if (llvm::Expected<Expr> limit = Expr::parse(loop.getLimit()))
      addSymbolsOf({*limit}, symbols);
    else
      llvm::consumeError(limit.takeError());
  else if (auto call = dyn_cast<CallOp>(op))
    addSymbolsOf(exprsOf(call.getSizes()), symbols);
  else if (auto size = dyn_cast<SizeOp>(op))
    addSymbolsOf(exprsOf(size.getExprs()), symbols);
  else if (auto slice = dyn_cast<SliceOp>(op))
    addSymbolsOf(exprsOf(slice.getStarts()), symbols);
  else if (auto conv = dyn_cast<ConvOp>(op))
    addSymbolsOf(exprsOf(conv.getPads()), symbols);
  else if (auto pad = dyn_cast<PadOp>(op))
    for (ArrayAttr amounts : {pad.getLow(), pad.getHigh()})
      addSymbolsOf(exprsOf(amounts), symbols);
  if (auto loop = dyn_cast<LoopOp>(op))
    addSymbolsOf(exprsOf(loop.getInitial()), symbols);
  auto module = op->getParentOfType<ModuleOp>();
  for (NamedAttribute a : op->getAttrs())
    if (auto ref = dyn_cast<FlatSymbolRefAttr>(a.getValue()))
      if (auto body = module.lookupSymbol<func::FuncOp>(ref.getValue()))
        for (Operation &inner : body.getBody().front())
          collectSymbols(&inner, symbols);
}

std::set<std::string> ir::lateSymbols(ModuleOp module) {
  std::set<std::string> late;
  module.walk([&](Operation *op) {
    if (isHostOp(op))
      for (StringRef s : definedSymbols(op))
        late.insert(s.str());
  });
  // What is computed from them is late, too.
  for (bool grows = !late.empty(); grows;) {
    grows = false;
    for (SymbolOp s : module.getOps<SymbolOp>()) {
      llvm::Expected<Expr> e = Expr::parse(s.getDefinition().value_or("0"));
      if (!e) {
        llvm::consumeError(e.takeError());
        continue;
      }
      for (const std::string &name : e->symbols())
        if (late.count(name) && late.insert(s.getName().str()).second)
          grows = true;
    }
  }
  return late;
}
