//===- SymPy.cpp - Size expressions as torch.export writes them -------------===//

#include "SymPyParser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace lathe;
using namespace lathe::fx;
using shape::Expr;

static constexpr unsigned maxDepth = 64;
static constexpr size_t maxArguments = 256;

llvm::StringRef SymPyParser::word() {
  rest = rest.ltrim();
  llvm::StringRef w = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  rest = rest.drop_front(w.size());
  return w;
}

bool SymPyParser::takeWord(llvm::StringRef expected) {
  llvm::StringRef before = rest;
  if (word() == expected)
    return true;
  rest = before;
  return false;
}

std::optional<Expr> SymPyParser::size() {
  auto n = sum();
  return n && n->isInteger() && atEnd() ? std::optional<Expr>(n->top) : std::nullopt;
}

std::optional<Quotient> SymPyParser::apply(llvm::StringRef name, const std::vector<Quotient> &args) {
  auto result = applyFunction(name, args);
  // What divides is the second argument, wherever there is division.
  bool divides = llvm::StringRef(name).contains("Div") || llvm::StringRef(name).contains("Mod");
  for (size_t i = 1; result && divides && i < args.size(); ++i)
    if (!args[i].top.constant())
      divisors.push_back(args[i].top);
  return result;
}

std::optional<Quotient> SymPyParser::sum() {
  if (depth > maxDepth)
    return std::nullopt;
  ++depth;
  auto left = term();
  while (left) {
    bool plus = take("+");
    if (!plus && !take("-"))
      break;
    auto right = term();
    if (right && !plus)
      right = apply("Neg", {*right});
    left = right ? apply("Add", {*left, *right}) : std::nullopt;
  }
  --depth;
  return left;
}

std::optional<Quotient> SymPyParser::term() {
  auto left = unary();
  while (left) {
    llvm::StringRef name =
        take("//") ? "FloorDiv" : take("*") ? "Mul" : take("%") ? "PythonMod" : take("/") ? "IntTrueDiv" : "";
    if (name.empty())
      break;
    auto right = unary();
    left = right ? apply(name, {*left, *right}) : std::nullopt;
  }
  return left;
}

std::optional<Quotient> SymPyParser::unary() {
  bool negative = false;
  while (take("-"))
    negative = !negative;
  auto n = power();
  return n && negative ? apply("Neg", {*n}) : n;
}

std::optional<Quotient> SymPyParser::power() {
  auto base = primary();
  if (!base || !take("**"))
    return base;
  auto exponent = unary();
  return exponent ? apply("Pow", {*base, *exponent}) : std::nullopt;
}

std::optional<Quotient> SymPyParser::primary() {
  if (take("(")) {
    auto n = sum();
    return n && take(")") ? n : std::nullopt;
  }
  llvm::StringRef name = word();
  if (name.empty())
    return std::nullopt;
  if (llvm::isDigit(name[0])) {
    int64_t value;
    if (!name.getAsInteger(10, value))
      return Quotient{Expr(value)};
    if (llvm::all_of(name, llvm::isDigit)) // torch adds bounds of counts to more than a size can be
      return Quotient{Expr(std::numeric_limits<int64_t>::max())};
    return parseReal(name);
  }
  if (name == "L" && inputs)
    return inputSize();
  if (take("("))
    return call(name);
  // In guards every size is an input's; a bare name is something else.
  return inputs || name.contains('.') ? std::nullopt : std::optional<Quotient>(Quotient{Expr::size(name)});
}

/// After L: ['a'][0].size()[1]
std::optional<Quotient> SymPyParser::inputSize() {
  std::string name;
  while (take("[")) {
    bool quoted = take("'");
    llvm::StringRef part = quoted ? rest.take_until([](char c) { return c == '\''; }) : word();
    if (quoted)
      rest = rest.drop_front(part.size());
    if (part.empty() || (quoted && !take("'")) || !take("]"))
      return std::nullopt;
    name += name.empty() ? "" : "_";
    for (char c : part) // as torch names its placeholders
      name += llvm::isAlnum(c) ? llvm::toLower(c) : '_';
  }
  if (!take(".size()["))
    return std::nullopt;
  size_t axis;
  if (word().getAsInteger(10, axis) || !take("]"))
    return std::nullopt;
  auto found = inputs->find(name);
  if (found == inputs->end() || axis >= found->second.size())
    return std::nullopt;
  return Quotient{found->second[axis]};
}

std::optional<Quotient> SymPyParser::call(llvm::StringRef name) {
  if (name == "Symbol")
    return quotedSymbol();
  if (name == "Float")
    return quotedReal();
  if (name == "Piecewise")
    return piecewise();
  std::vector<Quotient> args;
  return arguments(args) ? apply(name, args) : std::nullopt;
}

/// Up to the end of a call: , positive=True, integer=True)
bool SymPyParser::skipKeywords() {
  while (take(","))
    if (word().empty() || !take("=") || word().empty())
      return false;
  return take(")");
}

/// A string as Python writes it: in single or double quotes, with escapes.
std::optional<std::string> SymPyParser::quotedText() {
  bool single = take("'");
  if (!single && !take("\""))
    return std::nullopt;
  static constexpr std::pair<char, char> escapes[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}};
  static constexpr std::pair<char, unsigned> codes[] = {{'x', 2}, {'u', 4}, {'U', 8}};
  std::string text;
  while (!rest.empty()) {
    char c = rest.front();
    rest = rest.drop_front();
    if (c == (single ? '\'' : '"'))
      return text;
    if (c != '\\' || rest.empty()) {
      text += c;
      continue;
    }
    c = rest.front();
    rest = rest.drop_front();
    if (const auto *code = llvm::find_if(codes, [&](auto &e) { return e.first == c; }); code != std::end(codes)) {
      uint32_t point;
      char utf8[4], *end = utf8;
      if (rest.size() < code->second || rest.take_front(code->second).getAsInteger(16, point) || !llvm::ConvertCodePointToUTF8(point, end))
        return std::nullopt;
      text.append(utf8, end);
      rest = rest.drop_front(code->second);
      continue;
    }
    const auto *escape = llvm::find_if(escapes, [&](auto &e) { return e.first == c; });
    text += escape == std::end(escapes) ? c : escape->second;
  }
  return std::nullopt;
}

/// After "Symbol(": 's0', positive=True, integer=True)
std::optional<Quotient> SymPyParser::quotedSymbol() {
  std::optional<std::string> name = quotedText();
  if (!name || !skipKeywords())
    return std::nullopt;
  return Quotient{Expr::size(*name)};
}

/// After "Float(": '1.5', precision=53)
std::optional<Quotient> SymPyParser::quotedReal() {
  if (!take("'"))
    return std::nullopt;
  llvm::StringRef text = rest.take_until([](char c) { return c == '\''; });
  rest = rest.drop_front(text.size());
  return take("'") && skipKeywords() ? parseReal(text) : std::nullopt;
}

bool SymPyParser::arguments(std::vector<Quotient> &into) {
  if (take(")"))
    return true;
  do {
    llvm::StringRef before = rest;
    llvm::StringRef keyword = word(); // evaluate=False
    if (!keyword.empty() && take("=")) {
      if (word().empty())
        return false;
      continue;
    }
    rest = before;
    auto n = sum();
    if (!n || into.size() >= maxArguments)
      return false;
    into.push_back(*n);
  } while (take(","));
  return take(")");
}

std::optional<Expr> fx::parseSymPy(llvm::StringRef text) { return SymPyParser(text, nullptr).size(); }
