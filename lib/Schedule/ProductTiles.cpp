//===- ProductTiles.cpp - Tiles of products on a GPU -----------------------===//

#include "lathe/Schedule/ProductTiles.h"
#include "llvm/ADT/StringExtras.h"

using namespace lathe;
using namespace lathe::schedule;

static constexpr ProductTile byThreads[] = {{ProductUnit::Threads, "gemm_simt_128x256", 128, 256, 8, 8, 1, 2},
                                            {ProductUnit::Threads, "gemm_simt_128x128", 128, 128, 16, 8, 1, 2},
                                            {ProductUnit::Threads, "gemm_simt_64x64", 64, 64, 16, 4, 1, 2}};
// Few tiles of a long depth: the last one takes as much of a multiprocessor as there is.
static constexpr ProductTile byWarps[] = {{ProductUnit::Warps, "gemm_mma_128x256", 128, 256, 32, 4, 1, 4, 64},
                                          {ProductUnit::Warps, "gemm_mma_128x128", 128, 128, 32, 4, 1, 4},
                                          {ProductUnit::Warps, "gemm_mma_128x64", 128, 64, 32, 2, 1, 4},
                                          {ProductUnit::Warps, "gemm_mma_64x64", 64, 64, 32, 2, 1, 4},
                                          {ProductUnit::Warps, "gemm_mma_64x64_deep", 64, 64, 128, 2, 4, 3}};
static constexpr ProductTile byGroups[] = {{ProductUnit::Groups, "gemm_wgmma_64x64", 64, 64, 0, 1, 1, 8},
                                           {ProductUnit::Groups, "gemm_wgmma_64x96", 64, 96, 0, 1, 1, 8},
                                           {ProductUnit::Groups, "gemm_wgmma_64x128", 64, 128, 0, 1, 1, 8},
                                           {ProductUnit::Groups, "gemm_wgmma_128x128", 128, 128, 0, 2, 1, 6},
                                           {ProductUnit::Groups, "gemm_wgmma_128x192", 128, 192, 0, 1, 2, 5},
                                           {ProductUnit::Groups, "gemm_wgmma_128x256", 128, 256, 0, 1, 2, 4, 32, 2}};

llvm::ArrayRef<ProductTile> schedule::tilesOf(ProductUnit unit) {
  switch (unit) {
  case ProductUnit::Threads:
    return byThreads;
  case ProductUnit::Warps:
    return byWarps;
  case ProductUnit::Groups:
    return byGroups;
  }
  return {};
}

int64_t schedule::costOf(const ProductTile &t) {
  int64_t results = t.rows * t.columns;
  switch (t.unit) {
  case ProductUnit::Threads: // larger tiles load less for each product
    return results / 64 * (results < 128 * 128 ? 64 : results < 128 * 256 ? 58 : 55);
  case ProductUnit::Warps: // of 32 of the depth: its products, and what a step waits for
    return results / 32 + (t.across > 32 ? 48 : t.sharers > 1 ? 80 : 128);
  case ProductUnit::Groups: // clocks: bytes from the second-level cache, 64 a clock, or products, 32 lines by columns a clock
    return std::max<int64_t>(2 * (t.rows + t.columns), t.columns > 192 ? results / 33 : results / 32); // large ones take less power
  }
  return 0;
}

/// Groups that take turns hide one's results behind the other's products.
int64_t schedule::costOfResults(const ProductTile &t) { return t.unit == ProductUnit::Groups && t.sharers > 1 ? t.rows * t.columns / 64 : 0; }

int64_t schedule::costOfUnpacking(int64_t bytes) {
  constexpr int64_t bytesPerClock = 16;
  return bytes / bytesPerClock;
}

static bool admits(int64_t rows, int64_t columns, const ProductTile &tile) {
  return (rows < 0 || rows == tile.rows) && (columns < 0 || columns == tile.columns);
}

bool schedule::admits(ProductsAttr asked, const ProductTile &tile) { return ::admits(asked.getRows(), asked.getColumns(), tile); }

std::optional<std::string> schedule::missingTile(int64_t rows, int64_t columns) {
  std::vector<std::string> known;
  for (ProductUnit unit : {ProductUnit::Threads, ProductUnit::Warps, ProductUnit::Groups})
    for (const ProductTile &t : tilesOf(unit)) {
      if (::admits(rows, columns, t))
        return std::nullopt;
      std::string text = std::to_string(t.rows) + "x" + std::to_string(t.columns);
      if (!llvm::is_contained(known, text))
        known.push_back(text);
    }
  return "no such tile; there are " + llvm::join(known, ", ");
}
