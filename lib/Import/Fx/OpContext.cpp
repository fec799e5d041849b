//===- OpContext.cpp - What the translation of one node works with ----------===//

#include "OpContext.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

std::string fx::placeOf(StringRef file, const Node &node) {
  return (file + ": node '" + node.name + "' (" + node.target + ")" + (node.line.empty() ? "" : " at " + node.line) + ": ").str();
}

std::string OpContext::place() const { return placeOf(file, node); }

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Arguments that say where or how tensors are stored, which no result depends on.
static bool isIrrelevant(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "requires_grad", true)
      .Cases("generator", "cudnn_enable", "cudnn_enabled", "implicit", "stride_hint", true)
      .Default(false);
}

static StringRef baseKind(StringRef kind) { return kind.take_while([](char c) { return llvm::isAlpha(c); }); }

llvm::Error OpContext::bind(StringRef signature) {
  SmallVector<StringRef> fields;
  signature.split(fields, ' ', -1, /*KeepEmpty=*/false);
  std::vector<std::string> order;
  for (StringRef field : fields) {
    auto [name, rest] = field.split(':');
    auto [kind, defaultText] = rest.split('=');
    slots[name.str()] = {nullptr, defaultText.str(), kind.str()};
    order.push_back(name.str());
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    StringRef name = node.inputs[i].name;
    if (name.empty() && i < order.size())
      name = order[i];
    auto found = slots.find(name);
    if (found != slots.end())
      found->second.argument = &node.inputs[i].value;
    else if (!isIrrelevant(name))
      return cannot("argument '{0}' is not known to this version", name);
  }
  for (const auto &[name, slot] : slots)
    if (llvm::Error e = check(name, slot))
      return e;
  return llvm::Error::success();
}

llvm::Error OpContext::check(StringRef name, const Slot &slot) const {
  using Kind = Argument::Kind;
  StringRef kind = slot.kind, base = baseKind(kind);
  bool list = kind.contains('*'), optional = kind.contains('?');
  if (!slot.argument || slot.argument->kind == Kind::None) {
    if (optional || !slot.defaultText.empty() || (list && slot.argument))
      return llvm::Error::success();
    return wrong("argument '{0}' is missing", name);
  }
  const Argument &a = *slot.argument;
  auto in = [&](std::initializer_list<Kind> kinds) { return llvm::is_contained(kinds, a.kind); };
  bool fits = llvm::StringSwitch<bool>(base)
                  .Case("T", list ? in({Kind::Tensors}) : in({Kind::Tensor}))
                  .Case("TS", in({Kind::Tensor, Kind::Int, Kind::Float, Kind::Bool}))
                  .Case("S", in({Kind::Int, Kind::Float, Kind::Bool}))
                  .Case("TZ", in({Kind::Tensor, Kind::Int, Kind::Float, Kind::Complex, Kind::Bool}))
                  .Case("Z", in({Kind::Int, Kind::Float, Kind::Complex, Kind::Bool}))
                  .Cases("N", "I", list ? in({Kind::Int, Kind::Ints}) : in({Kind::Int}))
                  .Case("F", list ? in({Kind::Floats, Kind::Ints}) : in({Kind::Float, Kind::Int}))
                  .Case("B", list ? in({Kind::Bools}) : in({Kind::Bool, Kind::Int}))
                  .Case("D", in({Kind::DType}))
                  .Case("X", in({Kind::String}))
                  .Default(false);
  if (a.kind == Kind::Complex && (!fits || part == ComplexPart::None))
    return cannot("argument '{0}' is {1}, which this version cannot use", name, describe(a));
  if (!fits && a.kind == Kind::Tensor && (base == "S" || base == "Z" || base == "F"))
    return cannot("argument '{0}' is the number '{1}', which is known only while the program runs", name, a.tensors[0]);
  if (!fits && a.kind == Kind::Other)
    return cannot("argument '{0}' is given as {1}, which this version cannot use", name, a.text);
  if (!fits)
    return wrong("argument '{0}' has another kind than the operator takes", name);
  for (const std::string &tensor : a.tensors)
    if (!(tensor.empty() && optional && list) && !values.count(tensor))
      return wrong("argument '{0}' is '{1}', which no input or earlier node gives", name, tensor);
  for (const Size &s : a.ints) {
    if (!s.expr || s.expr->isUnknown())
      return cannot("argument '{0}' is the size {1}, which follows from no input's size", name, s.text);
    if (base != "N" && base != "S" && base != "TS" && base != "Z" && base != "TZ" && !s.expr->constant())
      return cannot("argument '{0}' is the size {1}; this version takes only a constant", name, s.expr->str());
  }
  return llvm::Error::success();
}

