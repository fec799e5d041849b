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
    add(loop.getFinals());
    if (!loop.getCount().empty())
      out.push_back(loop.getCount());
  }
  return out;
}

SmallVector<StringRef> ir::bodySymbols(LoopOp op) {
  SmallVector<StringRef> out{op.getCounter()};
  for (Attribute a : op.getSymbols())
    out.push_back(cast<StringAttr>(a).getValue());
  return out;
}

static void addSymbolsOf(ArrayRef<Expr> exprs, std::set<std::string> &symbols) {
  for (const Expr &e : exprs)
    for (const std::string &s : e.symbols())
      symbols.insert(s);
}

/// Those of a function's ops, of its arguments and of what is checked in it.
static void collectBodySymbols(func::FuncOp body, std::set<std::string> &symbols) {
  for (Type t : body.getArgumentTypes())
    addSymbolsOf(dimsOf(t), symbols);
  for (RelationOp r : body->getParentOfType<ModuleOp>().getOps<RelationOp>())
    if (r.getScope() == body.getName())
      addSymbolsOf(exprsOf(ArrayAttr::get(r.getContext(), {r.getLeftAttr(), r.getRightAttr()})), symbols);
  for (Operation &inner : body.getBody().front())
    collectSymbols(&inner, symbols);
}

void ir::collectSymbols(Operation *op, std::set<std::string> &symbols) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type t : types)
      if (auto tensor = dyn_cast<RankedTensorType>(t); tensor && tensor.getEncoding())
        addSymbolsOf(dimsOf(t), symbols);
  if (auto loop = dyn_cast<LoopOp>(op))
    addSymbolsOf({Expr::parsed(loop.getLimit())}, symbols);
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
        collectBodySymbols(body, symbols);
}

std::set<std::string> ir::lateSymbols(ModuleOp module) {
  std::set<std::string> late;
  module.walk([&](Operation *op) {
    if (isHostOp(op))
      for (StringRef s : definedSymbols(op))
        late.insert(s.str());
    if (auto loop = dyn_cast<LoopOp>(op))
      for (StringRef s : bodySymbols(loop))
        late.insert(s.str());
  });
  // What is computed from them is late, too.
  for (bool grows = !late.empty(); grows;) {
    grows = false;
    for (SymbolOp s : module.getOps<SymbolOp>()) {
      for (const std::string &name : Expr::parsed(s.getDefinition().value_or("0")).symbols())
        if (late.count(name) && late.insert(s.getName().str()).second)
          grows = true;
    }
  }
  return late;
}

//===----------------------------------------------------------------------===//
// What the ops claim
//===----------------------------------------------------------------------===//

LogicalResult ReadOp::verify() {
  auto t = typeOf(getX());
  if (!isa<IntegerType>(t.getElementType()) || t.getRank() > 1 || !t.hasStaticShape() ||
      t.getNumElements() != int64_t(getSymbols().size()))
    return emitOpError("expects integers of rank 0 or 1 and a symbol for each, not ") << t;
  return success();
}

static LogicalResult verifyExprs(Operation *op, ArrayAttr texts) {
  for (Attribute a : texts)
    if (auto e = Expr::parse(cast<StringAttr>(a).getValue()); !e)
      return op->emitOpError() << a << ": " << llvm::toString(e.takeError());
  return success();
}

/// The function that an op runs. It stands behind the one with the op, so that none runs itself.
static func::FuncOp bodyOf(Operation *op, FlatSymbolRefAttr ref) {
  auto function = op->getParentOfType<func::FuncOp>();
  for (Operation *next = function ? function->getNextNode() : nullptr; next; next = next->getNextNode())
    if (auto body = dyn_cast<func::FuncOp>(next); body && body.getName() == ref.getValue() && !body.isExternal())
      return body;
  op->emitOpError() << "expects " << ref << " to be a function with a body, behind the function that runs it";
  return {};
}

/// Types that agree in what is no size: sizes may be said in other words.
static bool areAlike(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getElementType() == y.getElementType() && x.getRank() == y.getRank();
}

static LogicalResult verifyAlike(Operation *op, TypeRange expected, TypeRange found, StringRef what) {
  if (expected.size() != found.size())
    return op->emitOpError() << "expects " << expected.size() << " " << what << ", not " << found.size();
  for (auto [i, a, b] : llvm::enumerate(expected, found))
    if (!isa<RankedTensorType>(b) || !areAlike(a, b))
      return op->emitOpError() << "expects " << what << " " << i << " to be like " << a << ", not " << b;
  return success();
}

static LogicalResult verifyCondition(Operation *op, Value v) {
  auto t = typeOf(v);
  if (!t.getElementType().isInteger(1) || !t.hasStaticShape() || t.getNumElements() != 1)
    return op->emitOpError("expects a condition of one i1, not ") << t;
  return success();
}

LogicalResult CallOp::verify() { return verifyExprs(*this, getSizes()); }

LogicalResult IfOp::verify() {
  if (failed(verifyCondition(*this, getCondition())))
    return failure();
  if (getSymbols().size() != getThenSizes().size() || getSymbols().size() != getElseSizes().size())
    return emitOpError("expects a size of either branch for each symbol");
  if (failed(verifyExprs(*this, getThenSizes())) || failed(verifyExprs(*this, getElseSizes())))
    return failure();
  for (FlatSymbolRefAttr ref : {getThenBodyAttr(), getElseBodyAttr()}) {
    func::FuncOp body = bodyOf(*this, ref);
    if (!body || failed(verifyAlike(*this, getPassed().getTypes(), body.getArgumentTypes(), "arguments of a branch")) ||
        failed(verifyAlike(*this, getResultTypes(), body.getResultTypes(), "results of a branch")))
      return failure();
  }
  return success();
}

LogicalResult LoopOp::verify() {
  if (getCondition() && failed(verifyCondition(*this, getCondition())))
    return failure();
  if (!getLimit().empty())
    if (auto e = Expr::parse(getLimit()); !e)
      return emitOpError() << "limit '" << getLimit() << "': " << llvm::toString(e.takeError());
  if (getLimit().empty() && !getConditional())
    return emitOpError("never ends: it has neither a limit nor a condition that can fail");
  for (ArrayAttr list : {getInitial(), getNext(), getFinals()})
    if (list.size() != getSymbols().size())
      return emitOpError("expects an initial, a next and a final size for each symbol");
  if (failed(verifyExprs(*this, getInitial())) || failed(verifyExprs(*this, getNext())))
    return failure();
  func::FuncOp body = bodyOf(*this, getBodyAttr());
  if (!body)
    return failure();
  SmallVector<Type> arguments(getCarried().getTypes()), results;
  llvm::append_range(arguments, getCaptured().getTypes());
  if (failed(verifyAlike(*this, arguments, body.getArgumentTypes(), "arguments of the body")))
    return failure();
  TypeRange all = body.getResultTypes();
  size_t first = getConditional() ? 1 : 0;
  if (all.size() != first + getNumResults() || getNumResults() < getCarried().size())
    return emitOpError() << "expects the body to have " << first + getNumResults() << " results, not " << all.size();
  for (auto [i, t] : llvm::enumerate(all.drop_front(first))) {
    auto inside = dyn_cast<RankedTensorType>(t), whole = typeOf(getResult(i));
    bool isCarried = i < getCarried().size();
    if (!inside || inside.getElementType() != whole.getElementType() || inside.getRank() + (isCarried ? 0 : 1) != whole.getRank())
      return emitOpError() << "gives result " << i << " as " << whole << " where the body gives " << t;
  }
  return success();
}
