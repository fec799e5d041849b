//===- CodedMatrix.h - A matrix of few bits in words -------------------------===//
#ifndef LATHE_LIB_OPTIMIZE_CODEDMATRIX_H
#define LATHE_LIB_OPTIMIZE_CODEDMATRIX_H

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::opt {

/// (codes - zero) * scale, elements [depth][columns].
struct CodedMatrix {
  int64_t depth, columns;
  std::vector<float> codes, zero, scale;
};

/// The same in words, filled up to whole blocks and panels.
struct PackedMatrix {
  static constexpr int64_t panel = 32; ///< columns side by side in memory, of which each has a word in turn
  int64_t blocks, words, perWord, bits; ///< words of a block, codes of a word
  int64_t depth, panels;
  std::vector<int32_t> codes;     ///< [panels][blocks][words][panel]
  std::vector<float> zero, scale; ///< [panels][blocks][panel]
};
/// In blocks with which a column takes the fewest bytes; nothing where no block will do, or codes differ by more than 8 bits.
std::optional<PackedMatrix> packed(const CodedMatrix &m);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_CODEDMATRIX_H
