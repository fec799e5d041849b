//===- Answers.cpp - Answers that are kept ---------------------------------===//
//
// The same is asked again and again: of each kernel's accesses when it is made, when it is verified, and for each target, each time
// of a Facts of its own. What the answer depends on is written down, and answers are kept by that.
//
//===----------------------------------------------------------------------===//

#include "FactsImpl.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/BLAKE3.h"

namespace lathe::shape {

namespace {
/// What a question is about: texts, each with its length, so that none is read as two.
class Words {
public:
  explicit Words(const Facts::State &state) : state(state) {}
  void add(llvm::StringRef word) {
    text += std::to_string(word.size());
    text += ':';
    text += word;
  }
  void addExpr(const Expr &e) {
    add(e.str());
    for (const AtomRef &symbol : ExprBuilder::symbols(e))
      addSymbol(symbol->text);
  }
  std::string text;
  std::set<std::string> known; ///< the symbols

private:
  /// The symbol's range, its extent where it is an axis, and what these speak of.
  void addSymbol(const std::string &name) {
    if (!known.insert(name).second)
      return;
    auto end = [](const std::optional<int64_t> &value) { return value ? std::to_string(*value) : std::string(); };
    if (auto range = state.ranges.find(name); range != state.ranges.end())
      add(name + ' ' + end(range->second.min) + ".." + end(range->second.max));
    if (auto axis = state.axes.find(name); axis != state.axes.end()) {
      add(name);
      addExpr(axis->second);
    }
  }

  const Facts::State &state;
};

class Answers {
public:
  std::optional<bool> find(llvm::StringRef question) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = known.find(question);
    return it == known.end() ? std::nullopt : std::optional<bool>(it->second);
  }
  void keep(llvm::StringRef question, bool answer) {
    constexpr size_t most = 100000;
    std::lock_guard<std::mutex> lock(mutex);
    if (known.size() >= most)
      known.clear();
    known.try_emplace(question, answer);
  }

private:
  std::mutex mutex;
  llvm::StringMap<bool> known;
};
} // namespace

static Answers &answers() {
  static auto *all = new Answers;
  return *all;
}

/// What is known besides of the symbols, a relation in some corner of a model among it, may decide any question.
std::string Facts::State::relationsKey() const {
  {
    std::lock_guard<std::mutex> lock(cacheMutex);
    if (relations)
      return *relations;
  }
  Words words(*this);
  for (const Expr &g : nonNegative)
    words.addExpr(g);
  std::string key(words.text);
  if (constexpr size_t longest = 64; key.size() > longest) {
    llvm::BLAKE3Result<> digest = llvm::BLAKE3::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(key.data()), key.size()));
    key.assign(reinterpret_cast<const char *>(digest.data()), digest.size());
  }
  std::lock_guard<std::mutex> lock(cacheMutex);
  relations = key;
  inRelations = std::move(words.known);
  return key;
}

bool Prover::nonNegative(const Facts::State &state, const Expr &e, const Expr &divisor) {
  if (e.isUnknown())
    return false;
  Words words(state);
  words.add(state.relationsKey());
  words.addExpr(e);
  words.addExpr(divisor);
  if (std::optional<bool> answer = answers().find(words.text))
    return *answer;
  Prover prover(state);
  prover.assumeDivisor(divisor);
  bool holds = prover.nonNegative(e);
  answers().keep(words.text, holds);
  return holds;
}

bool Prover::nonNegative(const Facts::State &state, const Expr &e) {
  if (e.isUnknown())
    return false;
  {
    std::lock_guard<std::mutex> lock(state.cacheMutex);
    if (auto it = state.proofs.find(e); it != state.proofs.end())
      return it->second;
  }
  bool holds = nonNegative(state, e, Expr(1));
  std::lock_guard<std::mutex> lock(state.cacheMutex);
  if (state.proofs.size() > 100000)
    state.proofs.clear();
  return state.proofs.emplace(e, holds).first->second;
}

} // namespace lathe::shape
