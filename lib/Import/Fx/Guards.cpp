//===- Guards.cpp - What a program asserts becomes facts and checks ---------===//
//
// torch.export states what its trace assumed in three places: ranges, guards in Python, and assertion nodes. PyTorch refuses
// inputs for which one of them does not hold, and so does the artifact's entry; what a branch or a loop's body states, where that runs. What the shape engine can use is a fact
// besides (equalities, divisibilities, orders), and what follows from earlier facts is not checked again.
//
//===----------------------------------------------------------------------===//

#include "Symbols.h"
#include "lathe/Shape/Divisibilities.h"
#include "lathe/Shape/Orders.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;
using shape::Atom;
using shape::Expr;
using Kind = Condition::Kind;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// min <= size <= max of sym_constrain_range(size, min=, max=).
static std::optional<Condition> constrainedRange(const Node &node) {
  const Argument &size = node.inputs[0].value;
  if (size.ints.size() != 1 || !size.ints[0].expr)
    return std::nullopt;
  Condition result = Condition::all({});
  for (const NamedArgument &end : llvm::drop_begin(node.inputs)) {
    if (end.value.kind == Argument::Kind::None)
      continue;
    if (end.value.ints.size() != 1 || !end.value.ints[0].expr || (end.name != "min" && end.name != "max"))
      return std::nullopt;
    result.operands.push_back(Condition::compare(end.name == "min" ? Kind::GreaterEqual : Kind::LessEqual, *size.ints[0].expr,
                                                 *end.value.ints[0].expr));
  }
  return result;
}

/// The condition that an _assert_scalar is given by name, or as a constant.
static NamedCondition assertedCondition(const Node &node, const Graph &graph) {
  const Argument &a = node.inputs[0].value;
  if (auto found = graph.conditions.find(a.symbol); found != graph.conditions.end())
    return found->second;
  // A number asserts that it is not 0.
  if ((a.kind == Argument::Kind::Int || a.kind == Argument::Kind::Bool) && a.ints[0].expr)
    return {Condition::compare(Kind::NotEqual, *a.ints[0].expr, Expr(0)), a.ints[0].text};
  return {std::nullopt, a.symbol};
}

/// What the nodes of a graph assert of sizes.
static std::vector<Statement> assertionsOf(const Graph &graph) {
  std::vector<Statement> all;
  for (const Node &node : graph.nodes) {
    StringRef target = node.target;
    std::string place = "node '" + node.name + "' (" + node.target + "): ";
    if (node.inputs.empty())
      continue;
    if (target == "aten._assert_scalar.default") {
      NamedCondition asserted = assertedCondition(node, graph);
      all.push_back({asserted.condition, place + "the assertion '" + asserted.text + "'"});
    } else if (target.starts_with("aten.sym_constrain_range")) {
      all.push_back({constrainedRange(node), place + "the range of '" + node.inputs[0].value.symbol + "'"});
    }
  }
  return all;
}

static std::vector<Statement> statementsOf(const Program &program) {
  std::map<std::string, std::vector<Expr>> byName;
  for (auto &[name, sizes] : inputSizes(program))
    byName.emplace(name, sizes);
  std::vector<Statement> all;
  for (const Condition &bound : program.bounds)
    all.push_back({bound, "the range '" + bound.str() + "'"});
  for (const std::string &guard : program.guards)
    all.push_back({parseGuard(guard, byName), "the guard '" + guard + "'"});
  llvm::append_range(all, assertionsOf(program));
  return all;
}

//===----------------------------------------------------------------------===//
// Facts and checks
//===----------------------------------------------------------------------===//

void Symbols::relate(const Expr &left, const char *kind, const Expr &right, std::string says) {
  relations.push_back({left, kind, right, std::move(says), body});
}

/// False where it contradicts what is known.
bool Symbols::learnEquality(const Condition &c) {
  Expr difference = known.simplify(c.left - c.right);
  if (auto multiple = shape::asDivisibility(difference, known)) {
    known.addDivides(multiple->first, multiple->second);
    relate(multiple->first, "divides", multiple->second);
    return true;
  }
  std::vector<Expr::Term> terms = difference.terms();
  const Expr::Term *opaque = shape::onlyOpaqueTerm(terms);
  if (!difference.hasOpaque() || (opaque && (opaque->coefficient == 1 || opaque->coefficient == -1))) {
    relate(c.left, "eq", c.right);
    return known.addEquality(c.left, c.right);
  }
  // Of several divisions, one is written as the others from now on: what two ways of halving make of an image is of one size.
  relate(c.excess(), "holds", Expr(0), c.str());
  return terms.size() > 3 || known.addEquality(c.left, c.right);
}

