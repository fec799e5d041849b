//===- UnpackedProduct.h - Products with weights of a few bits -------------===//
//
// Sums of products whose second factor is unpacked from words, one for each lane: panels of columns side by side in memory. A few rows
// multiply each vector as it is unpacked, in registers, and wait for no more than the words; for more rows a panel is unpacked once.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_UNPACKEDPRODUCT_H
#define LATHE_TARGET_CPU_UNPACKEDPRODUCT_H

#include "../KernelEmitters.h"

namespace lathe::cpu {

/// A kernel of class reduction; see emitContraction.
llvm::Expected<bool> emitUnpackedProduct(KernelFunction &f, KernelPlan &plan);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_UNPACKEDPRODUCT_H
