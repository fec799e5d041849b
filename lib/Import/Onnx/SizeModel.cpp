//===- SizeModel.cpp - The sizes of a model --------------------------------===//

#include "SizeModel.h"
#include "DimNames.h"
#include "Failure.h"
#include "lathe/Shape/Divisibilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::onnx;
using shape::Expr;

/// Longer names than this are data, not names.
static constexpr size_t kMaxName = 256;
static constexpr int64_t kMaxSize = int64_t(1) << 40;

template <typename Options> static auto *findOption(Options &options, StringRef name, std::string Options::value_type::*key) {
  for (auto &option : options)
    if (option.*key == name)
      return &option;
  return static_cast<decltype(&options[0])>(nullptr);
}

static bool isNumber(StringRef text, int64_t &value) { return !text.getAsInteger(10, value); }

static bool hasOperator(StringRef name) {
  return name.find_first_of("+-*/% ") != StringRef::npos;
}

/// The expression that a name is ("past + seq"), where it is made of other names of the model.
static std::optional<Expr> asExpression(const std::string &name, const std::set<std::string> &plainNames) {
  if (!hasOperator(name))
    return std::nullopt;
  llvm::Expected<Expr> e = Expr::parseSizes(name);
  if (!e) {
    llvm::consumeError(e.takeError());
    return std::nullopt;
  }
  bool known = llvm::all_of(e->symbols(), [&](const std::string &s) { return plainNames.count(shape::nameOf(s)) != 0; });
  return known ? std::optional<Expr>(*e) : std::nullopt;
}

Expr SizeModel::declareSymbol(const std::string &name, int64_t least) {
  Expr size = Expr::size(name);
  if (find(size.str()))
    return size;
  Symbol symbol{size.str(), least, -1, {}, {}};
  if (const DimOption *option = findOption(options.dims, name, &DimOption::name)) {
    symbol.min = option->min.value_or(least);
    symbol.max = option->max.value_or(-1);
    symbol.hints = option->hints;
  }
  shape::Range range;
  range.min = symbol.min;
  if (symbol.max >= 0)
    range.max = symbol.max;
  known.setRange(symbol.name, range);
  symbols.push_back(std::move(symbol));
  return size;
}

Expr SizeModel::named(const std::string &name, int64_t least) {
  if (name.size() > kMaxName)
    failWrong("the name of a size has {0} characters, expected at most {1}", name.size(), kMaxName);
  if (std::optional<Expr> e = asExpression(name, plainNames)) {
    std::map<std::string, Expr> with;
    for (const std::string &symbol : e->symbols())
      with.emplace(symbol, named(shape::nameOf(symbol)));
    return e->substitute(with);
  }
  seen.insert(name);
  const DimOption *option = findOption(options.dims, name, &DimOption::name);
  if (option && option->fixed())
    return Expr(*option->fixed());
  return declareSymbol(name, least);
}

std::string SizeModel::ownSize(const std::string &name) const {
  std::string free = name;
  while (seen.count(free))
    free += "_";
  return Expr::size(free).str();
}

bool onnx::saysNothing(StringRef name) {
  return name.empty() || name == "?" || name == "None" || (name.consume_front("unk__") && llvm::all_of(name, llvm::isDigit));
}

Expr SizeModel::unnamedDim(const std::string &input, unsigned index) {
  std::string name = nameForDim(input, index);
  while (plainNames.count(name)) // the model has a name like that, for another size
    name += "_";
  unnamed.insert(Expr::size(name).str());
  return named(name, leastUnnamed);
}

Expr SizeModel::inputDim(const std::string &input, unsigned index, const TensorShapeProto::Dimension *dim,
                         const std::string *option) {
  int64_t value;
  bool dynamic = !dim || !dim->has_dim_value();
  if (option && *option != "?") {
    bool number = isNumber(*option, value);
    if (!dynamic && (!number || value != dim->dim_value()))
      failWrong("--shape {0}: dimension {1} is {2} in the model, not {3}", input, index, dim->dim_value(), *option);
    return number ? Expr(value) : named(*option);
  }
  if (dim && dim->has_dim_param() && !saysNothing(dim->dim_param()))
    return named(dim->dim_param());
  if (dynamic || dim->dim_value() == -1) // some exporters write -1 for "unknown"
    return unnamedDim(input, index);
  if (dim->dim_value() < 0 || dim->dim_value() > kMaxSize)
    failWrong("input '{0}': dimension {1} is {2}", input, index, dim->dim_value());
  return Expr(dim->dim_value());
}

static bool hasShape(const ValueInfoProto &input) { return input.type().tensor_type().has_shape(); }

