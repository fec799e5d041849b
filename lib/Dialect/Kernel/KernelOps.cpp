//===- KernelOps.cpp - Syntax and verifiers of the kernel ops --------------===//

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Kernel/Transform.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::kernel;
using shape::Expr;

Expr GenericOp::getAxisExtent(unsigned i) { return Expr::parsed(cast<StringAttr>(getAxisExtents()[i]).getValue()); }

std::optional<Expr> GenericOp::getExtent(StringRef axis) {
  for (unsigned i = 0; i < getNumAxes(); ++i)
    if (getAxisName(i) == axis)
      return getAxisExtent(i);
  return std::nullopt;
}

Expr LoadOp::getOffsetExpr() { return Expr::parsed(getOffset()); }
Expr StoreOp::getOffsetExpr() { return Expr::parsed(getOffset()); }
Expr IndexOp::getIndexExpr() { return Expr::parsed(getExpr()); }
Expr ContractOp::getLhsExpr() { return Expr::parsed(getLhsOffset()); }
Expr ContractOp::getRhsExpr() { return Expr::parsed(getRhsOffset()); }

/// Every expression text of one op of a body.
static SmallVector<StringRef> textsOf(Operation *op) {
  if (auto o = dyn_cast<LoadOp>(op))
    return {o.getOffset()};
  if (auto o = dyn_cast<StoreOp>(op))
    return {o.getOffset()};
  if (auto o = dyn_cast<IndexOp>(op))
    return {o.getExpr()};
  if (auto o = dyn_cast<ContractOp>(op))
    return {o.getLhsOffset(), o.getRhsOffset()};
  if (auto o = dyn_cast<AttentionOp>(op))
    return {o.getQOffset(), o.getKOffset(), o.getVOffset()};
  return {};
}

bool GenericOp::isConstant(BlockArgument ref) {
  unsigned number = ref.getArgNumber();
  Operation *source = number < getInputs().size() ? getInputs()[number].getDefiningOp() : nullptr;
  return source && source->hasTrait<OpTrait::ConstantLike>();
}

std::vector<std::string> GenericOp::getSizeSymbols() {
  std::set<std::string> names;
  for (unsigned i = 0; i < getNumAxes(); ++i)
    for (const std::string &s : getAxisExtent(i).symbols())
      names.insert(s);
  getBody().walk([&](Operation *op) {
    for (StringRef text : textsOf(op))
      for (const std::string &s : Expr::parsed(text).symbols())
        names.insert(s);
  });
  std::vector<std::string> sizes;
  for (const std::string &s : names)
    if (shape::kindOf(s) != shape::SymbolKind::Indirect && !getExtent(s))
      sizes.push_back(s);
  return sizes;
}

//===----------------------------------------------------------------------===//
// kernel.generic: syntax
//===----------------------------------------------------------------------===//

void GenericOp::print(OpAsmPrinter &p) {
  p << ' ' << stringifyKernelClass(getKernelClass()) << " @";
  p.printKeywordOrString(getName());
  p << " axes(";
  for (unsigned i = 0; i < getNumAxes(); ++i) {
    p << (i ? ", " : "");
    p.printKeywordOrString(getAxisName(i));
    p << " = " << getAxisExtents()[i];
  }
  p << ")";
  if (!getInputs().empty())
    p << " ins(" << getInputs() << " : " << getInputs().getTypes() << ")";
  p << " outs(" << getOutputs().getTypes() << ")";
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"kernelClass", "name", "axisNames", "axisExtents"});
  p << ' ';
  p.printRegion(getBody());
}

