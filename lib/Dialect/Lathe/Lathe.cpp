//===- Lathe.cpp - The model-level dialect ---------------------------------===//

#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Shape/Orders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

#include "lathe/Dialect/Lathe/LatheDialect.cpp.inc"
#include "lathe/Dialect/Lathe/LatheEnums.cpp.inc"
#include "lathe/Dialect/Lathe/LatheInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "lathe/Dialect/Lathe/LatheAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "lathe/Dialect/Lathe/LatheTypes.cpp.inc"

void LatheDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lathe/Dialect/Lathe/LatheAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "lathe/Dialect/Lathe/LatheTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lathe/Dialect/Lathe/LatheOps.cpp.inc"
      >();
}

Operation *LatheDialect::materializeConstant(OpBuilder &b, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return b.create<ConstantOp>(loc, elements);
}

/// The encoding of a tensor type: one parsable expression per dimension, constant exactly where the dimension is static.
LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type element,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  if (getExprs().size() != shape.size())
    return emitError() << "lathe.dims has " << getExprs().size() << " expressions for rank " << shape.size();
  for (auto [text, size] : llvm::zip(getExprs(), shape)) {
    llvm::Expected<Expr> e = Expr::parse(text.getValue());
    if (!e)
      return emitError() << "lathe.dims: " << text << ": " << llvm::toString(e.takeError());
    std::optional<int64_t> c = e->constant();
    if (ShapedType::isDynamic(size) ? c.has_value() : c != std::optional<int64_t>(size))
      return emitError() << "lathe.dims: " << text << " does not describe dimension size " << size;
  }
  return success();
}

Dims ir::dimsOf(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  Dims dims;
  if (auto encoding = dyn_cast_or_null<DimsAttr>(type.getEncoding())) {
    for (StringAttr text : encoding.getExprs())
      dims.push_back(Expr::parsed(text.getValue()));
    return dims;
  }
  for (int64_t size : type.getShape())
    dims.push_back(Expr(size));
  return dims;
}

RankedTensorType ir::tensorType(ArrayRef<Expr> dims, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> texts;
  bool dynamic = false;
  for (const Expr &e : dims) {
    std::optional<int64_t> c = e.constant();
    shape.push_back(c.value_or(ShapedType::kDynamic));
    texts.push_back(StringAttr::get(element.getContext(), e.str()));
    dynamic |= !c;
  }
  if (!dynamic)
    return RankedTensorType::get(shape, element);
  return RankedTensorType::get(shape, element, DimsAttr::get(element.getContext(), texts));
}

Type ir::signless(Type t) {
  if (auto i = dyn_cast<IntegerType>(t))
    return IntegerType::get(t.getContext(), i.getWidth());
  if (isa<IndexType>(t))
    return IntegerType::get(t.getContext(), 64);
  return isFloat8(t) ? IntegerType::get(t.getContext(), 8) : t;
}

ArrayAttr ir::exprArray(Builder &b, ArrayRef<Expr> exprs) {
  SmallVector<Attribute> texts;
  for (const Expr &e : exprs)
    texts.push_back(b.getStringAttr(e.str()));
  return b.getArrayAttr(texts);
}

Dims ir::exprsOf(ArrayAttr texts) {
  Dims dims;
  for (Attribute a : texts)
    dims.push_back(Expr::parsed(cast<StringAttr>(a).getValue()));
  return dims;
}

static void declare(SymbolOp s, shape::Facts &facts) {
  shape::Range range;
  if (int64_t(s.getMin()) != INT64_MIN)
    range.min = s.getMin();
  if (int64_t(s.getMax()) >= 0) // the attribute reads as unsigned
    range.max = s.getMax();
  facts.setRange(s.getName(), range);
}

/// A size that is computed when a call begins is written as what it is equal to, never the other way round: that may be a quotient of which more is known.
static void learnEqual(shape::Facts &facts, const Expr &left, const Expr &right, const std::set<std::string> &computed) {
  auto isQuotient = [&](const std::string &name) { return llvm::any_of(facts.derived(), [&](const auto &d) { return d.first == name; }); };
  for (const Expr &side : {left, right})
    if (std::optional<std::string> symbol = side.asSymbol(); symbol && computed.count(*symbol) && !isQuotient(*symbol))
      facts.setLate(*symbol);
  facts.addEquality(left, right);
}