void SizeModel::checkOptions(ArrayRef<const ValueInfoProto *> protos) const {
  for (const ShapeOption &option : options.shapes)
    if (llvm::none_of(protos, [&](const ValueInfoProto *v) { return v->name() == option.input; })) {
      std::vector<std::string> names;
      for (const ValueInfoProto *v : protos)
        names.push_back(v->name());
      failWrong("--shape {0}: the model has no such input; its inputs are: {1}", option.input, llvm::join(names, ", "));
    }
}

void SizeModel::collectNames(ArrayRef<const ValueInfoProto *> protos) {
  auto add = [&](const std::string &name) {
    int64_t value;
    if (!saysNothing(name) && !hasOperator(name) && !isNumber(name, value))
      plainNames.insert(name);
  };
  for (const ValueInfoProto *input : protos)
    for (const auto &dim : input->type().tensor_type().shape().dim())
      add(dim.dim_param());
  for (const ShapeOption &option : options.shapes)
    for (const std::string &name : option.dims)
      add(name);
}

void SizeModel::declareInputs(ArrayRef<const ValueInfoProto *> protos) {
  collectNames(protos);
  for (const ValueInfoProto *input : protos) {
    const ShapeOption *option = findOption(options.shapes, input->name(), &ShapeOption::input);
    const TensorShapeProto &shape = input->type().tensor_type().shape();
    if (!hasShape(*input) && !option)
      failWrong("input '{0}' has no shape in the model; say it with --shape {0}=...", input->name());
    size_t rank = hasShape(*input) ? shape.dim_size() : option->dims.size();
    if (option && option->dims.size() != rank)
      failWrong("--shape {0}: {1} dimensions, the model has {2}", input->name(), option->dims.size(), rank);
    ir::Dims dims;
    for (size_t i = 0; i < rank; ++i)
      dims.push_back(inputDim(input->name(), i, hasShape(*input) ? &shape.dim(i) : nullptr, option ? &option->dims[i] : nullptr));
    inputs.push_back(dims);
  }
  for (const DimOption &option : options.dims)
    if (!seen.count(option.name))
      failWrong("--dim {0}: the model has no such size; {1}", option.name,
                seen.empty() ? "all of its inputs are fixed" : "its sizes are: " + llvm::join(seen, ", "));
}

/// The c of min(c, e), where x is that and e is the symbol.
static std::optional<int64_t> limitOn(const std::string &symbol, const Expr &x) {
  std::vector<Expr::Term> terms = x.terms();
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].atoms.size() != 1)
    return std::nullopt;
  const shape::Atom &atom = terms[0].atoms[0];
  if (atom.kind != shape::Atom::Kind::Min)
    return std::nullopt;
  for (int side : {0, 1})
    if (atom.operands[side].asSymbol() == symbol)
      return atom.operands[1 - side].constant();
  return std::nullopt;
}

bool SizeModel::assumeLimit(const Expr &a, const Expr &b) {
  std::optional<std::string> name = a.asSymbol();
  std::optional<int64_t> limit = name ? limitOn(*name, b) : std::nullopt;
  auto symbol = llvm::find_if(symbols, [&](const Symbol &s) { return name && s.name == *name; });
  if (!limit || symbol == symbols.end() || *limit < symbol->min)
    return false;
  if (isIsolated())
    return assume(a, "le", Expr(*limit));
  symbol->max = symbol->max < 0 ? *limit : std::min(symbol->max, *limit);
  known.setRange(*name, {symbol->min, symbol->max});
  ++numFound;
  return true;
}

bool SizeModel::assume(const Expr &a, const char *kind, const Expr &b) {
  Relation r{a, b, kind, {}, isIsolated() ? body : "", isIsolated() ? place : ""};
  if (llvm::any_of(relations, [&](const Relation &o) {
        return o.left == a && o.right == b && StringRef(o.kind) == kind && o.place == r.place;
      }))
    return true; // known, though nothing could be concluded of it
  relations.push_back(r);
  conclude(relations.back());
  ++numFound;
  return true;
}

bool SizeModel::assumeEqual(const Expr &a, const Expr &b) {
  // A table that is cut to a size and then meets that size (position embeddings) bounds the size.
  if (assumeLimit(a, b) || assumeLimit(b, a))
    return true;
  // Halves of one length say that a size is even. It is written by its half from then on, which leaves no division.
  if (auto multiple = shape::asDivisibility(known.simplify(a - b), known); multiple && llvm::none_of(multiple->second.symbols(), [&](const std::string &name) { return isComputed(name); }))
    return assumeDivides(multiple->first, multiple->second);
  return known.clone().addEquality(a, b) && assume(a, "eq", b);
}