ParseResult GenericOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &b = parser.getBuilder();
  std::string cls, name, axis;
  SmallVector<Attribute> axisNames, axisExtents;
  auto loc = parser.getCurrentLocation();
  if (parser.parseKeywordOrString(&cls))
    return failure();
  std::optional<KernelClass> kind = symbolizeKernelClass(cls);
  if (!kind)
    return parser.emitError(loc, "unknown kernel class '") << cls << "'";
  StringAttr symbol;
  if (parser.parseSymbolName(symbol))
    return failure();
  auto parseAxis = [&]() -> ParseResult {
    StringAttr extent;
    if (parser.parseKeywordOrString(&axis) || parser.parseEqual() || parser.parseAttribute(extent))
      return failure();
    axisNames.push_back(b.getStringAttr(axis));
    axisExtents.push_back(extent);
    return success();
  };
  if (parser.parseKeyword("axes") || parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseAxis))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> operandTypes, resultTypes;
  auto operandLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("ins"))) {
    if (parser.parseLParen() || parser.parseOperandList(operands) || parser.parseColonTypeList(operandTypes) ||
        parser.parseRParen() || parser.resolveOperands(operands, operandTypes, operandLoc, result.operands))
      return failure();
  }
  if (parser.parseKeyword("outs") || parser.parseLParen())
    return failure();
  if (failed(parser.parseOptionalRParen()) && (parser.parseTypeList(resultTypes) || parser.parseRParen()))
    return failure();
  result.addTypes(resultTypes);
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*result.addRegion()))
    return failure();
  result.addAttribute("kernelClass", KernelClassAttr::get(parser.getContext(), *kind));
  result.addAttribute("name", symbol);
  result.addAttribute("axisNames", b.getArrayAttr(axisNames));
  result.addAttribute("axisExtents", b.getArrayAttr(axisExtents));
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// The element type inside a kernel: signless, and codes of floats of 8 bits.
static Type signless(Type t) {
  if (auto i = dyn_cast<IntegerType>(t))
    return IntegerType::get(t.getContext(), i.getWidth());
  if (isa<IndexType>(t))
    return IntegerType::get(t.getContext(), 64);
  return isa<Float8E4M3FNType, Float8E5M2Type>(t) ? IntegerType::get(t.getContext(), 8) : t;
}

static LogicalResult verifyArguments(GenericOp op) {
  Block &body = op.getBody().front();
  if (body.getNumArguments() != op.getInputs().size() + op.getOutputs().size())
    return op.emitOpError("K1: expects one block argument per operand and result, has ") << body.getNumArguments();
  auto check = [&](Type tensor, BlockArgument arg) {
    auto ref = dyn_cast<RefType>(arg.getType());
    return ref && ref.getElementType() == signless(cast<RankedTensorType>(tensor).getElementType());
  };
  for (auto [i, t] : llvm::enumerate(op.getInputs().getTypes()))
    if (!check(t, op.getInputRef(i)))
      return op.emitOpError("K1: block argument ") << i << " does not match operand type " << t;
  for (auto [i, t] : llvm::enumerate(op.getOutputs().getTypes()))
    if (!check(t, op.getOutputRef(i)))
      return op.emitOpError("K1: block argument of result ") << i << " does not match result type " << t;
  return success();
}

static LogicalResult verifyAxes(GenericOp op) {
  std::set<std::string> names;
  if (op.getAxisNames().size() != op.getAxisExtents().size())
    return op.emitOpError("K2: one extent per axis expected");
  for (unsigned i = 0; i < op.getNumAxes(); ++i) {
    llvm::Expected<Expr> e = Expr::parse(cast<StringAttr>(op.getAxisExtents()[i]).getValue());
    if (!e)
      return op.emitOpError("K2: extent of axis '") << op.getAxisName(i) << "': " << llvm::toString(e.takeError());
    StringRef name = op.getAxisName(i);
    bool identifier = shape::isSymbolText(name) && (shape::kindOf(name) == shape::SymbolKind::Axis ||
                                                    (shape::kindOf(name) == shape::SymbolKind::Size && shape::nameOf(name) == name));
    if (!identifier)
      return op.emitOpError("K2: axis '") << name << "' is no identifier";
    if (!names.insert(name.str()).second)
      return op.emitOpError("K2: axis '") << op.getAxisName(i) << "' occurs twice";
  }
  for (unsigned i = 0; i < op.getNumAxes(); ++i)
    for (const std::string &s : op.getAxisExtent(i).symbols())
      if (names.count(s))
        return op.emitOpError("K2: extent of axis '") << op.getAxisName(i) << "' mentions axis '" << s << "'";
  return success();
}

