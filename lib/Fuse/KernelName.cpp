//===- KernelName.cpp - What a kernel is called -----------------------------===//

#include "KernelName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace lathe;
using llvm::StringRef;

static constexpr size_t maxWords = 3;

/// LayerNormalization -> layer_normalization; what is in lower case stays.
static std::string snakeCase(StringRef name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    bool upper = llvm::isUpper(name[i]), afterLower = i && !llvm::isUpper(name[i - 1]) && name[i - 1] != '_';
    bool beforeLower = i && i + 1 < name.size() && llvm::isLower(name[i + 1]) && name[i - 1] != '_';
    if (upper && (afterLower || beforeLower))
      out += '_';
    out += llvm::isAlnum(name[i]) ? llvm::toLower(name[i]) : '_';
  }
  return out;
}

std::string fuse::wordOf(StringRef op) {
  if (size_t at = op.find("aten."); at != StringRef::npos) // torch.ops.aten._softmax.default
    op = op.drop_front(at + 5).take_until([](char c) { return c == '.'; });
  op = op.trim('_');
  op.consume_front("native_");
  std::string word = snakeCase(op);
  static const std::pair<StringRef, StringRef> shorter[] = {{"mat_mul", "matmul"},
                                                            {"normalization", "norm"},
                                                            {"convolution", "conv"},
                                                            {"scaled_dot_product_attention", "attention"}};
  for (auto [from, to] : shorter)
    if (size_t at = word.find(from); at != std::string::npos)
      word.replace(at, from.size(), to);
  return word;
}

/// Operators that move elements or change their type: of no interest beside any other.
static bool movesOnly(StringRef word) {
  static const llvm::StringSet<> words = {"alias",   "cast",    "cast_like", "clone",       "constant",  "contiguous",
                                          "detach",  "dropout", "expand",    "flatten",     "identity",  "permute",
                                          "reshape", "shape",   "slice",     "split",       "squeeze",   "t",
                                          "to",      "to_copy", "transpose", "unsafe_view", "unsqueeze", "view"};
  return words.contains(word);
}

/// Operators of which any kernel may have some.
static bool isArithmetic(StringRef word) {
  static const llvm::StringSet<> words = {"add", "addcmul",    "div",   "mul",  "neg",
                                          "pow", "reciprocal", "rsqrt", "sqrt", "sub"};
  return words.contains(word);
}

namespace {
/// What exporters write out as several operators.
struct Composition {
  StringRef name;
  std::vector<StringRef> words;
};
} // namespace

/// Gives a composition that is there the place of its first word.
static void nameCompositions(std::vector<std::string> &words, std::string &main) {
  static const Composition all[] = {{"layer_norm", {"reduce_mean", "sub", "sqrt", "div"}},
                                    {"layer_norm", {"reduce_mean", "sub", "pow", "div"}},
                                    {"layer_norm", {"mean", "sub", "rsqrt", "mul"}},
                                    {"rms_norm", {"reduce_mean", "pow", "div"}},
                                    {"rms_norm", {"mean", "pow", "rsqrt"}},
                                    {"softmax", {"reduce_max", "sub", "exp", "reduce_sum", "div"}},
                                    {"gelu", {"erf", "add", "mul"}}};
  for (const Composition &c : all) {
    if (!llvm::all_of(c.words, [&](StringRef word) { return llvm::is_contained(words, word); }))
      continue;
    *llvm::find(words, c.words.front()) = c.name.str();
    llvm::erase_if(words,
                   [&](const std::string &word) { return !isArithmetic(word) && llvm::is_contained(c.words, word); });
    if (llvm::is_contained(c.words, main))
      main = c.name.str();
  }
}

std::string fuse::nameOf(llvm::ArrayRef<std::string> ops, StringRef main) {
  std::vector<std::string> all;
  for (const std::string &op : ops)
    if (!op.empty() && !llvm::is_contained(all, wordOf(op)))
      all.push_back(wordOf(op));
  std::string mainWord = main.empty() ? std::string() : wordOf(main);
  nameCompositions(all, mainWord);
  auto keep = [&](llvm::function_ref<bool(StringRef)> isDull) {
    std::vector<std::string> kept;
    for (const std::string &word : all)
      if (word == mainWord || !isDull(word))
        kept.push_back(word);
    return kept;
  };
  std::vector<std::string> words = keep([](StringRef w) { return movesOnly(w) || isArithmetic(w); });
  if (words.empty())
    words = keep(movesOnly);
  if (words.empty())
    words.assign(all.begin(), all.end());
  size_t at = llvm::find(words, mainWord) - words.begin(); // the main one, and what follows it
  size_t first = at < words.size() && at >= maxWords ? at : 0;
  return llvm::join(llvm::ArrayRef(words).drop_front(first).take_front(maxWords), "_");
}
