//===- SymPy.cpp - Size expressions as torch.export writes them -------------===//
//
// One small recursive-descent parser serves both notations: calls by name (srepr) and Python's infix (guards). Depth and the
// number of terms are limited: a product of many sums would take exponential space.
//
//===----------------------------------------------------------------------===//

#include "SymPy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lathe;
using namespace lathe::fx;
using shape::Expr;

namespace {

constexpr unsigned maxDepth = 64;
constexpr size_t maxTerms = 256;

class Parser {
public:
  using Inputs = std::map<std::string, std::vector<Expr>>;
  Parser(llvm::StringRef text, const Inputs *inputs) : rest(text.trim()), inputs(inputs) {}

  std::optional<Expr> whole() {
    auto e = sum();
    return e && atEnd() ? e : std::nullopt;
  }
  std::optional<Condition> comparison();
  std::optional<Condition> relationCall();

private:
  bool atEnd() {
    rest = rest.ltrim();
    return rest.empty();
  }
  bool take(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  llvm::StringRef word() {
    rest = rest.ltrim();
    llvm::StringRef w = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(w.size());
    return w;
  }
  std::optional<Expr> sum();
  std::optional<Expr> term();
  std::optional<Expr> unary();
  std::optional<Expr> primary();
  std::optional<Expr> inputSize();
  std::optional<Expr> call(llvm::StringRef name);
  std::optional<Expr> quotedSymbol();
  bool arguments(std::vector<Expr> &into);

  llvm::StringRef rest;
  const Inputs *inputs;
  unsigned depth = 0;
};

bool small(const Expr &e) { return e.terms().size() <= maxTerms; }

std::optional<Expr> multiply(const Expr &a, const Expr &b) {
  if (a.terms().size() * b.terms().size() > maxTerms)
    return std::nullopt;
  return a * b;
}

std::optional<Expr> applyFunction(llvm::StringRef name, const std::vector<Expr> &args) {
  auto fold = [&](auto combine) -> std::optional<Expr> {
    if (args.empty())
      return std::nullopt;
    std::optional<Expr> result = args[0];
    for (size_t i = 1; i < args.size() && result; ++i)
      result = combine(*result, args[i]);
    return result && small(*result) ? result : std::nullopt;
  };
  bool nonZero = args.size() >= 2 && !args[1].isZero();
  if (name == "Add")
    return fold([](const Expr &a, const Expr &b) { return std::optional<Expr>(a + b); });
  if (name == "Mul")
    return fold(multiply);
  if (name == "Max" || name == "max")
    return fold([](const Expr &a, const Expr &b) { return std::optional<Expr>(Expr::max(a, b)); });
  if (name == "Min" || name == "min")
    return fold([](const Expr &a, const Expr &b) { return std::optional<Expr>(Expr::min(a, b)); });
  if ((name == "FloorDiv" || name == "CleanDiv") && args.size() == 2 && nonZero)
    return Expr::floordiv(args[0], args[1]);
  if (name == "CeilDiv" && args.size() == 2 && nonZero)
    return Expr::ceildiv(args[0], args[1]);
  if ((name == "Mod" || name == "PythonMod") && args.size() == 2 && nonZero)
    return Expr::mod(args[0], args[1]);
  if (name == "ModularIndexing" && args.size() == 3 && nonZero && !args[2].isZero())
    return Expr::mod(Expr::floordiv(args[0], args[1]), args[2]);
  if ((name == "Pow" || name == "PowByNatural") && args.size() == 2) {
    auto power = args[1].constant();
    if (!power || *power < 0 || *power > 8)
      return std::nullopt;
    std::optional<Expr> result = Expr(1);
    for (int64_t i = 0; i < *power && result; ++i)
      result = multiply(*result, args[0]);
    return result;
  }
  return std::nullopt;
}

} // namespace

std::optional<Expr> Parser::sum() {
  if (++depth > maxDepth)
    return std::nullopt;
  auto left = term();
  while (left) {
    bool plus = take("+");
    if (!plus && !take("-"))
      break;
    auto right = term();
    if (!right)
      return std::nullopt;
    left = plus ? *left + *right : *left - *right;
    if (!small(*left))
      return std::nullopt;
  }
  --depth;
  return left;
}

std::optional<Expr> Parser::term() {
  auto left = unary();
  while (left) {
    llvm::StringRef name = take("//") ? "FloorDiv" : take("**") ? "Pow" : take("*") ? "Mul" : take("%") ? "Mod" : "";
    if (name.empty())
      break;
    auto right = unary();
    if (!right)
      return std::nullopt;
    left = applyFunction(name, {*left, *right});
  }
  return left;
}

std::optional<Expr> Parser::unary() {
  bool negative = false;
  while (take("-"))
    negative = !negative;
  auto e = primary();
  return e && negative ? -*e : e;
}

std::optional<Expr> Parser::primary() {
  if (take("(")) {
    auto e = sum();
    return e && take(")") ? e : std::nullopt;
  }
  llvm::StringRef name = word();
  if (name.empty())
    return std::nullopt;
  if (llvm::isDigit(name[0])) {
    int64_t value;
    return name.getAsInteger(10, value) ? std::nullopt : std::optional<Expr>(Expr(value));
  }
  if (name == "L" && inputs)
    return inputSize();
  if (take("("))
    return call(name);
  // In guards every size is an input's; a bare name is something else.
  return inputs || name.contains('.') ? std::nullopt : std::optional<Expr>(Expr::symbol(name));
}

/// After L: ['a'][0].size()[1]
std::optional<Expr> Parser::inputSize() {
  std::string name;
  while (take("[")) {
    bool quoted = take("'");
    llvm::StringRef part = quoted ? rest.take_until([](char c) { return c == '\''; }) : word();
    if (quoted)
      rest = rest.drop_front(part.size());
    if (part.empty() || (quoted && !take("'")) || !take("]"))
      return std::nullopt;
    name += (name.empty() ? "" : "_") + part.str();
  }
  if (!take(".size()["))
    return std::nullopt;
  size_t axis;
  if (word().getAsInteger(10, axis) || !take("]"))
    return std::nullopt;
  auto found = inputs->find(name);
  if (found == inputs->end() || axis >= found->second.size())
    return std::nullopt;
  return found->second[axis];
}

std::optional<Expr> Parser::call(llvm::StringRef name) {
  if (name == "Symbol")
    return quotedSymbol();
  std::vector<Expr> args;
  if (!arguments(args))
    return std::nullopt;
  if (name == "Integer" || name == "int")
    return args.size() == 1 ? std::optional<Expr>(args[0]) : std::nullopt;
  return applyFunction(name, args);
}

/// After "Symbol(": 's0', positive=True, integer=True)
std::optional<Expr> Parser::quotedSymbol() {
  if (!take("'"))
    return std::nullopt;
  llvm::StringRef name = word();
  if (name.empty() || llvm::isDigit(name[0]) || name.contains('.') || !take("'"))
    return std::nullopt;
  while (take(","))
    if (word().empty() || !take("=") || word().empty())
      return std::nullopt;
  return take(")") ? std::optional<Expr>(Expr::symbol(name)) : std::nullopt;
}

bool Parser::arguments(std::vector<Expr> &into) {
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
    auto e = sum();
    if (!e || into.size() >= maxTerms)
      return false;
    into.push_back(*e);
  } while (take(","));
  return take(")");
}

