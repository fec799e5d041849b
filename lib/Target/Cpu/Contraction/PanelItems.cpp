//===- PanelItems.cpp - Blocks of rows by panels of columns -----------------===//

#include "PanelItems.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using shape::Expr;

/// Items that threads share evenly.
constexpr int64_t fewestItems = 16;

unsigned PanelItems::lastWidth() const {
  unsigned rest = columns % panelColumns, width = v.lanes;
  if (halves)
    return rest ? llvm::alignTo(rest, v.lanes / 2) : panelColumns;
  while (width < rest)
    width *= 2;
  return rest ? std::min(width, panelColumns) : panelColumns;
}

Expr PanelItems::blocksFor(const Expr &rows, const Expr &usual, int64_t fewestRows) const {
  if (count() >= fewestItems)
    return usual;
  Expr shared = Expr::min(Expr::floordiv(rows, Expr(fewestRows)), Expr((fewestItems + count() - 1) / count()));
  return Expr::max(usual, shared);
}

void PanelItems::allowHeights(ContractionTile &tiles, const RowGroups &groups, const Expr &rows, const Expr &blocks) const {
  std::optional<int64_t> all = rows.constant(), of = blocks.constant();
  if (!all || !of)
    return;
  tiles.allowHeightsOf(groups, *all / *of);
  if (*all % *of)
    tiles.allowHeightsOf(groups, *all / *of + 1);
}

void PanelItems::emit(const KernelFunction &f, Value rows, Value blocks, Rows prepare, PanelOfRows panel) const {
  Value low = v.div(rows, blocks), highBlocks = v.sub(rows, v.mul(low, blocks));
  v.loop(v.div(f.begin, count()), v.ceilDiv(f.end, count()), 1, [&](Value block) {
    Value start = v.mul(block, count());
    Value panelFrom = v.max(v.sub(f.begin, start), v.i(0)), panelTo = v.min(v.sub(f.end, start), v.i(count()));
    Value first = v.add(v.mul(block, low), v.min(block, highBlocks));
    Value mine = v.select(v.less(block, highBlocks), v.add(low, 1), low);
    prepare(first, mine);
    v.loop(panelFrom, panelTo, 1, [&](Value index) { panel(index, first, mine); });
  });
}

void PanelItems::inWidth(Value panel, llvm::function_ref<void(unsigned)> emit) const {
  unsigned last = lastWidth();
  if (last == panelColumns)
    return emit(panelColumns);
  if (count() == 1)
    return emit(last);
  v.ifThen(v.less(panel, v.i(count() - 1)), [&] { emit(panelColumns); }, [&] { emit(last); });
}

PanelItems::Split PanelItems::split(Value count, unsigned maxRows) const {
  Value tiles = v.ceilDiv(count, maxRows);
  Value high = v.ceilDiv(count, tiles), low = v.sub(high, 1);
  return {tiles, high, low, v.sub(count, v.mul(tiles, low))};
}

void PanelItems::eachTile(const Split &split, Value first, Tile body) const {
  v.loop(v.i(0), split.tiles, 1, [&](Value tile) {
    Value local = v.add(v.mul(tile, split.low), v.min(tile, split.highTiles)), row = v.add(first, local);
    body(tile, local, row, v.select(v.less(tile, split.highTiles), split.high, split.low));
  });
}
