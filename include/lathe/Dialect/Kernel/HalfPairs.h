//===- HalfPairs.h - Products of which both operands may be half types -----===//
//
// Some processors multiply pairs of bf16 and sum in f32 with one instruction, twice as many products as of f32, or tiles of such pairs. They take both
// operands in bf16, or as two bf16 each, which are an f16. A contraction whose second operand is of a half type says with this attribute that the
// first one, of f32, may be rounded to that type, too: it was asked for (of bf16), or nothing is lost, since its elements were of that type
// before they were widened.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_KERNEL_HALFPAIRS_H
#define LATHE_DIALECT_KERNEL_HALFPAIRS_H

namespace lathe::kernel {

constexpr const char *mayRoundName = "may_round";

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_HALFPAIRS_H