const OpContext::Slot &OpContext::slot(StringRef name) const {
  static const Slot none;
  auto found = slots.find(name);
  return found == slots.end() ? none : found->second;
}

bool OpContext::has(StringRef name) const {
  const Slot &s = slot(name);
  return s.argument ? s.argument->kind != Argument::Kind::None : false;
}

Value OpContext::tensor(StringRef name) const { return has(name) ? valueOf(slot(name).argument->tensors[0]) : Value(); }

const TensorMeta *OpContext::metaOf(StringRef name) const {
  if (!has(name) || !metas)
    return nullptr;
  auto found = metas->find(slot(name).argument->tensors[0]);
  return found == metas->end() ? nullptr : &found->second;
}

std::optional<Expr> OpContext::toldSize(size_t i, size_t axis) const {
  if (i >= node.outputs.size() || node.outputs[i].kind != Argument::Kind::Tensor || !metas || !late)
    return std::nullopt;
  auto found = metas->find(node.outputs[i].tensors[0]);
  return found == metas->end() || axis >= found->second.sizes.size() ? std::nullopt : found->second.sizes[axis].expr;
}

SmallVector<Value> OpContext::tensors(StringRef name) const {
  SmallVector<Value> result;
  if (has(name))
    for (const std::string &t : slot(name).argument->tensors)
      result.push_back(t.empty() ? Value() : valueOf(t));
  return result;
}

static Number numberOf(const Argument &a) {
  if (!a.floats.empty())
    return {Number::Kind::Float, Expr(0), a.floats[0], a.kind == Argument::Kind::Complex ? a.floats[1] : 0};
  Number n{a.kind == Argument::Kind::Bool ? Number::Kind::Bool : Number::Kind::Int, *a.ints[0].expr, 0};
  n.value = double(n.size.constant().value_or(0));
  return n;
}

static Number numberOf(StringRef text) {
  if (text == "true" || text == "false")
    return {Number::Kind::Bool, Expr(text == "true"), double(text == "true")};
  int64_t n;
  if (!text.getAsInteger(10, n))
    return {Number::Kind::Int, Expr(n), double(n)};
  double d = 0;
  text.getAsDouble(d);
  return {Number::Kind::Float, Expr(0), d};
}

std::optional<Number> OpContext::optionalNumber(StringRef name) const {
  const Slot &s = slot(name);
  if (has(name)) {
    Number n = numberOf(*s.argument);
    if (part == ComplexPart::Imaginary && baseKind(s.kind).ends_with("Z"))
      return Number{Number::Kind::Float, Expr(0), n.imaginary};
    return n;
  }
  return s.defaultText.empty() ? std::nullopt : std::optional<Number>(numberOf(s.defaultText));
}

Number OpContext::number(StringRef name) const { return optionalNumber(name).value_or(Number()); }

Operand OpContext::operand(StringRef name) const {
  if (has(name) && slot(name).argument->kind == Argument::Kind::Tensor)
    return {tensor(name), {}};
  return {Value(), number(name)};
}

Expr OpContext::size(StringRef name) const { return g.facts.simplify(number(name).size); }

Dims OpContext::sizes(StringRef name) const {
  const Slot &s = slot(name);
  Dims result;
  if (has(name)) {
    for (const Size &size : s.argument->ints)
      result.push_back(g.facts.simplify(*size.expr));
    return result;
  }
  SmallVector<StringRef> parts;
  StringRef(s.defaultText).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    result.push_back(numberOf(part).size);
  return result;
}

int64_t OpContext::integer(StringRef name) const { return number(name).size.constant().value_or(0); }

SmallVector<int64_t> OpContext::integers(StringRef name) const {
  SmallVector<int64_t> result;
  for (const Expr &e : sizes(name))
    result.push_back(e.constant().value_or(0));
  return result;
}