std::optional<Condition> Parser::comparison() {
  using Kind = Condition::Kind;
  auto left = sum();
  if (!left)
    return std::nullopt;
  Kind kind;
  if (take("=="))
    kind = Kind::Equal;
  else if (take("!="))
    kind = Kind::NotEqual;
  else if (take("<="))
    kind = Kind::LessEqual;
  else if (take(">="))
    kind = Kind::GreaterEqual;
  else if (take("<"))
    kind = Kind::Less;
  else if (take(">"))
    kind = Kind::Greater;
  else
    return std::nullopt;
  auto right = sum();
  if (!right || !atEnd())
    return std::nullopt;
  return Condition{kind, *left, *right};
}

std::optional<Condition> Parser::relationCall() {
  using Kind = Condition::Kind;
  auto kind = llvm::StringSwitch<std::optional<Kind>>(word())
                  .Cases("Eq", "Equality", Kind::Equal)
                  .Cases("Ne", "Unequality", Kind::NotEqual)
                  .Cases("Lt", "StrictLessThan", Kind::Less)
                  .Cases("Le", "LessThan", Kind::LessEqual)
                  .Cases("Gt", "StrictGreaterThan", Kind::Greater)
                  .Cases("Ge", "GreaterThan", Kind::GreaterEqual)
                  .Default(std::nullopt);
  std::vector<Expr> args;
  if (!kind || !take("(") || !arguments(args) || args.size() != 2 || !atEnd())
    return std::nullopt;
  return Condition{*kind, args[0], args[1]};
}

std::optional<Expr> fx::parseSymPy(llvm::StringRef text) { return Parser(text, nullptr).whole(); }

std::optional<Condition> fx::parseSymPyCondition(llvm::StringRef text) { return Parser(text, nullptr).relationCall(); }

std::optional<Condition> fx::parseGuard(llvm::StringRef text, const std::map<std::string, std::vector<Expr>> &inputs) {
  return Parser(text, &inputs).comparison();
}
