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

ByteForm lathe::schedule::byteForm(const Machine &machine, bool pairs) {
  return machine.dotsBytes() ? ByteForm::Dots : pairs && machine.addsBytePairs() ? ByteForm::Pairs : ByteForm::Halves;
}
