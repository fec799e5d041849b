//===- Bytes.h - In which form bytes are multiplied ------------------------===//
#ifndef LATHE_SCHEDULE_BYTES_H
#define LATHE_SCHEDULE_BYTES_H

#include "lathe/Schedule/Machine.h"
#include <optional>

namespace lathe::schedule {

/// How four products of a word become a sum in 32 bits.
enum class ByteForm {
  Dots,   ///< one instruction
  Pairs,  ///< neighbours in 16 bits, then in 32: where the weights are known to fit
  Halves, ///< bytes widened to 16 bits
};

/// Whether pairs are faster where so many words of the weights do not fit and are multiplied in halves, among others.
bool pairsPay(int64_t words, int64_t beyond);

/// Whether groups of so many columns, and of so many neighbours that share a word of the sum, are worked off in panels of their own.
bool panelsPay(int64_t columns, int64_t neighbours);

/// Whether sums of so many words are computed with the places of an image in the lanes, as they are stored, where `places` of them take up so many
/// lanes; with the columns in the lanes places are a tile's rows, of which none is too many, and the sums are transposed.
bool placesPay(std::optional<int64_t> words, int64_t places, int64_t lanes);
/// The same where the numbers of places are not known.
bool placesPay(std::optional<int64_t> words);

/// `pairs`: the weights are known, and what does not fit is listed.
ByteForm byteForm(const Machine &machine, bool pairs);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_BYTES_H
