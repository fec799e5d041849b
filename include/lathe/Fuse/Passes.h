//===- Passes.h - Passes that make kernels ---------------------------------===//
#ifndef LATHE_FUSE_PASSES_H
#define LATHE_FUSE_PASSES_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"

namespace lathe::fuse {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lathe/Fuse/Passes.h.inc"
} // namespace lathe::fuse

#endif // LATHE_FUSE_PASSES_H
