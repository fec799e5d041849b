//===- HalfPairs.h - Products of which both operands may be half types -----===//
//
// Some processors multiply pairs of bf16 and sum in f32 with one instruction, twice as many products as of f32. It takes both operands
// in bf16. A contraction whose second operand is bf16 says with this attribute that the first one, of f32, may be rounded to bf16,
// too: it was asked for, or nothing is lost, since its elements were bf16 before they were widened.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_KERNEL_HALFPAIRS_H
#define LATHE_DIALECT_KERNEL_HALFPAIRS_H

namespace lathe::kernel {

constexpr const char *mayRoundName = "may_round";

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_HALFPAIRS_H