double OpContext::real(StringRef name) const { return number(name).value; }

SmallVector<double> OpContext::reals(StringRef name) const {
  SmallVector<double> result;
  if (has(name)) {
    const Argument &a = *slot(name).argument;
    result.append(a.floats.begin(), a.floats.end());
    for (const Size &s : a.ints)
      result.push_back(double(s.expr->constant().value_or(0)));
  }
  return result;
}

bool OpContext::flag(StringRef name) const { return number(name).value != 0; }

std::string OpContext::text(StringRef name) const {
  const Slot &s = slot(name);
  return baseKind(s.kind) != "X" ? "" : has(name) ? s.argument->text : s.defaultText;
}

llvm::Expected<int64_t> OpContext::axisOf(int64_t axis, int64_t rank) const {
  int64_t limit = std::max<int64_t>(rank, 1); // torch lets a scalar have dimension 0
  if (axis < -limit || axis >= limit)
    return wrong("dimension {0} is outside the tensor's rank {1}", axis, rank);
  return axis < 0 ? axis + limit : axis;
}

llvm::Expected<SmallVector<int64_t>> OpContext::axes(StringRef name, Value x) const {
  int64_t rank = ir::typeOf(x).getRank();
  std::set<int64_t> sorted;
  for (int64_t given : integers(name)) {
    LATHE_TRY(axis, axisOf(given, rank));
    if (!sorted.insert(axis).second)
      return wrong("dimension {0} occurs twice in '{1}'", given, name);
  }
  if (integers(name).empty())
    for (int64_t i = 0; i < rank; ++i)
      sorted.insert(i);
  SmallVector<int64_t> result(sorted.begin(), sorted.end());
  if (rank == 0)
    result.clear();
  return result;
}

llvm::Error OpContext::need(const Condition &condition) const {
  if (condition.follows(g.facts))
    return llvm::Error::success();
  // In the inputs' own sizes: the names of quotients are another attempt's.
  Condition stated = condition;
  for (const auto &[name, definition] : llvm::reverse(g.facts.derived()))
    stated = stated.substitute({{name, definition}});
  std::string text = place() + "it needs '" + stated.str() + "', which", branch = late ? late->branch : "";
  for (const Statement &s : needs.stated)
    if (s.text == text && s.place == branch)
      return llvm::Error::success();
  needs.grew = true;
  if (node.branch.empty())
    needs.stated.push_back({stated, text, branch});
  else
    needs.branches.insert(node.branch);
  return cannot("it needs '{0}'", stated.str());
}

void OpContext::readSize(const std::string &symbol, Value count) {
  Value number = g.reshape(g.cast(count, g.b.getI64Type()), {});
  g.b.create<ir::ReadOp>(g.loc, number, g.b.getStrArrayAttr({symbol}));
  late->bind(symbol, g.b);
}

void LateSizes::bind(const std::string &symbol, mlir::OpBuilder &b) {
  bound.insert(symbol);
  if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(b.getInsertionBlock()->getParentOp()); function && function.getName() != "main")
    places[symbol] = function.getName().str();
}

mlir::FlatSymbolRefAttr LateSizes::scopeOf(llvm::ArrayRef<Expr> of, StringRef body, mlir::MLIRContext *context) const {
  for (const Expr &size : of)
    for (const std::string &symbol : size.symbols())
      if (auto found = places.find(symbol); found != places.end())
        return mlir::FlatSymbolRefAttr::get(context, found->second);
  return body.empty() ? mlir::FlatSymbolRefAttr() : mlir::FlatSymbolRefAttr::get(context, body);
}

/// Whether the size has its value by now.
static bool isKnown(const Expr &size, const LateSizes *late) {
  return late && !size.isUnknown() &&
         llvm::all_of(size.symbols(), [&](const std::string &name) { return !late->isLate(name) || late->bound.count(name); });
}

llvm::Error OpContext::bindSize(const Expr &size, Value count) {
  auto symbol = size.asSymbol();
  if (isKnown(size, late) && !(symbol && late->isLate(*symbol))) {
    readAgain(size, count);
    return llvm::Error::success();
  }
  if (!symbol || !late || !late->isLate(*symbol) || !late->bound.insert(*symbol).second)
    return cannot("it computes the size {0}, which the file gives by no symbol of its own", size.str());
  readSize(*symbol, count);
  return llvm::Error::success();
}

