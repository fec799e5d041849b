//===- Hints.cpp - Sizes that are expected ---------------------------------===//

#include "lathe/Schedule/Hints.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using shape::Expr;

/// The declarations of sizes, by their names.
static std::map<std::string, Operation *> symbolsOf(ModuleOp module) {
  std::map<std::string, Operation *> symbols;
  for (Operation &op : *module.getBody())
    if (auto name = op.getAttrOfType<StringAttr>("name"); name && op.getName().getStringRef() == "lathe.symbol")
      symbols[name.str()] = &op;
  return symbols;
}

static std::vector<int64_t> expectedOf(Operation *symbol) {
  auto expected = symbol->getAttrOfType<DenseI64ArrayAttr>("hints");
  return expected ? std::vector<int64_t>(expected.asArrayRef()) : std::vector<int64_t>();
}

/// What a size that stands for an expression is where the sizes in that are as expected, each with each.
static std::vector<int64_t> expectedOf(const Expr &definition, const std::map<std::string, Operation *> &symbols) {
  std::vector<std::string> inside;
  std::vector<SizeHints> hints;
  for (const std::string &name : definition.symbols()) {
    auto symbol = symbols.find(name);
    hints.push_back({0, std::nullopt, symbol == symbols.end() ? std::vector<int64_t>() : expectedOf(symbol->second)});
    inside.push_back(name);
    if (hints.back().expected.empty())
      return {};
  }
  std::set<int64_t> values;
  for (const Point &p : pointsOf(inside, hints))
    if (std::optional<int64_t> value = definition.evaluate(p))
      values.insert(*value);
  return {values.begin(), values.end()};
}

std::vector<SizeHints> schedule::hintsOf(kernel::GenericOp kernel) {
  std::vector<SizeHints> out;
  std::map<std::string, Operation *> symbols = symbolsOf(kernel->getParentOfType<ModuleOp>());
  for (const std::string &size : kernel.getSizeSymbols()) {
    SizeHints &h = out.emplace_back();
    auto it = symbols.find(size);
    if (it == symbols.end())
      continue;
    Operation *symbol = it->second;
    auto definition = symbol->getAttrOfType<StringAttr>("definition");
    bool isOfLaunches = symbol->hasAttr("lathe.launch_size");
    if (isOfLaunches && Expr::parsed(definition.getValue()).constant()) {
      h.expected = {1}; // the kernels that share code have other numbers: no way to run goes by them
      continue;
    }
    h.min = std::max<int64_t>(0, symbol->getAttrOfType<IntegerAttr>("min").getInt());
    if (int64_t max = symbol->getAttrOfType<IntegerAttr>("max").getInt(); max >= 0)
      h.max = max;
    h.expected = isOfLaunches ? expectedOf(Expr::parsed(definition.getValue()), symbols) : expectedOf(symbol);
  }
  return out;
}

/// The sizes that one symbol is tried with, ascending.
static std::vector<int64_t> valuesOf(const SizeHints &h) {
  constexpr int64_t largest = 1 << 18, everyUpTo = 8; // short rows have ways of their own for each length
  constexpr int64_t quartersFrom = 16, quartersTo = 64, eighthsFrom = 32; // and those of a few vectors for few of them
  std::vector<int64_t> values = h.expected;
  if (values.empty()) {
    for (int64_t v = std::max<int64_t>(h.min, 1); v <= std::min(everyUpTo, h.max.value_or(everyUpTo)); ++v)
      values.push_back(v);
    auto add = [&](int64_t v) {
      if (v >= std::max<int64_t>(h.min, 1) && v <= h.max.value_or(largest))
        values.push_back(v);
    };
    for (int64_t power = 1; power <= largest; power *= 2) {
      add(power);
      add(power / 2 * 3);
      if (power >= quartersFrom && power <= quartersTo) {
        add(power / 4 * 5);
        add(power / 4 * 7);
      }
      for (int64_t odd = 9; power >= eighthsFrom && power <= quartersTo && odd < 16; odd += 2)
        add(power / 8 * odd);
    }
    if (h.max && (values.empty() || *h.max <= largest))
      values.push_back(*h.max);
    if (values.empty())
      values.push_back(std::max<int64_t>(h.min, 1));
  }
  llvm::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<Point> schedule::pointsOf(ArrayRef<std::string> sizes, ArrayRef<SizeHints> hints) {
  constexpr size_t most = 64;
  constexpr int64_t usual = 128; // what the others are while one varies
  std::vector<std::vector<int64_t>> values;
  size_t all = 1;
  for (const SizeHints &h : hints) {
    values.push_back(valuesOf(h));
    all = std::min(all * values.back().size(), most + 1);
  }
  std::vector<Point> points{{}};
  if (all <= most) {
    for (auto [size, own] : llvm::zip(sizes, values)) {
      std::vector<Point> next;
      for (const Point &p : points)
        for (int64_t v : own) {
          next.push_back(p);
          next.back()[size] = v;
        }
      points = std::move(next);
    }
    return points;
  }
  for (auto [size, own] : llvm::zip(sizes, values)) {
    auto above = llvm::lower_bound(own, usual);
    points[0][size] = above == own.end() ? own.back() : *above;
  }
  for (auto [size, own] : llvm::zip(sizes, values))
    for (int64_t v : own)
      if (Point p = points[0]; p[size] != v) {
        p[size] = v;
        points.push_back(p);
      }
  // The least of all together, as in a decoder's step: one row of one sequence.
  Point least;
  for (auto [size, own] : llvm::zip(sizes, values))
    least[size] = own.front();
  points.push_back(least);
  return points;
}

std::string schedule::textOf(ArrayRef<SizeHints> hints) {
  std::string out;
  for (const SizeHints &h : hints) {
    out += std::to_string(h.min) + ".." + (h.max ? std::to_string(*h.max) : "") + "@";
    for (int64_t v : h.expected)
      out += std::to_string(v) + ",";
    out += ";";
  }
  return out;
}
