//===- Bytes.cpp - In which form bytes are multiplied ----------------------===//

#include "lathe/Schedule/Bytes.h"

using namespace lathe::schedule;

/// Cycles for a word of a tile of four rows and two vectors, where two vectors are multiplied in a cycle: 16 multiplications in either
/// form, beside which halves take shifts. A word that is listed ends a loop, too.
constexpr int64_t pairCycles = 8, halfCycles = 12, listedCycles = 28;

bool lathe::schedule::pairsPay(int64_t words, int64_t beyond) {
  return pairCycles * (words - beyond) + listedCycles * beyond < halfCycles * words;
}

/// Panels multiply 32 bytes in a cycle where groups fill a vector of eight columns and words of four points, rows of products some three.
bool lathe::schedule::panelsPay(int64_t columns, int64_t neighbours) { return columns * neighbours >= 6; }

/// Cycles for a vector of sums that is transposed, where a word of it takes one (Zen 4: 24 to 72 channels of 56x56 took 82 us, and take 54).
constexpr int64_t transposing = 7;

bool lathe::schedule::placesPay(std::optional<int64_t> words, int64_t places, int64_t lanes) {
  return words && *words * (lanes - places) < transposing * places;
}

/// Some lines of an image, end to end, leave a tenth of the lanes empty.
bool lathe::schedule::placesPay(std::optional<int64_t> words) { return placesPay(words, 10, 11); }

ByteForm lathe::schedule::byteForm(const Machine &machine, bool pairs) {
  return machine.dotsBytes() ? ByteForm::Dots : pairs && machine.addsBytePairs() ? ByteForm::Pairs : ByteForm::Halves;
}
