//===- Packing.h - Matrices in the order in which kernels read them --------===//
#ifndef LATHE_LIB_PIPELINE_PACKING_H
#define LATHE_LIB_PIPELINE_PACKING_H

#include "ElementCopy.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "llvm/ADT/SmallVector.h"
#include <array>

namespace lathe::pipeline {

/// A matrix in a constant, and how it is packed (kernel.pack). The packed bytes come in pieces, which depend on nothing but their number.
struct Packing {
  llvm::ArrayRef<char> source;
  ElementCopy copy;
  int64_t k, n, nStride, panel; ///< columns of a panel; 0: [n][k]
  std::vector<int64_t> rows;    ///< where row k starts
  int64_t group = 1;            ///< rows that lie side by side, an element of each
  int64_t run = 1;              ///< rows after which a group begins anew
  int64_t listRows = 0;         ///< behind a panel of bytes
  std::array<int64_t, 2> tile = {1, 1}; ///< of minimal filtering: its results; rows are the taps, and what is summed for each

  uint64_t pieces() const;
  llvm::ArrayRef<char> piece(uint64_t number, llvm::SmallVectorImpl<char> &out) const;

private:
  int64_t groups() const;
  int64_t placeOf(int64_t row) const;
  kernel::Winograd tileOf(unsigned dim) const { return kernel::Winograd(tile[dim]); }
  int64_t places() const { return tileOf(0).places() * tileOf(1).places(); }
  int64_t taps() const;
  int64_t unitBytes() const;
  int64_t unitsOfPiece() const;
  void packColumns(int64_t first, int64_t count, char *out) const;
  void packPanels(int64_t first, int64_t count, char *out) const;
  void packTiles(int64_t panelNumber, char *out) const;
  void addList(char *panelBytes) const;
};

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_PACKING_H