bool SizeModel::countsElements(const Expr &e) const {
  constexpr int64_t large = 1 << 20, several = 16;
  std::set<std::string> names = e.symbols();
  if (readsElement(e) || isLate(e) || llvm::any_of(names, [&](const std::string &name) { return isComputed(name); }))
    return false;
  return llvm::all_of(llvm::seq(large, large + several), [&](int64_t size) {
    std::map<std::string, int64_t> values;
    for (const std::string &name : names)
      values[name] = size;
    return e.evaluate(values).value_or(0) > 0;
  });
}

bool SizeModel::assumeNotNegative(const Expr &e) { return known.bounds(e).max.value_or(0) >= 0 && assume(Expr(0), "le", e); }

bool SizeModel::assumeDivides(const Expr &k, const Expr &e) {
  Expr value = known.simplify(e);
  if (value.constant() && k.constant() && (k.isZero() || *value.constant() % *k.constant() != 0))
    return false;
  return assume(k, "divides", e);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

bool SizeModel::isIsolated() const {
  return llvm::any_of(outside, [](const Outside &o) { return o.facts.has_value(); });
}

/// A size that is computed from others is written as these, never the other way round: the next import need not come upon it
/// again. Where it cannot be solved for, as within a division, the two sides bound each other.
void SizeModel::concludeEqual(const Expr &a, const Expr &b) {
  Expr e = known.simplify(a - b);
  bool mentionsComputed = false;
  for (const std::string &name : e.symbols()) {
    if (!isComputed(name))
      continue;
    mentionsComputed = true;
    std::optional<Expr::Linear> l = e.linearIn(name);
    if (!l || !l->coefficient.constant() || !known.provablyDivides(l->coefficient, l->rest))
      continue;
    known.setLate(name); // else a quotient would be written as the size, and the size then as itself
    known.addEquality(Expr::symbol(name), known.simplify(Expr::floordiv(-l->rest, l->coefficient)));
    return;
  }
  if (!mentionsComputed) {
    known.addEquality(a, b);
    return;
  }
  known.addLessEqual(a, b);
  known.addLessEqual(b, a);
}

void SizeModel::conclude(const Relation &r) {
  if (StringRef(r.kind) == "eq") {
    concludeEqual(r.left, r.right);
  } else if (StringRef(r.kind) == "divides") {
    known.addDivides(r.left, r.right);
  } else if (std::optional<std::string> name = r.left.asSymbol()) {
    shape::Range range = known.rangeOf(*name);
    range.max = std::min(range.max.value_or(INT64_MAX), r.right.constant().value_or(INT64_MAX));
    known.setRange(*name, range);
  } else {
    known.addLessEqual(r.left, r.right);
  }
}

void SizeModel::enterBody(const std::string &function, const std::string &name, bool isBranch) {
  bool isolated = isBranch || isIsolated();
  outside.push_back({body, place, isolated ? std::optional<shape::Facts>(known) : std::nullopt});
  body = function;
  place = name + "#" + std::to_string(places[name]++);
  if (!isolated)
    return;
  known = known.clone();
  for (Relation &r : relations)
    if (r.place == place) {
      r.body = function; // bodies are numbered anew in each round
      conclude(r);
    }
}

void SizeModel::leaveBody() {
  Outside before = std::move(outside.back());
  outside.pop_back();
  body = before.body;
  place = before.place;
  if (!before.facts)
    return;
  for (const auto &quotient : known.derived())
    if (llvm::none_of(quotients, [&](const auto &q) { return q.first == quotient.first; }))
      quotients.push_back(quotient);
  known = *before.facts;
  for (const std::string &name : fresh)
    declare(name);
  if (!isIsolated())
    fresh.clear();
}

/// What is known of a symbol by itself.
void SizeModel::declare(const std::string &name) {
  if (const Symbol *s = find(name)) {
    known.setRange(name, {s->min == INT64_MIN ? std::nullopt : std::optional<int64_t>(s->min),
                          s->max < 0 ? std::nullopt : std::optional<int64_t>(s->max)});
    if (s->late)
      known.setLate(name);
  }
  for (const Definition &d : definition(name)) {
    known.setRange(name, {d.min, d.max});
    if (d.late)
      known.setLate(name);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

SizeModel::Symbol *SizeModel::find(const std::string &name) {
  auto it = llvm::find_if(symbols, [&](const Symbol &s) { return s.name == name; });
  return it == symbols.end() ? nullptr : &*it;
}

Expr SizeModel::inputElement(unsigned input, const std::string &name, std::optional<int64_t> place) {
  std::string symbol = Expr::element(name, place).str();
  if (!find(symbol)) {
    known.setRange(symbol, {});
    symbols.push_back({symbol, INT64_MIN, -1, {}, {int64_t(input), place.value_or(0)}, false});
  }
  return Expr::symbol(symbol);
}

Expr SizeModel::lateSymbol(const std::string &symbol, int64_t min) {
  if (!find(symbol)) {
    symbols.push_back({symbol, min, -1, {}, {}, true, true, body});
    declare(symbol);
  }
  if (isIsolated())
    fresh.push_back(symbol);
  Symbol *s = find(symbol);
  s->used = true;
  s->home = body; // bodies are numbered anew in each round
  return Expr::symbol(symbol);
}

Expr SizeModel::lateElement(const std::string &symbol) { return lateSymbol(symbol, INT64_MIN); }
Expr SizeModel::lateSize(const std::string &symbol) { return lateSymbol(symbol, 0); }

bool SizeModel::isLate(const Expr &e) const {
  return llvm::any_of(e.symbols(), [&](const std::string &name) {
    return llvm::any_of(symbols, [&](const Symbol &s) { return s.late && s.name == name; }) ||
           llvm::any_of(definition(name), [](const Definition &d) { return d.late; });
  });
}

void SizeModel::use(const Expr &e) {
  for (const std::string &name : e.symbols())
    if (Symbol *s = find(name))
      s->used = true;
}

bool SizeModel::restrict(const Expr &e, std::optional<int64_t> min, std::optional<int64_t> max, const std::string &says) {
  shape::Range bounds = known.bounds(e);
  if ((min && bounds.max && *bounds.max < *min) || (max && bounds.min && *bounds.min > *max))
    return false;
  bool lowHolds = !min || (bounds.min && *bounds.min >= *min), highHolds = !max || (bounds.max && *bounds.max <= *max);
  if (lowHolds && highHolds)
    return true;
  std::optional<std::string> name = e.asSymbol();
  Symbol *symbol = name ? find(*name) : nullptr;
  if (symbol && (symbol->late || !symbol->element.empty()) && symbol->home == body) {
    if (min)
      symbol->min = std::max(symbol->min, *min);
    if (max)
      symbol->max = symbol->max < 0 ? *max : std::min(symbol->max, *max);
    declare(*name);
    return true;
  }
  if (!lowHolds)
    require(Expr(*min), "le", e, says);
  if (!highHolds)
    require(e, "le", Expr(*max), says);
  return true;
}

static void requireKnown(const Expr &e) {
  if (e.isUnknown())
    failUnsupported("a size does not fit 64-bit arithmetic");
}

void SizeModel::require(const Expr &left, const char *kind, const Expr &right, const std::string &says) {
  requireKnown(left);
  requireKnown(right);
  checks.push_back({left, right, kind, says, body});
}

ArrayRef<SizeModel::Definition> SizeModel::definition(const std::string &name) const {
  auto it = definedAt.find(name);
  return it == definedAt.end() ? ArrayRef<Definition>() : ArrayRef<Definition>(definitions[it->second]);
}

Expr SizeModel::define(const std::string &name, const Expr &value, std::optional<int64_t> max, int64_t min) {
  if (!value.hasOpaque())
    if (value.constant() || value.asSymbol())
      return value;
  bool fromElement = readsElement(value), late = isLate(value);
  // What earlier rounds concluded speaks of names: none may be another value's now, because one in front of it has become known.
  auto suits = [&](const std::string &candidate) {
    auto it = meanings.find(candidate);
    return it == meanings.end() || it->second == value || known.simplify(it->second) == known.simplify(value);
  };
  std::string free = ownSize(name);
  for (unsigned &next = nextNumber.try_emplace(name, 2).first->second; !suits(free) || !definedAt.try_emplace(free, definitions.size()).second; ++next)
    free = ownSize(name + "#" + std::to_string(next));
  meanings.try_emplace(free, value);
  definitions.push_back({free, value, max, fromElement, late, min});
  declare(free);
  if (isIsolated())
    fresh.push_back(free);
  return Expr::symbol(free);
}

Expr SizeModel::defineOnce(const std::string &name, const Expr &value) {
  for (const Definition &d : definitions)
    if (d.value == value && !d.max) {
      if (isIsolated()) {
        declare(d.name);
        fresh.push_back(d.name);
      }
      return Expr::symbol(d.name);
    }
  return define(name, value, std::nullopt);
}

bool SizeModel::readsElement(const Expr &e) const {
  return llvm::any_of(e.symbols(), [&](const std::string &name) {
    return shape::kindOf(name) == shape::SymbolKind::Element ||
           llvm::any_of(definition(name), [](const Definition &d) { return d.fromElement; });
  });
}

void SizeModel::startRound() {
  body.clear();
  place.clear();
  places.clear();
  quotients.clear();
  definitions.clear();
  definedAt.clear();
  nextNumber.clear();
  checks.clear();
  broadcasts.clear();
  for (Symbol &s : symbols)
    s.used = !s.late && s.element.empty();
  // What a relation eliminated from the sizes is still what the entry checks.
  for (const Relation &r : relations)
    for (const Expr &side : {r.left, r.right})
      for (const std::string &name : side.symbols())
        if (Symbol *s = find(name); s && !s->late)
          s->used = true;
}

std::shared_ptr<const SizeModel::Snapshot> SizeModel::save() const {
  return std::make_shared<Snapshot>(Snapshot{symbols, relations, checks, definitions, places, known.clone(), numFound});
}

void SizeModel::restore(const Snapshot &snapshot) {
  symbols = snapshot.symbols;
  relations = snapshot.relations;
  checks = snapshot.checks;
  definitions = snapshot.definitions;
  places = snapshot.places;
  definedAt.clear();
  nextNumber.clear();
  for (const Definition &d : definitions)
    definedAt.try_emplace(d.name, definedAt.size());
  known = snapshot.known.clone();
  numFound = snapshot.numFound;
}

/// Definitions of earlier rounds that relations speak of, which they found of a size before it was known: what was concluded from them is checked.
std::vector<SizeModel::Definition> SizeModel::earlierDefinitions() const {
  std::vector<Definition> result;
  std::set<std::string> visited;
  std::vector<std::string> work;
  auto visit = [&](const Expr &e) { llvm::copy_if(e.symbols(), std::back_inserter(work), [&](const std::string &name) { return visited.insert(name).second; }); };
  for (const Relation &r : relations)
    visit(r.left), visit(r.right);
  while (!work.empty()) {
    std::string name = work.back();
    work.pop_back();
    auto it = meanings.find(name);
    if (it == meanings.end() || !definition(name).empty() || isLate(it->second))
      continue;
    result.push_back({name, it->second, std::nullopt, false, false});
    visit(it->second);
  }
  return result;
}

void SizeModel::emit(OpBuilder &b, Location loc) const {
  std::set<std::string> declared;
  for (const Symbol &s : symbols)
    if (s.used) {
      b.create<ir::SymbolOp>(loc, s.name, s.min, s.max, s.hints, StringAttr(),
                             s.element.empty() ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(s.element));
      declared.insert(s.name);
    }
  std::vector<Definition> derived = definitions;
  llvm::append_range(derived, earlierDefinitions());
  for (const auto *list : {&known.derived(), &quotients})
    for (const auto &quotient : *list)
      if (llvm::none_of(derived, [&](const Definition &d) { return d.name == quotient.first; }))
        derived.push_back({quotient.first, quotient.second, std::nullopt, false, false});
  for (const Definition &d : derived)
    declared.insert(d.name);
  auto wasEntered = [&](StringRef place) {
    auto [name, number] = place.rsplit('#');
    auto it = places.find(name.str());
    unsigned index;
    return it != places.end() && !number.getAsInteger(10, index) && index < it->second;
  };
  // What mentions a symbol of an earlier import that this one did not come upon is of no use.
  auto isDeclared = [&](const Expr &e) {
    return llvm::all_of(e.symbols(), [&](const std::string &name) { return declared.count(name) != 0; });
  };
  for (bool shrinks = true; shrinks;) {
    shrinks = false;
    for (const Definition &d : derived)
      if (declared.count(d.name) && !isDeclared(d.value))
        shrinks = declared.erase(d.name);
  }
  for (const Definition &d : derived)
    if (declared.count(d.name))
      b.create<ir::SymbolOp>(loc, d.name, d.min, d.max.value_or(-1), ArrayRef<int64_t>(), b.getStringAttr(d.value.str()),
                             DenseI64ArrayAttr());
  for (const auto *list : {&checks, &relations}) // checks first: their texts are plainer
    for (const Relation &r : *list)
      if (isDeclared(r.left) && isDeclared(r.right) && (r.place.empty() || wasEntered(r.place)))
        b.create<ir::RelationOp>(loc, r.left.str(), r.kind, r.right.str(),
                                 r.body.empty() ? FlatSymbolRefAttr() : FlatSymbolRefAttr::get(b.getContext(), r.body),
                                 r.says.empty() ? StringAttr() : b.getStringAttr(r.says));
}