/// False where it contradicts what is known.
bool Symbols::learn(const Condition &c) {
  if (c.follows(known))
    return true;
  Expr excess = c.excess();
  if (known.provablyLess(Expr(0), excess))
    return false;
  if (c.kind == Kind::Equal)
    return learnEquality(c);
  // What cannot be negative and is at most 0 is 0: a remainder, and so the padding of a length to whole blocks.
  if (known.provablyLessEqual(Expr(0), excess))
    return learnEquality(Condition::compare(Kind::Equal, excess, Expr(0)));
  relate(excess, "holds", Expr(0), c.str());
  return shape::learnOrder(known, excess);
}

/// What the engine can use best comes first, so that the rest may follow from it: a divisibility gives quotients the names that other
/// equalities are written with.
constexpr int lastRank = 3;
static int rankOf(const Condition &c, const shape::Facts &known) {
  if (c.kind != Kind::Equal)
    return lastRank;
  if (!c.left.hasOpaque() && !c.right.hasOpaque())
    return 0;
  return shape::asDivisibility(known.simplify(c.left - c.right), known) ? 1 : 2;
}

/// Late symbols that are only where a tensor begins in memory, of which nothing here depends.
static std::set<std::string> offsetsOf(const Graph &graph) {
  std::set<std::string> offsets, sizes;
  for (const auto &[name, meta] : graph.tensors) {
    if (meta.offset.expr)
      offsets.merge(meta.offset.expr->symbols());
    for (const Size &size : meta.sizes)
      if (size.expr)
        sizes.merge(size.expr->symbols());
  }
  for (const std::string &size : sizes)
    offsets.erase(size);
  return offsets;
}

llvm::Error Symbols::learnConditions(const Program &program, llvm::ArrayRef<Statement> needed, StringRef file) {
  std::vector<Statement> stated = statementsOf(program);
  llvm::copy_if(needed, std::back_inserter(stated), [](const Statement &s) { return s.place.empty(); });
  return learnAll(stated, offsetsOf(program), file);
}

llvm::Error Symbols::enter(const Graph &graph, std::vector<Statement> stated, StringRef function, StringRef file) {
  outside.push_back({known, body});
  known = known.clone();
  body = function.str();
  llvm::append_range(stated, assertionsOf(graph));
  return learnAll(stated, offsetsOf(graph), file);
}

void Symbols::leave() {
  for (const auto &quotient : known.derived())
    if (!llvm::is_contained(quotients, quotient))
      quotients.push_back(quotient);
  std::tie(known, body) = outside.back();
  outside.pop_back();
}

llvm::Error Symbols::learnAll(llvm::ArrayRef<Statement> stated, const std::set<std::string> &offsets, StringRef file) {
  std::vector<std::pair<Condition, std::string>> all;
  for (const Statement &s : stated) {
    auto refuse = [&](const llvm::Twine &why) { unsupported.push_back((file + ": " + s.text + " " + why).str()); };
    if (!s.condition) {
      refuse("is no condition between the inputs' sizes that the compiler can check");
      continue;
    }
    std::set<std::string> mentioned = s.condition->symbols();
    auto unbound = llvm::find_if(mentioned, [&](const std::string &name) { return !find(name); });
    if (unbound != mentioned.end()) {
      refuse("is about " + shape::nameOf(*unbound) + ", which no input's size gives");
      continue;
    }
    if (llvm::any_of(mentioned, [&](const std::string &name) { return isLate(name) && offsets.count(name); }))
      continue;
    for (const std::string &name : mentioned)
      if (isLate(name))
        aboutLate.emplace_back(name, (file + ": " + s.text + " is about " + shape::nameOf(name) + ", which no input's size and no node gives").str());
    for (Condition &c : s.condition->conjuncts())
      if (c.excess().isUnknown())
        refuse("does not fit 64-bit arithmetic");
      else
        all.emplace_back(std::move(c), s.text);
  }
  std::vector<bool> done(all.size());
  for (int rank = 0; rank <= lastRank; ++rank)
    for (size_t i = 0; i < all.size(); ++i) {
      const auto &[condition, text] = all[i];
      if (done[i] || rankOf(condition, known) > rank)
        continue;
      done[i] = true;
      if (!learn(condition))
        return userError("{0}: {1} holds for no sizes that the other conditions and the options allow", file, text);
    }
  return llvm::Error::success();
}
