//===- ExprParser.cpp - The text form of expressions -----------------------===//
//
//   sum     = product { ('+' | '-') product }
//   product = unary { ('*' | '//' | '%') unary }
//   unary   = { '-' } primary
//   primary = number | symbol | name '(' sum ',' sum ')' | '(' sum ')'
//   symbol  = name | name '[' [ number ] ']' | '%' name
//   name    = identifier | quoted
//
//===----------------------------------------------------------------------===//

#include "lathe/Shape/Expr.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace lathe::shape {

namespace {
constexpr unsigned maxNesting = 64;
constexpr size_t maxLength = 1 << 16;

class Parser {
public:
  /// `sizes`: every name is a size's.
  Parser(llvm::StringRef text, bool sizes) : text(text), sizes(sizes) {}

  llvm::Expected<Expr> run() {
    if (text.size() > maxLength)
      fail("a shorter expression");
    Expr e = parseSum();
    skipSpace();
    if (at < text.size())
      fail("an operator or the end");
    if (error.empty() && e.isUnknown())
      error = "the expression '" + text.take_front(60).str() + "' does not fit 64-bit arithmetic or divides by zero";
    if (!error.empty())
      return llvm::createStringError(llvm::inconvertibleErrorCode(), error);
    return e;
  }

private:
  void skipSpace() {
    while (at < text.size() && llvm::isSpace(text[at]))
      ++at;
  }
  bool take(llvm::StringRef token) {
    skipSpace();
    if (!text.substr(at).starts_with(token))
      return false;
    at += token.size();
    return true;
  }
  /// Keeps the first error only, and stops all further reading.
  Expr fail(llvm::StringRef expected) {
    if (error.empty())
      error = "column " + std::to_string(at + 1) + " of '" + text.take_front(60).str() + "': expected " + expected.str();
    text = text.take_front(at);
    return Expr(0);
  }

  Expr parseSum() {
    if (++depth > maxNesting)
      return fail("fewer nested parentheses");
    Expr e = parseProduct();
    while (error.empty()) {
      if (take("+"))
        e = e + parseProduct();
      else if (take("-"))
        e = e - parseProduct();
      else
        break;
    }
    --depth;
    return e;
  }

  Expr parseProduct() {
    Expr e = parseUnary();
    while (error.empty()) {
      if (take("*"))
        e = e * parseUnary();
      else if (take("//"))
        e = Expr::floordiv(e, parseUnary());
      else if (take("%"))
        e = Expr::mod(e, parseUnary());
      else
        break;
    }
    return e;
  }

  Expr parseUnary() {
    bool negative = false;
    while (take("-"))
      negative = !negative;
    Expr e = parsePrimary(negative);
    return negative ? -e : e;
  }

  Expr parsePrimary(bool &negative) {
    skipSpace();
    if (take("(")) {
      Expr e = parseSum();
      return take(")") ? e : fail("')'");
    }
    llvm::StringRef rest = text.substr(at);
    if (rest.empty())
      return fail("a number, a name or '('");
    if (llvm::isDigit(rest.front()))
      return parseNumber(rest.take_while(llvm::isDigit), negative);
    if (rest.front() == '\'') {
      std::optional<std::string> name = parseQuoted();
      return name ? parseElement(*name) : Expr(0);
    }
    if (rest.front() == '%' && !sizes)
      return parseHost();
    llvm::StringRef name = word();
    if (name.empty())
      return fail("a number, a name or '('");
    if (take("("))
      return parseCall(name);
    if (sizes)
      return Expr::size(name);
    return text.substr(at).starts_with("[") ? parseElement(name) : Expr::symbol(name);
  }

  llvm::StringRef word() {
    llvm::StringRef name = text.substr(at).take_while(
        [](char c) { return llvm::isAlnum(c) || llvm::StringRef("_$.@#").contains(c); });
    at += name.size();
    return name;
  }

