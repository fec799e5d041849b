//===- Hints.cpp - Sizes that are expected ---------------------------------===//

#include "lathe/Schedule/Hints.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using shape::Expr;

std::vector<SizeHints> schedule::hintsOf(kernel::GenericOp kernel) {
  std::vector<SizeHints> out;
  auto module = kernel->getParentOfType<ModuleOp>();
  for (const std::string &size : kernel.getSizeSymbols()) {
    SizeHints h;
    for (Operation &op : *module.getBody()) {
      auto name = op.getAttrOfType<StringAttr>("name");
      if (op.getName().getStringRef() != "lathe.symbol" || !name || name.getValue() != size)
        continue;
      if (auto number = op.getAttrOfType<StringAttr>("definition"); number && Expr::parsed(number.getValue()).constant()) {
        h.expected = {1}; // the kernels that share code have other ones: no way to run goes by it
        continue;
      }
      h.min = std::max<int64_t>(0, op.getAttrOfType<IntegerAttr>("min").getInt());
      if (int64_t max = op.getAttrOfType<IntegerAttr>("max").getInt(); max >= 0)
        h.max = max;
      if (auto expected = op.getAttrOfType<DenseI64ArrayAttr>("hints"))
        h.expected.assign(expected.asArrayRef().begin(), expected.asArrayRef().end());
    }
    out.push_back(h);
  }
  return out;
}

/// The sizes that one symbol is tried with, ascending.
static std::vector<int64_t> valuesOf(const SizeHints &h) {
  constexpr int64_t largest = 1 << 18;
  std::vector<int64_t> values = h.expected;
  if (values.empty()) {
    for (int64_t power = 1; power <= largest; power *= 2)
      for (int64_t v : {power, power / 2 * 3})
        if (v >= std::max<int64_t>(h.min, 1) && v <= h.max.value_or(largest))
          values.push_back(v);
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
