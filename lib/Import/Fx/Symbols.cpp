//===- Symbols.cpp - The size symbols of a program and what is known of them -===//
//===----------------------------------------------------------------------===//

#include "Symbols.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;
using shape::Expr;
using shape::Range;

std::vector<std::pair<std::string, std::vector<Expr>>> fx::inputSizes(const Program &program) {
  std::vector<std::pair<std::string, std::vector<Expr>>> result;
  for (const InputSpec &input : program.inputs) {
    auto meta = program.tensors.find(input.value);
    if (input.kind != InputSpec::Kind::User || meta == program.tensors.end())
      continue;
    std::vector<Expr> sizes;
    for (const Size &s : meta->second.sizes)
      sizes.push_back(s.expr.value_or(Expr::unknown()));
    result.emplace_back(input.value, std::move(sizes));
  }
  return result;
}

namespace {

bool contains(Range r, int64_t n) { return (!r.min || *r.min <= n) && (!r.max || n <= *r.max); }

std::string rangeText(Range r) {
  return std::to_string(r.min.value_or(0)) + ".." + (r.max ? std::to_string(*r.max) : "");
}

bool validName(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

} // namespace

Symbols::Symbol *Symbols::find(StringRef name) {
  for (Symbol &s : symbols)
    if (s.name == name)
      return &s;
  return nullptr;
}

static std::string textOf(StringRef name) { return Expr::size(name).str(); }

void Symbols::collect(const Program &program) {
  symbols.clear();
  for (const auto &[name, sizes] : inputSizes(program))
    for (const Expr &size : sizes)
      for (const std::string &symbol : size.symbols()) {
        if (find(symbol))
          continue;
        Range range{0, std::nullopt};
        if (auto found = program.ranges.find(symbol); found != program.ranges.end())
          range = {std::max<int64_t>(0, found->second.first.value_or(0)), found->second.second};
        symbols.push_back({symbol, range, {}});
      }
}

/// Those of sizes of tensors, and all others, also of the graphs that nodes run.
static void symbolsOf(const Graph &graph, std::set<std::string> &sizes, std::set<std::string> &all) {
  for (const auto &[name, size] : graph.sizes)
    if (size.expr)
      all.merge(size.expr->symbols());
  for (const auto &[name, meta] : graph.tensors)
    for (const Size &size : meta.sizes)
      if (size.expr)
        sizes.merge(size.expr->symbols());
  for (const Node &node : graph.nodes)
    for (const NamedArgument &input : node.inputs)
      if (input.value.graph)
        symbolsOf(*input.value.graph, sizes, all);
}

/// The symbols of values that nodes compute. What is no tensor's size may have either sign, and is named as an element is.
void Symbols::collectLate(Program &program) {
  std::set<std::string> all, sizes;
  symbolsOf(program, sizes, all);
  all.insert(sizes.begin(), sizes.end());
  std::map<std::string, Expr> renamed;
  for (std::string name : all) {
    if (find(name))
      continue;
    Range range;
    if (auto found = program.ranges.find(name); found != program.ranges.end())
      range = {found->second.first, found->second.second};
    if (sizes.count(name))
      range.min = std::max<int64_t>(range.min.value_or(0), 0);
    if (range.min.value_or(-1) < 0) {
      Expr element = Expr::symbol(shape::nameOf(name) + "[]");
      renamed.emplace(name, element);
      name = element.str();
    }
    symbols.push_back({name, range, {}});
    late.insert(name);
  }
  program.substitute(renamed);
}

llvm::Error Symbols::applyShapes(Program &program, const ImportOptions &options, StringRef file) {
  std::map<std::string, Expr> with;
  auto inputs = inputSizes(program);
  for (const ShapeOption &option : options.shapes) {
    auto input = llvm::find_if(inputs, [&](const auto &i) { return i.first == option.input; });
    if (input == inputs.end())
      return userError("{0}: --shape {1}=...: the model has no input '{1}'", file, option.input);
    if (input->second.size() != option.dims.size())
      return userError("{0}: --shape {1}=...: the input has {2} dimensions, not {3}", file, option.input,
                       input->second.size(), option.dims.size());
    for (size_t i = 0; i < option.dims.size(); ++i) {
      const Expr &size = input->second[i];
      StringRef text = option.dims[i];
      int64_t number;
      bool isNumber = !text.getAsInteger(10, number);
      if (text == "?" || (isNumber && size.constant() == std::optional<int64_t>(number)))
        continue;
      std::optional<std::string> symbol = size.asSymbol();
      if (!symbol)
        return userError("{0}: --shape {1}: dimension {2} is {3} in the model and cannot become '{4}'", file, option.input, i,
                         size.str(), text);
      if (!isNumber && !validName(text))
        return userError("{0}: --shape {1}: '{2}' is neither a number, a name nor '?'", file, option.input, text);
      if (isNumber && !contains(find(*symbol)->range, number))
        return userError("{0}: --shape {1}: dimension {2} ({3}) is {4} in the model, not {5}", file, option.input, i, *symbol,
                         rangeText(find(*symbol)->range), number);
      Expr value = isNumber ? Expr(number) : Expr::size(text);
      auto [known, isNew] = with.emplace(*symbol, value);
      if (!isNew && known->second != value)
        return userError("{0}: --shape: {1} would be both {2} and {3}", file, *symbol, known->second.str(), value.str());
      if (!isNumber) {
        // Two symbols may get one name; then both ranges hold.
        auto &range = program.ranges[textOf(text)];
        Range other = find(*symbol)->range;
        range.first = std::max(range.first.value_or(0), other.min.value_or(0));
        if (other.max)
          range.second = std::min(range.second.value_or(*other.max), *other.max);
      }
    }
  }
  program.substitute(with);
  collect(program);
  return llvm::Error::success();
}

llvm::Error Symbols::applyDims(Program &program, const ImportOptions &options, StringRef file) {
  std::map<std::string, Expr> with;
  for (const DimOption &option : options.dims) {
    Symbol *symbol = find(textOf(option.name));
    if (!symbol) {
      std::vector<std::string> names;
      for (const Symbol &s : symbols)
        names.push_back(shape::nameOf(s.name));
      return userError("{0}: --dim {1}: the model has no such size; it has {2}", file, option.name,
                       names.empty() ? "none" : llvm::join(names, ", "));
    }
    for (std::optional<int64_t> end : {option.min, option.max})
      if (end && !contains(symbol->range, *end))
        return userError("{0}: --dim {1}: {2} is outside the model's range {3}", file, option.name, *end,
                         rangeText(symbol->range));
    if (option.min && option.max && *option.min > *option.max)
      return userError("{0}: --dim {1}: the range {2}..{3} is empty", file, option.name, *option.min, *option.max);
    if (std::optional<int64_t> fixed = option.fixed())
      with.emplace(symbol->name, Expr(*fixed));
    symbol->range.min = option.min ? option.min : symbol->range.min;
    symbol->range.max = option.max ? option.max : symbol->range.max;
    symbol->hints = option.hints;
  }
  program.substitute(with);
  llvm::erase_if(symbols, [&](const Symbol &s) { return with.count(s.name) != 0; });
  return llvm::Error::success();
}

llvm::Expected<Symbols> Symbols::learn(Program &program, const ImportOptions &options, llvm::ArrayRef<Statement> needed,
                                       StringRef file) {
  Symbols result;
  result.collect(program);
  if (llvm::Error e = result.applyShapes(program, options, file))
    return e;
  if (llvm::Error e = result.applyDims(program, options, file))
    return e;
  result.collectLate(program);
  for (const Symbol &s : result.symbols) {
    result.known.setRange(s.name, s.range);
    if (result.isLate(s.name))
      result.known.setLate(s.name);
  }
  if (llvm::Error e = result.learnConditions(program, needed, file))
    return e;
  return result;
}

bool Symbols::knows(const Size &size) const {
  if (!size.expr || size.expr->isUnknown())
    return false;
  return llvm::all_of(size.expr->symbols(), [&](const std::string &name) {
    return llvm::any_of(symbols, [&](const Symbol &s) { return s.name == name; });
  });
}

/// The node that computes such a value compares it with the size.
std::map<std::string, Expr> Symbols::replaced(const LateSizes &sizes) const {
  std::map<std::string, Expr> with;
  for (const std::string &name : late) {
    Expr same = known.simplify(Expr::symbol(name));
    auto isSame = [&](const auto &read) { return !read.second.isUnknown() && known.provablyEqual(read.second, same); };
    if (!sizes.bound.count(name) && !same.mentions(name) && llvm::any_of(sizes.again, isSame))
      with.emplace(name, same);
  }
  return with;
}

std::vector<std::string> Symbols::uncheckable(const LateSizes &sizes) const {
  std::vector<std::string> messages;
  std::map<std::string, Expr> with = replaced(sizes);
  for (const auto &[symbol, message] : aboutLate)
    if (!sizes.bound.count(symbol) && !with.count(symbol))
      messages.push_back(message);
  return messages;
}

void Symbols::declare(mlir::OpBuilder &b, mlir::Location loc, const LateSizes &sizes) const {
  const std::set<std::string> &bound = sizes.bound;
  auto isDeclared = [&](const Expr &e) {
    return llvm::none_of(e.symbols(), [&](const std::string &name) { return isLate(name) && !bound.count(name); });
  };
  for (const Symbol &s : symbols)
    if (isDeclared(Expr::symbol(s.name)))
      b.create<ir::SymbolOp>(loc, b.getStringAttr(s.name), b.getI64IntegerAttr(s.range.min.value_or(isLate(s.name) ? INT64_MIN : 0)),
                             b.getI64IntegerAttr(s.range.max.value_or(-1)), b.getDenseI64ArrayAttr(s.hints), mlir::StringAttr(),
                             mlir::DenseI64ArrayAttr());
  std::vector<std::pair<std::string, Expr>> derived = known.derived();
  for (const auto &quotient : quotients)
    if (!llvm::is_contained(derived, quotient))
      derived.push_back(quotient);
  for (const auto &[name, definition] : derived) {
    if (!isDeclared(definition))
      continue;
    Range range = known.rangeOf(name);
    b.create<ir::SymbolOp>(loc, b.getStringAttr(name), b.getI64IntegerAttr(range.min.value_or(0)),
                           b.getI64IntegerAttr(range.max.value_or(-1)), b.getDenseI64ArrayAttr({}),
                           b.getStringAttr(definition.str()), mlir::DenseI64ArrayAttr());
  }
  std::map<std::string, Expr> with = replaced(sizes);
  for (const Relation &r : relations) {
    Expr left = r.left.substitute(with), right = r.right.substitute(with);
    if (isDeclared(left) && isDeclared(right) && (left != right || llvm::StringRef(r.kind) != "eq"))
      b.create<ir::RelationOp>(loc, left.str(), r.kind, right.str(), sizes.scopeOf({left, right}, r.body, b.getContext()),
                               r.says.empty() ? mlir::StringAttr() : b.getStringAttr(r.says));
  }
}