  /// A size, or behind its name the place of an element.
  Expr parseElement(llvm::StringRef name) {
    if (sizes || !text.substr(at).starts_with("["))
      return Expr::size(name);
    ++at;
    llvm::StringRef digits = text.substr(at).take_while(llvm::isDigit);
    int64_t place;
    at += digits.size();
    if ((!digits.empty() && digits.getAsInteger(10, place)) || !take("]"))
      return fail("the place of an element");
    return Expr::element(name, digits.empty() ? std::nullopt : std::optional<int64_t>(place));
  }

  Expr parseHost() {
    ++at;
    if (!text.substr(at).starts_with("'")) {
      llvm::StringRef name = word();
      return name.empty() ? fail("a name") : Expr::host(name);
    }
    std::optional<std::string> name = parseQuoted();
    return name ? Expr::host(*name) : Expr(0);
  }

  Expr parseNumber(llvm::StringRef digits, bool &negative) {
    // The sign is read with the number, so that the smallest integer has a text.
    int64_t value;
    if (((negative ? "-" : "") + digits.str()).size() > 20 ||
        llvm::StringRef((negative ? "-" : "") + digits.str()).getAsInteger(10, value))
      return fail("a number of 64 bits");
    negative = false;
    at += digits.size();
    return Expr(value);
  }

  /// A quote within a name is written twice, a zero character as a quote and the digit: texts end at one in C.
  std::optional<std::string> parseQuoted() {
    llvm::StringRef rest = text.substr(at + 1);
    std::string name;
    for (size_t i = 0; i < rest.size(); ++i) {
      bool quote = rest[i] == '\'', zero = rest.substr(i + 1).starts_with("0");
      if (quote && !zero && !rest.substr(i + 1).starts_with("'")) {
        at += i + 2;
        return name;
      }
      i += quote;
      name += quote && zero ? '\0' : rest[i];
    }
    fail("a closing quote");
    return std::nullopt;
  }

  Expr parseCall(llvm::StringRef name) {
    using Function = Expr (*)(const Expr &, const Expr &);
    static const std::pair<llvm::StringRef, Function> functions[] = {
        {"floordiv", Expr::floordiv}, {"ceildiv", Expr::ceildiv}, {"mod", Expr::mod}, {"min", Expr::min}, {"max", Expr::max}};
    for (auto &[known, function] : functions) {
      if (name != known)
        continue;
      Expr a = parseSum();
      if (!take(","))
        return fail("','");
      Expr b = parseSum();
      if (!take(")"))
        return fail("')'");
      return function(a, b);
    }
    at -= 1;
    return fail("an operator: there is no function '" + name.str() + "'");
  }

  llvm::StringRef text;
  bool sizes;
  size_t at = 0;
  unsigned depth = 0;
  std::string error;
};
} // namespace

namespace {
/// What a thread read last. The intermediate forms hold expressions as text, and each pass, each verifier and each analysis reads them again: some ten
/// times each. Forgotten where there are many, so that no model fills the memory with them.
class ReadBefore {
public:
  const Expr *find(llvm::StringRef text) const {
    auto it = known.find(text);
    return it == known.end() ? nullptr : &it->second;
  }
  void keep(llvm::StringRef text, const Expr &e) {
    constexpr size_t most = 1 << 22; // bytes
    if ((bytes += text.size()) > most) {
      known.clear();
      bytes = text.size();
    }
    known.try_emplace(text, e);
  }

private:
  llvm::StringMap<Expr> known;
  size_t bytes = 0;
};
} // namespace

llvm::Expected<Expr> Expr::parse(llvm::StringRef text) {
  static thread_local ReadBefore before;
  if (const Expr *known = before.find(text))
    return *known;
  llvm::Expected<Expr> e = Parser(text, /*sizes=*/false).run();
  if (e)
    before.keep(text, *e);
  return e;
}

Expr Expr::parsed(llvm::StringRef text) {
  llvm::Expected<Expr> e = parse(text);
  if (e)
    return *e;
  llvm::consumeError(e.takeError());
  return unknown();
}

llvm::Expected<Expr> Expr::parseSizes(llvm::StringRef text) { return Parser(text, /*sizes=*/true).run(); }

} // namespace lathe::shape
