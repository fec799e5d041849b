//===- Attention.cpp - CPU code for attention kernels ----------------------===//

#include "KernelEmitters.h"

using namespace lathe::cpu;

/// Every attention is left to the row program emitter.
llvm::Expected<bool> lathe::cpu::emitAttention(KernelFunction &, KernelPlan &) { return false; }