static LogicalResult verifyClass(GenericOp op) {
  unsigned contracts = 0, attentions = 0, reduces = 0, scans = 0, sorts = 0, transforms = 0, covers = 0, indirect = 0, combining = 0;
  llvm::SmallPtrSet<Value, 8> stored;
  op.getBody().walk([&](Operation *o) {
    contracts += isa<ContractOp>(o);
    attentions += isa<AttentionOp>(o);
    reduces += isa<ReduceOp>(o);
    scans += isa<ScanOp>(o);
    sorts += isa<SortOp>(o);
    transforms += isa<FftOp>(o);
    if (auto s = dyn_cast<StoreOp>(o)) {
      stored.insert(s.getRef());
      (s.getIndices().empty() ? covers : indirect) += 1;
      combining += s.getCombiner().has_value();
    }
  });
  for (unsigned i = 0; i < op.getOutputs().size(); ++i)
    if (!stored.contains(op.getOutputRef(i)))
      return op.emitOpError("K4: result ") << i << " is never stored to";
  KernelClass c = op.getKernelClass();
  bool noReduce = c != KernelClass::Reduction && c != KernelClass::Contraction && c != KernelClass::Attention;
  if (contracts != (c == KernelClass::Contraction ? 1u : 0u) || attentions != (c == KernelClass::Attention ? 1u : 0u) ||
      scans != (c == KernelClass::Scan ? 1u : 0u) || sorts != (c == KernelClass::Sort ? 1u : 0u) ||
      transforms != (c == KernelClass::Transform ? 1u : 0u) ||
      (reduces && noReduce) || (combining && c != KernelClass::Scatter) ||
      (c == KernelClass::Scatter && (op.getOutputs().size() != 1 || covers != 1 || indirect != 1)))
    return op.emitOpError("K5: the body does not fit class '") << stringifyKernelClass(c) << "'";
  return success();
}

LogicalResult GenericOp::verify() {
  if (failed(verifyArguments(*this)) || failed(verifyAxes(*this)))
    return failure();
  return verifyClass(*this);
}

/// The sizes that the kernel's module declares, by ops of the other dialect, which this one does not know.
static llvm::StringSet<> declaredSizes(GenericOp kernel) {
  llvm::StringSet<> names;
  if (auto module = kernel->getParentOfType<ModuleOp>())
    for (Operation &op : *module.getBody())
      if (op.getName().getStringRef() == "lathe.symbol")
        if (auto name = op.getAttrOfType<StringAttr>("name"))
          names.insert(name.getValue());
  return names;
}

/// The parts of K2 and K3 that speak of the module's sizes.
LogicalResult GenericOp::verifySymbolUses(SymbolTableCollection &) {
  llvm::StringSet<> sizes = declaredSizes(*this);
  for (unsigned i = 0; i < getNumAxes(); ++i)
    if (sizes.contains(getAxisName(i)))
      return emitOpError("K2: '") << getAxisName(i) << "' is an axis and a size symbol";
  auto isSize = [&](StringRef name) {
    shape::SymbolKind kind = shape::kindOf(name);
    return (kind == shape::SymbolKind::Size || kind == shape::SymbolKind::Element) && (sizes.empty() || sizes.contains(name));
  };
  for (unsigned i = 0; i < getNumAxes(); ++i)
    for (const std::string &s : getAxisExtent(i).symbols())
      if (!isSize(s))
        return emitOpError("K2: extent of axis '") << getAxisName(i) << "' mentions '" << s << "', which is no size symbol";
  WalkResult r = getBody().walk([&](Operation *op) {
    for (StringRef text : textsOf(op))
      for (const std::string &s : Expr::parsed(text).symbols())
        if (!isSize(s) && !getExtent(s) && shape::kindOf(s) != shape::SymbolKind::Indirect) {
          op->emitOpError("K3: '") << s << "' is neither an axis nor a size symbol";
          return WalkResult::interrupt();
        }
    return WalkResult::advance();
  });
  return failure(r.wasInterrupted());
}

