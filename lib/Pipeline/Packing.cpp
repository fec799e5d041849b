//===- Packing.cpp - Matrices in the order in which kernels read them ------===//
//
// A piece has as many panels (or columns) as make it worth a hand-over. Where the columns of a row lie side by side, each row of the source is
// read for all panels of the piece at once: one panel alone would take a line of the cache of each page.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Dialect/Kernel/BytePairs.h"
#include "llvm/Support/MathExtras.h"

using namespace lathe;
using pipeline::Packing;

int64_t Packing::groups() const { return k / run * llvm::divideCeil(run, group); }

/// Where a row's first element is in a panel, in elements of a column.
int64_t Packing::placeOf(int64_t row) const {
  int64_t number = row / run * int64_t(llvm::divideCeil(run, group)) + row % run / group;
  return number * std::max<int64_t>(1, panel) * group + row % run % group;
}

int64_t Packing::taps() const {
  int64_t count = 1;
  for (int64_t results : tile)
    count *= results > 1 ? kernel::winogradTaps : 1;
  return count;
}

/// Of a panel or, without panels, a column.
int64_t Packing::unitBytes() const {
  if (!panel)
    return k * copy.outBytes;
  int64_t elements = places() > 1 ? places() * (k / taps()) : groups() * group + listRows * group;
  return elements * panel * copy.outBytes;
}

int64_t Packing::unitsOfPiece() const {
  return std::max<int64_t>(1, int64_t(artifact::ByteSource::pieceBytes) / std::max<int64_t>(1, unitBytes()));
}

uint64_t Packing::pieces() const { return llvm::divideCeil(llvm::divideCeil(n, panel ? panel : 1), unitsOfPiece()); }

llvm::ArrayRef<char> Packing::piece(uint64_t number, llvm::SmallVectorImpl<char> &out) const {
  int64_t units = llvm::divideCeil(n, panel ? panel : 1), first = number * unitsOfPiece(), count = std::min(unitsOfPiece(), units - first);
  out.resize_for_overwrite(count * unitBytes());
  if (!panel)
    packColumns(first, count, out.data());
  else if (places() == 1)
    packPanels(first, count, out.data());
  else
    for (int64_t i = 0; i < count; ++i)
      packTiles(first + i, out.data() + i * unitBytes());
  if (listRows)
    for (int64_t i = 0; i < count; ++i)
      addList(out.data() + i * unitBytes());
  return out;
}

/// [n][k].
void Packing::packColumns(int64_t first, int64_t count, char *out) const {
  for (int64_t row = 0; row < k; ++row)
    copy(source.data() + (rows[row] + first * nStride) * copy.inBytes, nStride, out + row * copy.outBytes, k, count);
}

/// Rows k of the columns of panels, zeros past n and where rows do not fill a group.
void Packing::packPanels(int64_t first, int64_t count, char *out) const {
  int64_t in = copy.inBytes, size = copy.outBytes, columns = std::min(count * panel, n - first * panel);
  if (columns < count * panel || run % group != 0)
    std::memset(out, 0, count * unitBytes());
  // Of columns that do not lie side by side, those of a panel are what the cache holds while rows pass.
  int64_t together = nStride == 1 ? count : 1;
  for (int64_t begin = 0; begin < count; begin += together)
    for (int64_t row = 0; row < k; ++row) {
      const char *from = source.data() + (rows[row] + first * panel * nStride) * in;
      char *to = out + placeOf(row) * size;
      for (int64_t p = begin; p < std::min(count, begin + together); ++p) {
        const char *mine = from + p * panel * nStride * in;
        int64_t valid = std::min(panel, columns - p * panel);
        if (nStride == 1 && group == 1 && copy.isPlain())
          std::memcpy(to + p * unitBytes(), mine, valid * size);
        else
          copy(mine, nStride, to + p * unitBytes(), group, valid);
      }
    }
}

/// [place][k][columns of the panel], reckoned in double precision.
void Packing::packTiles(int64_t panelNumber, char *out) const {
  constexpr int64_t lanes = kernel::winogradLanes;
  int64_t n0 = panelNumber * panel, valid = std::min(panel, n - n0), depth = k / taps();
  if (valid < panel)
    std::memset(out, 0, unitBytes());
  double from[9][lanes] = {}, to[36][lanes];
  for (int64_t c0 = 0; c0 < valid; c0 += lanes)
    for (int64_t d = 0, columns = std::min(lanes, valid - c0); d < depth; ++d) {
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t t = 0; t < taps(); ++t) {
          float element;
          std::memcpy(&element, source.data() + (rows[t * depth + d] + (n0 + c0 + c) * nStride) * sizeof element, sizeof element);
          from[t][c] = element;
        }
      kernel::transformFilters(tileOf(0), tileOf(1), from, to);
      for (int64_t p = 0; p < places(); ++p) {
        float rounded[lanes];
        for (int64_t c = 0; c < lanes; ++c)
          rounded[c] = float(to[p][c]);
        std::memcpy(out + ((p * depth + d) * panel + c0) * sizeof(float), rounded, columns * sizeof(float));
      }
    }
}

/// Behind a panel of bytes, the words with pairs of products that do not fit.
void Packing::addList(char *panelBytes) const {
  size_t bytes = groups() * group * panel, room = listRows * panel * group;
  llvm::ArrayRef<int8_t> packed(reinterpret_cast<const int8_t *>(panelBytes), bytes);
  std::vector<int32_t> list = kernel::listOfWords(kernel::wordsBeyondPairs(packed, panel), groups());
  size_t used = std::min(room, list.size() * sizeof(int32_t));
  std::memcpy(panelBytes + bytes, list.data(), used);
  std::memset(panelBytes + bytes + used, 0, room - used);
}
