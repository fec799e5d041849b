//===- ProductChoice.cpp - Which tiles schedules leave to a contraction ----===//

#include "ProductChoice.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using schedule::ProductTile;
using schedule::ProductUnit;

bool ProductChoice::Case::leaves(ProductUnit unit) const {
  return llvm::any_of(schedule::tilesOf(unit), [&](const ProductTile &t) { return schedule::admits(asked, t); });
}

ProductChoice::ProductChoice(Generator &g) : g(g) {
  auto all = schedule::ProductsAttr::get(g.info.kernel->getContext(), -1, -1, -1);
  for (schedule::CaseAttr c : schedule::casesOf(kernel::GenericOp(g.info.kernel))) {
    auto asked = dyn_cast<schedule::ProductsAttr>(c.getSchedule());
    cases.push_back({schedule::conditionOf(c), asked ? asked : all});
  }
  if (cases.empty())
    cases.push_back({{}, all});
}

Value ProductChoice::select(llvm::function_ref<Value(const Case &)> of) const {
  Value out = of(cases.back());
  for (size_t i = cases.size() - 1; i-- > 0;)
    out = g.plan.d.select(g.plan.holds(cases[i].when), of(cases[i]), out);
  return out;
}

std::vector<const ProductTile *> ProductChoice::tilesOf(ProductUnit unit) const {
  std::vector<const ProductTile *> out;
  bool all = llvm::any_of(cases, [&](const Case &c) { return !c.leaves(unit); });
  for (const ProductTile &t : schedule::tilesOf(unit))
    if (all || llvm::any_of(cases, [&](const Case &c) { return schedule::admits(c.asked, t); }))
      out.push_back(&t);
  return out;
}

Value ProductChoice::hasTiles(ProductUnit unit) const {
  if (llvm::all_of(cases, [&](const Case &c) { return c.leaves(unit); }))
    return {};
  return select([&](const Case &c) { return g.plan.d.i1(c.leaves(unit)); });
}

Value ProductChoice::costOf(const ProductTile &tile, Value cost) const {
  constexpr int64_t prohibitive = INT64_MAX / 2;
  auto left = [&](const Case &c) { return !c.leaves(tile.unit) || schedule::admits(c.asked, tile); };
  if (llvm::all_of(cases, left))
    return cost;
  return select([&](const Case &c) { return left(c) ? cost : g.plan.constant(prohibitive); });
}

Value ProductChoice::inParts(Value pays, Value possible) const {
  return select([&](const Case &c) { return c.asked.getParts() < 0 ? pays : c.asked.getParts() ? possible : g.plan.d.i1(false); });
}

bool ProductChoice::mayCut() const {
  return llvm::any_of(cases, [](const Case &c) { return c.asked.getParts() != 0; });
}

bool cuda::namesTile(const lower::BodyInfo &info) {
  return llvm::any_of(schedule::casesOf(kernel::GenericOp(info.kernel)), [](schedule::CaseAttr c) {
    auto asked = dyn_cast<schedule::ProductsAttr>(c.getSchedule());
    return asked && (asked.getRows() > 0 || asked.getColumns() > 0);
  });
}

void ProductChoice::tell() const {
  for (const Case &c : cases)
    g.ways.push_back({c.when, "", c.asked, llvm::join(g.entries, ", ")});
}