/// The op's expressions, and that their indirect indices are its own.
static LogicalResult verifyText(Operation *op, unsigned indirects = 0) {
  for (StringRef text : textsOf(op)) {
    llvm::Expected<Expr> e = Expr::parse(text);
    if (!e)
      return op->emitOpError("K3: '") << text << "': " << llvm::toString(e.takeError());
    for (const std::string &s : e->symbols()) {
      unsigned number;
      if (shape::kindOf(s) == shape::SymbolKind::Indirect && (StringRef(s).drop_front().getAsInteger(10, number) || number >= indirects))
        return op->emitOpError("K3: '") << s << "' is not one of its " << indirects << " indirect indices";
    }
  }
  return success();
}

LogicalResult LoadOp::verify() {
  if (getRef().getType().getElementType() != getResult().getType())
    return emitOpError("result type differs from the buffer's element type ") << getRef().getType().getElementType();
  if (getFill() && !getPredicate())
    return emitOpError("a fill value needs a predicate");
  return verifyText(*this, getIndices().size());
}

LogicalResult StoreOp::verify() {
  if (getRef().getType().getElementType() != getValue().getType())
    return emitOpError("value type differs from the buffer's element type ") << getRef().getType().getElementType();
  return verifyText(*this, getIndices().size());
}

LogicalResult IndexOp::verify() { return verifyText(*this, getIndices().size()); }
LogicalResult ContractOp::verify() { return verifyText(*this); }

/// `rule` names the constraint, where it has a number.
static LogicalResult verifyIsAxis(Operation *op, StringRef axis, StringRef rule = "") {
  auto kernel = dyn_cast_or_null<GenericOp>(op->getParentOp());
  return !kernel || kernel.getExtent(axis) ? success() : op->emitOpError(rule) << "'" << axis << "' is no axis of the kernel";
}

LogicalResult ScanOp::verify() {
  bool isFloat = isa<FloatType>(getValue().getType());
  if (getKind() == Combiner::LogAddExp && !isFloat)
    return emitOpError("logaddexp combines floats");
  if (getKind() == Combiner::And || getKind() == Combiner::Or || getKind() == Combiner::Xor)
    return emitOpError("'") << stringifyCombiner(getKind()) << "' is of reductions alone";
  return verifyIsAxis(*this, getAxis());
}

LogicalResult SortOp::verify() {
  for (StringRef axis : {getAxis(), getRankAxis()})
    if (failed(verifyIsAxis(*this, axis)))
      return failure();
  if (getAxis() == getRankAxis())
    return emitOpError("the order needs an axis of its own");
  return success();
}

/// F1, F3 and F4, which do not speak of the kernel.
static LogicalResult verifyTransform(FftOp op) {
  Type element = op.getType();
  if (!element.isF32() && !element.isF64())
    return op.emitOpError("F3: transforms f32 or f64, not ") << element;
  if (!isTransformLength(op.getKind(), op.getLength(), element))
    return op.emitOpError("F1: a transform of length ") << op.getLength() << " of " << element << " is no kernel";
  int64_t turns = op.getTurns().value_or(1);
  if (op.getTurnAxis().has_value() != op.getTurns().has_value() || turns < 1 || turns > INT32_MAX)
    return op.emitOpError("F4: what turns the result is an axis and how many points make a whole turn");
  if (op.getTurnAxis() && op.getKind() == TransformKind::C2R)
    return op.emitOpError("F4: real numbers are not turned");
  return success();
}