llvm::Expected<Expr> OpContext::bindSizeAgain(const Expr &size, Value count) {
  if (isKnown(size, late))
    return readAgain(size, count);
  if (llvm::Error e = bindSize(size, count))
    return std::move(e);
  return size;
}

Expr OpContext::readAgain(const Expr &same, Value count) {
  std::string own = same.asSymbol().value_or(Expr::size(node.name).str()) + ".again" + std::to_string(late->again.size());
  late->again.push_back({own, same});
  readSize(own, count);
  return Expr::symbol(own);
}

Expr OpContext::bindOwnSize(Value count) {
  Expr own = Expr::size(node.name + ".count" + std::to_string(late->again.size()));
  late->again.push_back({own.str(), Expr::unknown()});
  readSize(own.str(), count);
  return own;
}

void OpContext::assertTrue(Value held, const std::string &says) {
  std::string own = Expr::size(node.name + ".held" + std::to_string(late->asserted.size())).str();
  late->asserted.emplace_back(own, says);
  readSize(own, held);
}

bool OpContext::fits(const Expr &a, const Expr &b) const {
  if (g.facts.provablyEqual(a, b))
    return true;
  if (g.facts.clone().addEquality(a, b))
    llvm::consumeError(needEqual(a, b));
  return false;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value OpContext::scalarOf(const Number &n, Type element) {
  std::optional<int64_t> constant = n.size.constant();
  if (n.kind != Number::Kind::Float && !constant)
    return g.cast(g.size(n.size), element);
  bool integral = llvm::isa<mlir::IntegerType>(element);
  if (n.kind == Number::Kind::Float && (!integral || element.isInteger(1)))
    return g.scalar(integral ? double(n.value != 0) : n.value, element);
  if (!integral)
    return g.scalar(double(*constant), element);
  // Through an integer: a double does not hold every int64.
  int64_t value = constant.value_or(0);
  if (n.kind == Number::Kind::Float)
    value = std::isnan(n.value)   ? 0
            : n.value >= 0x1p63   ? INT64_MAX
            : n.value <= -0x1p63 ? INT64_MIN
                                  : int64_t(n.value);
  if (element.isInteger(1))
    value = value != 0;
  unsigned width = element.getIntOrFloatBitWidth();
  auto type = mlir::RankedTensorType::get({}, element);
  auto attr = mlir::IntegerAttr::get(element, llvm::APInt(64, uint64_t(value), true).sextOrTrunc(width));
  return g.b.create<ir::ConstantOp>(g.loc, mlir::DenseElementsAttr::get(type, mlir::Attribute(attr)));
}

llvm::Error OpContext::broadcast(llvm::MutableArrayRef<Value> all) const {
  for (Value v : all)
    for (Value w : all)
      for (Dims a = ir::dimsOf(v), b = ir::dimsOf(w); !a.empty() && !b.empty(); a.pop_back(), b.pop_back())
        if (!a.back().isOne() && !b.back().isOne())
          fits(a.back(), b.back());
  std::string why;
  if (g.broadcastAll(all, &why))
    return llvm::Error::success();
  return wrong("{0} do not broadcast", why);
}

llvm::Expected<Value> OpContext::broadcastTo(Value x, llvm::ArrayRef<Expr> dims) const {
  Dims from = ir::dimsOf(x);
  bool wide = from.size() <= dims.size();
  for (size_t i = 0; wide && i < from.size(); ++i)
    wide = from[i].isOne() || fits(from[i], dims[dims.size() - from.size() + i]);
  if (wide)
    return g.broadcastTo(x, dims);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Expr &e : dims)
    os << (text.empty() ? "[" : ", ") << e.str();
  return wrong("{0} does not broadcast to {1}]", x.getType(), text);
}

llvm::Expected<std::pair<Value, Value>> OpContext::pair(const Operand &a, const Operand &b, Type element) {
  Value both[] = {materialize(a, element), materialize(b, element)};
  if (llvm::Error e = broadcast(both))
    return e;
  return std::make_pair(both[0], both[1]);
}
