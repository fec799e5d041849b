//===- SymbolText.cpp - How symbols are written ----------------------------===//

#include "ExprImpl.h"
#include "llvm/ADT/StringExtras.h"

namespace lathe::shape {

static bool isAxisText(llvm::StringRef text) {
  return text.size() > 1 && text.front() == 'i' && llvm::all_of(text.drop_front(), llvm::isDigit);
}

static bool isIdentifier(llvm::StringRef name) {
  auto word = [](char c) { return llvm::isAlnum(c) || llvm::StringRef("_$.@#").contains(c); };
  return !name.empty() && !llvm::isDigit(name.front()) && name.front() != '$' && llvm::all_of(name, word);
}

/// A quote within is written twice and a zero character as '0, for texts end at one in C.
std::string quotedName(llvm::StringRef name) {
  if (isIdentifier(name) && !isAxisText(name))
    return name.str();
  std::string text = "'";
  for (char c : name)
    text += c == '\'' ? "''" : c == '\0' ? "'0" : std::string(1, c);
  return text + "'";
}

/// Inside of the quotes, where there are any.
static std::string unquoted(llvm::StringRef text) {
  if (!text.consume_front("'"))
    return text.str();
  std::string name;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    bool escapes = text[i] == '\'';
    i += escapes;
    name += escapes && text[i] == '0' ? '\0' : text[i];
  }
  return name;
}

/// A quoted name ends in a quote and any other in a letter of an identifier: the first and the last character tell
/// kinds apart.
SymbolKind kindOf(llvm::StringRef symbol) {
  if (symbol.ends_with("]"))
    return SymbolKind::Element;
  if (symbol.starts_with("%"))
    return SymbolKind::Host;
  if (symbol.consume_front("$"))
    return !symbol.empty() && llvm::all_of(symbol, llvm::isDigit) ? SymbolKind::Indirect : SymbolKind::Variable;
  return isAxisText(symbol) ? SymbolKind::Axis : SymbolKind::Size;
}

std::string nameOf(llvm::StringRef symbol) {
  switch (kindOf(symbol)) {
  case SymbolKind::Size:
    return unquoted(symbol);
  case SymbolKind::Element: {
    auto [tensor, place] = symbol.rsplit('[');
    return unquoted(tensor) + "[" + place.str();
  }
  case SymbolKind::Host:
    return "%" + unquoted(symbol.drop_front());
  default:
    return symbol.str();
  }
}

bool isSymbolText(llvm::StringRef text) {
  llvm::Expected<Expr> e = Expr::parse(text);
  if (e)
    return e->asSymbol() == text.str();
  llvm::consumeError(e.takeError());
  return false;
}

} // namespace lathe::shape