/// F2: the axes, and how many points they have.
static LogicalResult verifyTransformAxes(FftOp op, GenericOp kernel) {
  SmallVector<StringRef> names{op.getAxis(), op.getFrequencyAxis(), op.getParts()};
  if (op.getTurnAxis())
    names.push_back(*op.getTurnAxis());
  for (StringRef axis : names)
    if (failed(verifyIsAxis(op, axis, "F2: ")))
      return failure();
  if (std::set<StringRef>(names.begin(), names.end()).size() != names.size())
    return op.emitOpError("F2: an axis occurs twice");
  auto points = [&](StringRef axis) { return kernel.getExtent(axis)->constant().value_or(-1); };
  int64_t n = op.getLength(), given = op.getKind() == TransformKind::C2R ? n / 2 + 1 : n, wanted = points(op.getFrequencyAxis());
  if (points(op.getAxis()) != given || wanted < 1 || wanted > n || (op.getKind() == TransformKind::C2R && wanted != n) || points(op.getParts()) != 2)
    return op.emitOpError("F2: the axes do not have the points of a transform of length ") << n;
  int64_t most = op.getTurnAxis() ? points(*op.getTurnAxis()) : 1;
  if (most < 0 || most > INT32_MAX || (op.getTurns() && (wanted - 1) * (most - 1) >= int64_t(*op.getTurns())))
    return op.emitOpError("F4: a frequency times a point of '") << *op.getTurnAxis() << "' may be more than a whole turn";
  return success();
}

LogicalResult FftOp::verify() {
  if (failed(verifyTransform(*this)))
    return failure();
  auto kernel = dyn_cast_or_null<GenericOp>((*this)->getParentOp());
  return kernel ? verifyTransformAxes(*this, kernel) : success();
}

LogicalResult ReduceOp::verify() {
  if (getKind() == Combiner::LogAddExp)
    return emitOpError("logaddexp is of scans alone");
  for (StringRef axis : getAxes().getAsValueRange<StringAttr>())
    if (failed(verifyIsAxis(*this, axis, "K3: ")))
      return failure();
  return success();
}

LogicalResult AttentionOp::verify() {
  Block &b = getScore().front();
  if (b.getNumArguments() != 1 || b.empty() || !isa<YieldOp>(b.back()))
    return emitOpError("the score region takes one score and ends in kernel.yield");
  return verifyText(*this);
}

//===----------------------------------------------------------------------===//
// Axes of a value
//===----------------------------------------------------------------------===//

static void addAxes(StringRef text, GenericOp kernel, std::set<std::string> &axes) {
  for (const std::string &s : Expr::parsed(text).symbols())
    if (kernel.getExtent(s))
      axes.insert(s);
}

/// The axes of an op's result, from those of its operands.
static std::set<std::string> axesOf(Operation *op, GenericOp kernel, const ValueAxes &known) {
  std::set<std::string> mine;
  for (StringRef text : textsOf(op))
    addAxes(text, kernel, mine);
  for (Value o : op->getOperands())
    if (auto it = known.find(o); it != known.end())
      mine.insert(it->second.begin(), it->second.end());
  if (auto r = dyn_cast<ReduceOp>(op))
    for (Attribute a : r.getAxes())
      mine.erase(cast<StringAttr>(a).str());
  if (auto c = dyn_cast<ContractOp>(op))
    for (Attribute a : c.getAxes())
      mine.erase(cast<StringAttr>(a).str());
  if (auto s = dyn_cast<ScanOp>(op))
    mine.insert(s.getAxis().str());
  if (auto s = dyn_cast<SortOp>(op)) {
    mine.erase(s.getAxis().str());
    mine.insert(s.getRankAxis().str());
  }
  if (auto t = dyn_cast<FftOp>(op)) {
    mine.erase(t.getAxis().str());
    mine.erase(t.getParts().str());
    mine.insert(t.getFrequencyAxis().str());
    if (t.getKind() != TransformKind::C2R)
      mine.insert(t.getParts().str());
    if (t.getTurnAxis())
      mine.insert(t.getTurnAxis()->str());
  }
  if (auto a = dyn_cast<AttentionOp>(op)) {
    mine.erase(a.getKeyAxis().str());
    mine.erase(a.getDepthAxis().str());
  }
  return mine;
}

ValueAxes lathe::kernel::axesOfValues(GenericOp kernel) {
  ValueAxes axes;
  for (Operation &op : kernel.getBody().front())
    if (op.getNumResults() == 1)
      axes[op.getResult(0)] = ::axesOf(&op, kernel, axes);
  return axes;
}