/// The largest of several sizes, as a broadcast has it, is none smaller than any of them.
static void learnLargest(shape::Facts &facts, const Expr &size, const Expr &value) {
  std::vector<Expr::Term> terms = value.terms();
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].atoms.size() != 1 || terms[0].atoms[0].kind != shape::Atom::Kind::Max)
    return;
  for (const Expr &part : terms[0].atoms[0].operands)
    if (part.hasOpaque())
      learnLargest(facts, size, part);
    else
      facts.addLessEqual(part, size);
}

/// Symbols, of which `late` have their values while a model runs, and the relations that `holds` accepts.
static shape::Facts factsFrom(ModuleOp module, const std::set<std::string> &late, llvm::function_ref<bool(RelationOp, const Expr &, const Expr &)> holds) {
  shape::Facts facts;
  std::set<std::string> computed;
  for (SymbolOp s : module.getOps<SymbolOp>())
    if (!s.getDefinition())
      declare(s, facts);
    else
      computed.insert(s.getName().str());
  for (RelationOp r : module.getOps<RelationOp>()) {
    Expr left = Expr::parsed(r.getLeft()), right = Expr::parsed(r.getRight());
    if (!holds(r, left, right))
      continue;
    if (r.getKind() == "eq")
      learnEqual(facts, left, right, computed);
    else if (r.getKind() == "divides")
      facts.addDivides(left, right);
    else if (r.getKind() == "holds")
      shape::learnOrder(facts, left - right);
  }
  // Quotients have their names and ranges from the relations; what else is computed has the range that is written.
  for (SymbolOp s : module.getOps<SymbolOp>()) {
    if (!s.getDefinition())
      continue;
    if (int64_t(s.getMax()) >= 0 || int64_t(s.getMin()) > 0)
      declare(s, facts);
    if (!late.count(s.getName().str()))
      learnLargest(facts, Expr::symbol(s.getName()), Expr::parsed(*s.getDefinition()));
  }
  return facts;
}

shape::Facts ir::factsOf(ModuleOp module) {
  std::set<std::string> late = lateSymbols(module);
  auto isLate = [&](const Expr &e) {
    return llvm::any_of(e.symbols(), [&](const std::string &s) { return late.count(s) != 0; });
  };
  return factsFrom(module, late, [&](RelationOp r, const Expr &left, const Expr &right) {
    return !r.getScope() && !isLate(left) && !isLate(right);
  });
}

shape::Facts ir::factsWhileRunning(ModuleOp module, StringRef function) {
  auto holds = [&](RelationOp r) { return !r.getScope() || *r.getScope() == function; };
  shape::Facts facts = factsFrom(module, lateSymbols(module), [&](RelationOp r, const Expr &, const Expr &) { return holds(r); });
  module.walk([&](LoopOp loop) { // the number of an iteration is below their number
    if (loop.getBody() == function && !loop.getLimit().empty() && !loop.getCounter().empty())
      facts.setAxis(loop.getCounter(), Expr::parsed(loop.getLimit()));
  });
  for (RelationOp r : module.getOps<RelationOp>())
    if (holds(r) && r.getKind() == "le")
      facts.addLessEqual(Expr::parsed(r.getLeft()), Expr::parsed(r.getRight()));
  facts.restate();
  return facts;
}

TypedAttr ir::reduceIdentity(ReduceKind kind, Type element) {
  Type t = signless(element);
  if (auto f = dyn_cast<FloatType>(t)) {
    const llvm::fltSemantics &sem = f.getFloatSemantics();
    switch (kind) {
    case ReduceKind::Sum:
      return FloatAttr::get(t, 0.0);
    case ReduceKind::Prod:
      return FloatAttr::get(t, 1.0);
    case ReduceKind::Max:
      return FloatAttr::get(t, APFloat::getInf(sem, /*Negative=*/true));
    default:
      return FloatAttr::get(t, APFloat::getInf(sem));
    }
  }
  unsigned w = t.getIntOrFloatBitWidth();
  bool isUnsigned = w == 1 || element.isUnsignedInteger();
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Or:
    return IntegerAttr::get(t, APInt::getZero(w));
  case ReduceKind::Prod:
    return IntegerAttr::get(t, APInt(w, 1));
  case ReduceKind::And:
    return IntegerAttr::get(t, APInt::getAllOnes(w));
  case ReduceKind::Max:
    return IntegerAttr::get(t, isUnsigned ? APInt::getZero(w) : APInt::getSignedMinValue(w));
  case ReduceKind::Min:
    return IntegerAttr::get(t, isUnsigned ? APInt::getAllOnes(w) : APInt::getSignedMaxValue(w));
  }
  return {};
}
