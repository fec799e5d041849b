//===- Predicate.cpp - Conditions on sizes ---------------------------------===//

#include "lathe/Schedule/Predicate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace lathe;
using namespace lathe::schedule;
using llvm::StringRef;
using shape::Expr;

/// Both ways round, as they are read; the first three are printed.
static const struct {
  StringRef text;
  Relation relation;
  bool swapped;
} relations[] = {{"<=", Relation::LessEqual, false},
                 {"<", Relation::Less, false},
                 {"=", Relation::Equal, false},
                 {">=", Relation::LessEqual, true},
                 {">", Relation::Less, true}};

static llvm::Error errorAt(StringRef text, const llvm::Twine &what) {
  return llvm::createStringError("condition '" + text + "': " + what);
}

static llvm::Expected<Comparison> parseOne(StringRef text) {
  size_t at = text.find_first_of("<>=");
  if (at == StringRef::npos)
    return errorAt(text, "expected a comparison by <, <=, =, >= or >");
  StringRef op = text.substr(at, text.substr(at).size() > 1 && text[at + 1] == '=' ? 2 : 1);
  auto found = llvm::find_if(relations, [&](const auto &r) { return r.text == op; });
  if (found == std::end(relations))
    return errorAt(text, "expected a comparison by <, <=, =, >= or >");
  llvm::Expected<Expr> left = Expr::parse(text.take_front(at).trim());
  if (!left)
    return errorAt(text, llvm::toString(left.takeError()));
  llvm::Expected<Expr> right = Expr::parse(text.drop_front(at + op.size()).trim());
  if (!right)
    return errorAt(text, llvm::toString(right.takeError()));
  if (found->swapped)
    std::swap(*left, *right);
  return Comparison{*left, *right, found->relation};
}

llvm::Expected<Predicate> Predicate::parse(StringRef text) {
  Predicate p;
  if (text.trim().empty())
    return p;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, " and ");
  for (StringRef part : parts) {
    llvm::Expected<Comparison> c = parseOne(part.trim());
    if (!c)
      return c.takeError();
    p.comparisons.push_back(*c);
  }
  return p;
}

Predicate &Predicate::add(const Expr &left, Relation relation, const Expr &right) {
  comparisons.push_back({left, right, relation});
  return *this;
}

std::string Predicate::str() const {
  std::string out;
  for (const Comparison &c : comparisons) {
    auto it = llvm::find_if(relations, [&](const auto &r) { return r.relation == c.relation && !r.swapped; });
    out += (out.empty() ? "" : " and ") + c.left.str() + " " + it->text.str() + " " + c.right.str();
  }
  return out;
}

std::optional<Predicate> Predicate::unknown() const {
  Predicate left;
  for (const Comparison &c : comparisons) {
    Predicate one;
    one.comparisons.push_back(c);
    if (c.left == c.right && c.relation != Relation::Less)
      continue;
    if (!c.left.constant() || !c.right.constant())
      left.comparisons.push_back(c);
    else if (!one.holds({}))
      return std::nullopt;
  }
  return left;
}

std::set<std::string> Predicate::symbols() const {
  std::set<std::string> out;
  for (const Comparison &c : comparisons)
    for (const Expr &e : {c.left, c.right})
      for (const std::string &s : e.symbols())
        out.insert(s);
  return out;
}

bool Predicate::holds(const std::map<std::string, int64_t> &sizes) const {
  return llvm::all_of(comparisons, [&](const Comparison &c) {
    std::optional<int64_t> l = c.left.evaluate(sizes), r = c.right.evaluate(sizes);
    if (!l || !r)
      return false;
    return c.relation == Relation::Less ? *l < *r : c.relation == Relation::LessEqual ? *l <= *r : *l == *r;
  });
}

Predicate Predicate::substitute(const std::map<std::string, Expr> &with) const {
  Predicate p;
  for (const Comparison &c : comparisons)
    p.comparisons.push_back({c.left.substitute(with), c.right.substitute(with), c.relation});
  return p;
}

std::map<std::string, Expr> Predicate::equalities() const {
  std::map<std::string, Expr> out;
  for (const Comparison &given : comparisons) {
    if (given.relation != Relation::Equal)
      continue;
    Expr left = given.left.substitute(out), right = given.right.substitute(out);
    if (!left.asSymbol())
      std::swap(left, right);
    std::optional<std::string> symbol = left.asSymbol();
    if (!symbol || right.mentions(*symbol))
      continue;
    for (auto &[name, e] : out)
      e = e.substitute({{*symbol, right}});
    out.emplace(*symbol, right);
  }
  return out;
}
